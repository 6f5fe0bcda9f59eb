"""Tests that the local proof catches every planted mistake in the rewrites of rules."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import onnx
import pytest
from msgspec.structs import replace
from onnx import numpy_helper

from tests.fixes.proving import prove
from tests.fixes.spoiling import spoilt
from tests.fixes.test_keep_fp32 import HALF
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.examples.fixed import fixed_by, fixed_examples
from trtlint.examples.models import model_of_text
from trtlint.facts.base import Fact
from trtlint.fixes import names, proposer
from trtlint.fixes.keep_fp32 import to_fp32
from trtlint.fixes.patch import Patch
from trtlint.model.load import Model, load

NOTHING_TO_SPOIL = {
    "drop-declarations": "it changes no operator and no tensor",
    "inline-functions": "it changes no operator",
    "lower-opset": "it changes no operator; a wrong opset is planted below",
    "take-absolute-first": "ONNX's reference has no GlobalLpPool",
    "write-out-logsumexp": "ONNX's reference overflows where the rewrite does not",
    "write-score-threshold": "ONNX's reference does not compute NonMaxSuppression without a threshold",
    "write-out-pads": "ONNX's reference does not compute ConvTranspose with output_shape",
    "store-dense": "the notation has no sparse tensors; a wrong one is planted below",
}
"""Rewrites without detectable mistakes in their examples, each with the reason."""
SLOW = {"ACC113"}
"""Rules with image sampling in examples, which ONNX's reference computes number by number."""
FOREIGN = {"BLD209", "BLD217"}
"""Rules with ONNX Runtime operators in examples: each proof needs a separate process."""
FOREIGN_EVERY = 15
"""Sampling interval of the tested mistakes."""

SHIFTED = "a softmax, and the logarithm of a sum of exponentials, take out again what is added to all"
EQUIVALENT = {
    "cut-stacked-outputs": {
        "off by one: Loop_0/none": "ONNX's loop stacks no more elements than the Slice keeps",
        "operator dropped: Loop_0/Slice": "ONNX's loop stacks no more elements than the Slice keeps",
    },
    "widen-norm": {
        "off by one keepdims: Div_6/ReduceMean": "the tensor has one axis besides",
        "off by one keepdims: Div_6/ReduceMean_2": "the tensor has one axis besides",
        "wrong to: Div_6/Cast_2": "the exponent is two as a whole number as well",
        "operator dropped: Div_6/Cast_2": "an exponent may be of another type than its base",
    },
    "clamp-mask": {"scale off by 30 %: Where_0/mask": "what is masked is masked as well"},
    "add-epsilon": {"scale off by 30 %: Reciprocal_3/epsilon": "how large it is is a choice"},
    "widen-chain": {
        "operator dropped: Mul_0/Cast": "all is computed in FP16 then, as it was: the finding stays",
        "operator dropped: Cast": "all is computed in FP16 then, as it was: the finding stays",
    },
    "shift-logsumexp": {
        f"{kind}: Log_2/{bound}": SHIFTED
        for bound in ("bound", "bound_2")
        for kind in ("scale off by 30 %", "nothing stored", "ones stored")
    }
    | {"input left out: Log_2/Clip": SHIFTED},
    "write-out-scatter": {"operator dropped: ScatterElements_0/Cast": "the indices have the type already"},
    "decompose-attention": {"sign turned round: Attention_0/softcap": "the tangent is odd"},
    "leave-out-optional": {
        "operator dropped: Clip": "a Clip without bounds returns its input",
        "operator dropped: Dropout": "nothing is left out but in training",
    },
    "state-from-sequence": {"off by one hidden_size: GRU": "ONNX's reference goes by the weights"},
    "add-bias-behind": {
        "elements in the wrong order: ConvTranspose_0/ints": "the order of axes means nothing"
    },
    "wrap-index": {
        f"{kind}: OneHot_0/Add": "ONNX counts negative indices from the end, as the rewrite does"
        for kind in ("operator dropped", "operand dropped")
    },
    "write-out-layout": {"off by one hidden_size: GRU": "ONNX's reference goes by the weights"},
    "write-out-quantized": {
        f"{kind}: QLinearMatMul_1/{zero}": "the zero point is added and taken away again"
        for kind in ("scale off by 30 %", "nothing stored", "ones stored", "sign turned round")
        for zero in ("zero", "zero_2")
    },
    "float-quantizers": {"input left out: QuantizeLinear_0/DequantizeLinear": "the zero point is 0"},
    "pad-heads": {
        "ones stored: MatMul_0/zero": SHIFTED,
        "operator dropped: MatMul_0/Pad_3": "what is padded to V is cut off again",
    },
    "rank-four-attention": {
        "off by one: MatMul_2/ints": "the axis of size one stands elsewhere, everywhere",
        "operator dropped: MatMul_2/Unsqueeze_2": "the product broadcasts",
    },
    "unify-types": {
        f"operator dropped: LayerNormalization_0/{cast}": "the checker refuses these types later"
        for cast in ("Cast", "Cast_2")
    },
}
"""Mistakes in examples that do not change the results, by rewrite, each with the reason."""

