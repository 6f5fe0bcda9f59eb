"""Tests that rewrites reject missing inputs, other operators and facts without a node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fixes.proposing import proposed, small
from tests.fixes.test_written_forms import ATTENTION, CONTRIB, GIVES, GROUPS, ROTARY, SCATTER, contrib
from tests.fixes.test_written_parts import LOOP, LOOPS, QUANTIZED, QUANTIZING
from trtlint.facts.base import Fact, Step
from trtlint.fixes import names
from trtlint.fixes.patch import NotApplicable, Patch

CASES = {
    "decompose-attention": ATTENTION,
    "write-out-fused": [contrib(op, inputs) for op, inputs in CONTRIB.items()],
    "write-out-group-norm": [text.replace("%s", "6") for text in GROUPS],
    "write-out-loop": [LOOP % each for each in LOOPS.values()],
    "write-out-quantized": [QUANTIZED % case for case in QUANTIZING],
    "write-out-rotary": [text % "<num_heads = 4>" for text in ROTARY],
    "write-out-scatter": [text.replace("'%s'", '"add"') for text in SCATTER],
    "add-bias-behind": ["(float[1,1,4] x, float[1,2,3] w, float[2] b) => { y = ConvTranspose (x, w, b) }"],
    "clip-by-minimum": ["(float[4] x) => < float low = {0}, float high = {6} > { y = Clip (x, low, high) }"],
}
ANY_FACT = {"inline-functions", "lower-opset", "widen-chain"}
"""Rewrites of the whole model, and of a chain that is always present in their facts."""


def distinct(rewrite: str) -> Iterator[str]:
    """Return the first model of each operator and number of inputs."""
    seen = set()
    for text in CASES[rewrite]:
        text = text.replace("=> {", GIVES).replace("=> <", f"{GIVES[:-1]}<")
        node = small(text, 23 if rewrite == "decompose-attention" else 18).graph.nodes[-1]
        if (node.op, len(node.inputs)) not in seen:
            seen.add((node.op, len(node.inputs)))
            yield text


@pytest.mark.parametrize("rewrite", CASES)
def test_a_missing_input_is_no_crash(rewrite: str) -> None:
    found = []
    for text in distinct(rewrite):
        model = small(text, 23 if rewrite == "decompose-attention" else 18)
        for node in model.graph.nodes:
            whole = node.inputs
            for port in range(len(whole)):
                node.inputs = (*whole[:port], None, *whole[port + 1 :])
                fact = Fact(node=model.graph.nodes[-1])
                found.append(proposed(rewrite, fact, model))
            node.inputs = whole
    assert any(isinstance(each, NotApplicable) for each in found)


def test_a_fused_operator_with_too_few_inputs_is_no_crash() -> None:
    for text in distinct("write-out-fused"):
        model = small(text)
        node = model.graph.nodes[-1]
        whole = node.inputs
        for count in range(len(whole)):
            node.inputs = whole[:count]
            proposed("write-out-fused", Fact(node=node), model)
    found = proposed("write-out-fused", Fact(node=node), model)
    assert str(found) == f"{node.op} does not have all required inputs"


def test_past_keys_of_another_rank_are_declined() -> None:
    tensors = "(float[1,2,3,8] q, float[1,2,5,8] k, float[%s] p) => (float[1,2,3,8] y)"
    for shape, declined in (("1,2,4,8", False), ("2,8", True)):
        model = small(f"{tensors % shape} {{ y = Attention <is_causal = 1> (q, k, k, , p, p) }}", 23)
        found = proposed("decompose-attention", Fact(node=model.graph.nodes[-1]), model)
        assert isinstance(found, NotApplicable) == declined


def test_fewer_scales_than_axes_are_declined() -> None:
    text = """(float[1,1,8,8] x) => (float[1,1,4,4] y) < float[%d] s = {%s} >
    { y = Resize <antialias = 1, axes = [2, 3], mode = "linear"> (x, , s) }"""
    for count, scales, declined in ((2, "0.5, 0.5", False), (1, "0.5", True)):
        model = small(text % (count, scales))
        found = proposed("resize-by-gather", Fact(node=model.graph.nodes[-1]), model)
        assert isinstance(found, NotApplicable) == declined


@pytest.mark.parametrize("rewrite", sorted({*names()} - ANY_FACT))
def test_a_fact_without_a_node_is_declined(rewrite: str) -> None:
    model = small("(float[2,2] x) => (float y) { y = Det (x) }")
    assert isinstance(proposed(rewrite, Fact(), model), NotApplicable)


@pytest.mark.parametrize("rewrite", sorted(CASES))
def test_other_operators_are_declined(rewrite: str) -> None:
    """Tests another ONNX operator, and an operator of another domain with the same name."""
    model = small("(float[2,2] x) => (float y) { y = Det (x) }")
    assert isinstance(proposed(rewrite, Fact(node=model.graph.nodes[0]), model), NotApplicable)
    for text in distinct(rewrite):
        model = small(text, 23 if rewrite == "decompose-attention" else 18)
        node = model.graph.nodes[-1]
        node.domain = "com.example"
        assert isinstance(proposed(rewrite, Fact(node=node), model), NotApplicable)
        break


@pytest.mark.parametrize("missing", ["tensor", "one"])
def test_a_softplus_without_an_operand_is_declined(missing: str) -> None:
    model = small(
        "(float[4] x) => (float[4] y) < float o = {1} > { e = Exp (x)  s = Add (e, o)  y = Log (s) }"
    )
    exponential, total, log = model.graph.nodes
    fact = Fact(node=log, chain=tuple(Step(node, "operator") for node in model.graph.nodes))
    assert isinstance(proposed("fuse-softplus", fact, model), Patch)
    if missing == "tensor":
        exponential.inputs = (None,)
    else:
        total.inputs = (total.inputs[0], None)
    assert isinstance(proposed("fuse-softplus", fact, model), NotApplicable)


def test_group_norm_of_whole_numbers_is_declined() -> None:
    text = """(%s[1,4,4,8] x, float[8] g, float[8] b) => (%s[1,4,4,8] y)
    { y = com.microsoft.GroupNorm <groups = 4, activation = 0> (x, g, b) }"""
    for dtype, declined in (("float", False), ("int32", True)):
        model = small(text % (dtype, dtype))
        found = proposed("write-out-fused", Fact(node=model.graph.nodes[-1]), model)
        assert isinstance(found, NotApplicable) == declined


@pytest.mark.parametrize(
    ("opset", "dtype", "written"), [(10, "16", False), (11, "16", True), (12, "16", True), (11, "", False)]
)
def test_the_first_opset_of_a_shifted_sum(opset: int, dtype: str, written: bool) -> None:
    head = f"(float{dtype}[4] x) => (float{dtype}[1] y)"
    model = small(f"{head} {{ e = Exp (x)  s = ReduceSum <axes = [0]> (e)  y = Log (s) }}", opset)
    fact = Fact(node=model.graph.nodes[-1], chain=tuple(Step(node, "operator") for node in model.graph.nodes))
    assert isinstance(proposed("shift-logsumexp", fact, model), Patch) == written
