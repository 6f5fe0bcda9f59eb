"""Each rewrite that rules show, spoilt in the ways in which one goes wrong: the local proof catches it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from trtlint.engine.examplemodel import model_of_text
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.fixes import names
from trtlint.fixes.examples import fixed_by, fixed_examples
from trtlint.fixes.patch import Patch
from trtlint.fixes.proof import prove
from trtlint.model.load import Model

UNPROVEN = {
    "add-epsilon": "it is there to change results",
    "drop-declarations": "it changes no operator",
    "lower-opset": "it changes no operator",
    "write-out-group-norm": "ONNX's reference does not compute it; the whole model is compared",
    "take-branch": "the proof computes no If; the whole model is compared",
    "store-dense": "it changes no operator, and the notation has no sparse tensors",
}
"""Rewrites that have nothing to spoil, each with the reason."""
ELSEWHERE = {"write-out-fused", "name-nodes"}
"""Rewrites that ``test_proof`` plants wrong forms of: the proof of the first one takes another process."""
ORDERED = ("Sub", "Div", "MatMul", "Less", "Greater")
"""Operators whose operands cannot be swapped."""
AXES = ("axis", "axes", "perm")


Shown = dict[str, list[tuple[Model, Patch]]]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """By rewrite, the patches that examples of rules give, each with the model that it is for."""
    found: Shown = {}
    folder = tmp_path_factory.mktemp("shown")
    for rule in load_rules([builtin_rules()]):
        for index, example in enumerate(fixed_examples(rule)):
            path = folder / f"{rule.id}-{index}.onnx"
            model_of_text(example.before.text, path, checked=example.checked)
            outcome = fixed_by(rule, example, path).outcome
            patches = [(state.model, patch) for state, patches in outcome.rounds for patch in patches]
            for applied, pair in zip(outcome.applied, patches, strict=True):
                found.setdefault(applied.fix, []).append(pair)
    return found


@pytest.mark.parametrize("name", sorted(set(names()) - UNPROVEN.keys() - ELSEWHERE))
def test_a_spoilt_rewrite_is_caught_by_the_local_proof(name: str, shown: Shown) -> None:
    model, patch = shown[name][0]
    right = prove(model, patch)
    assert right.equal is True, right.words
    wrong = (prove(model, each) for _, each in spoilt(model, patch))
    assert any(proof.equal is False for proof in wrong)


def spoilt(model: Model, patch: Patch) -> Iterator[tuple[str, Patch]]:
    """A patch gone wrong in one way after the other, each with its name."""
    for index, tensor in enumerate(patch.initializers):
        array = numpy_helper.to_array(tensor)
        if array.dtype.kind == "f" and np.any(array):
            wrong = numpy_helper.from_array((array * 0.7).astype(array.dtype), tensor.name)
            yield "scale off", with_tensor(patch, index, wrong)
            none = numpy_helper.from_array(np.zeros_like(array), tensor.name)
            yield "nothing stored", with_tensor(patch, index, none)
    for index, (reader, port, name) in enumerate(patch.rewire):
        other = next((value.name for value in model.graph.inputs if value.name != name), None)
        if other is not None:
            rewire = (*patch.rewire[:index], (reader, port, other), *patch.rewire[index + 1 :])
            yield "another value", replace(patch, rewire=rewire)
    for index, node in enumerate(patch.insert):
        if node.op_type in ORDERED and len(node.input) > 1:
            yield "operands swapped", with_inputs(patch, index, [node.input[1], node.input[0]])
        if node.op_type == "Where":
            yield "wrong fill", with_inputs(patch, index, [node.input[0], node.input[2], node.input[1]])
        if node.op_type == "LayerNormalization" and len(node.input) > 2:
            yield "bias dropped", with_inputs(patch, index, node.input[:2])
        if node.op_type in ("Mul", "Add") and len(node.input) > 1:
            yield "operand dropped", with_inputs(patch, index, [node.input[0], node.input[0]])
        for attribute in node.attribute:
            if attribute.name in AXES:
                yield "wrong axis", with_node(patch, index, turned(node, attribute.name))
        if node.op_type == "Cast":
            truth = helper.make_node("Cast", node.input, node.output, to=onnx.TensorProto.BOOL)
            yield "wrong type", with_node(patch, index, truth)
        elif node.op_type != "Constant" and len(node.output) == 1:
            dropped = helper.make_node("Identity", node.input[:1], node.output)
            yield "operator dropped", with_node(patch, index, dropped)


def turned(node: onnx.NodeProto, name: str) -> onnx.NodeProto:
    """A node with another axis, or its axes in another order."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    (attribute,) = (each for each in copy.attribute if each.name == name)
    if attribute.ints:
        attribute.ints[:] = sorted(attribute.ints) if len(attribute.ints) > 1 else [attribute.ints[0] - 1]
    else:
        attribute.i = attribute.i - 1 if attribute.i else 1
    return copy


def with_inputs(patch: Patch, index: int, inputs: list[str]) -> Patch:
    """A patch one of whose nodes reads other values."""
    copy = onnx.NodeProto()
    copy.CopyFrom(patch.insert[index])
    copy.input[:] = inputs
    return with_node(patch, index, copy)


def with_node(patch: Patch, index: int, node: onnx.NodeProto) -> Patch:
    """A patch with another node in the place of one."""
    return replace(patch, insert=(*patch.insert[:index], node, *patch.insert[index + 1 :]))


def with_tensor(patch: Patch, index: int, tensor: onnx.TensorProto) -> Patch:
    """A patch with another tensor in the place of one."""
    return replace(
        patch, initializers=(*patch.initializers[:index], tensor, *patch.initializers[index + 1 :])
    )