Shown = dict[str, list[tuple[str, Model, Patch]]]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """Return for each rewrite the patches of rule examples, with rule and model."""
    found: Shown = {}
    folder = tmp_path_factory.mktemp("shown")
    for rule in load_rules([builtin_rules()]):
        for index, example in enumerate(fixed_examples(rule)):
            path = folder / f"{rule.id}-{index}.onnx"
            model_of_text(example.before.text, path, checked=example.checked)
            outcome = fixed_by(rule, example, path).outcome
            patches = [(state.model, patch) for state, patches in outcome.rounds for patch in patches]
            for applied, (model, patch) in zip(outcome.applied, patches, strict=True):
                if rule.id not in SLOW:
                    found.setdefault(applied.fix, []).append((rule.id, model, patch))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(names()) - NOTHING_TO_SPOIL.keys()))
def test_a_spoilt_rewrite_is_caught_by_the_local_proof(name: str, shown: Shown) -> None:
    passed, count = set(), 0
    for rule, model, patch in shown[name]:
        right = prove(model, patch)
        assert right.equal is True, right.words
        for kind, wrong in islice(spoilt(patch), 0, None, FOREIGN_EVERY if rule in FOREIGN else 1):
            count += 1
            if prove(model, wrong).equal is not False:
                passed.add(kind)
    assert count
    assert passed == EQUIVALENT.get(name, {}).keys()


@pytest.mark.parametrize(("opset", "equal"), [(17, True), (12, False)])
def test_an_opset_in_which_an_operator_means_something_else_is_caught(
    opset: int, equal: bool, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    text = '< ir_version: 8, opset_import: ["" : 18] > g (float[2,3] x) => (float[2,3] y) { y = Softmax (x) }'
    onnx.save(onnx.parser.parse_model(text), path)
    patch = Patch("lowers the opset", (), (), set_opset=opset)
    assert prove(load(path), patch).equal is equal


@pytest.mark.parametrize("flat", [True, False])
def test_a_sparse_tensor_stored_wrongly_is_caught(flat: bool, tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[3] x) => (float[2,3] y) { y = Add (x, w) }'
    )
    indices = np.array([1, 5]) if flat else np.array([[0, 1], [1, 2]])
    stored = (numpy_helper.from_array(np.array([7, 8], np.float32), "w"), numpy_helper.from_array(indices))
    proto.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(*stored, [2, 3]))
    path = tmp_path / "model.onnx"
    onnx.save(proto, path)
    model = load(path)
    (node,) = model.graph.nodes
    patch = proposer("store-dense")(Fact(node=node), model)
    assert isinstance(patch, Patch)
    assert prove(model, patch).equal is True
    for kind, wrong in spoilt(patch):
        assert prove(model, wrong).equal is False, kind
    other = replace(patch, initializers=(numpy_helper.from_array(np.zeros((2, 3), np.float32), "v"),))
    assert prove(model, other).equal is None


def test_what_is_kept_in_fp32_wrongly_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(HALF), path)
    model = load(path)
    (kept,), _ = to_fp32(model, ["square", "mean", "shift", "root"])
    assert prove(model, kept).equal is True
    passed = {kind for kind, wrong in spoilt(kept) if prove(model, wrong).equal is not False}
    # An exponent may be of another type than its base, and two is a whole number as well.
    assert passed == {"operator dropped: square/Cast_2", "wrong to: square/Cast_2"}


def test_what_computes_nothing_whatever_the_sizes_are_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    text = '< ir_version: 8, opset_import: ["" : 17] > g (float[?,?] x) => (float[?,?] y) { y = Abs (x) }'
    onnx.save(onnx.parser.parse_model(text), path)
    model = load(path)
    shape = numpy_helper.from_array(np.array([7, 7]), "shape")
    for op, equal in (("Reshape", False), ("Abs", True)):
        inserted = onnx.helper.make_node(op, ["x", "shape"][: 1 + (op == "Reshape")], ["y"])
        patch = Patch("writes it again", model.graph.nodes, (inserted,), (shape,))
        assert prove(model, patch).equal is equal
