"""Fuzz tests of real models with damaged bytes or structure: each gives a result or an error.

The budget is small; set TRTLINT_FUZZ_EXAMPLES to the number of examples a test for a longer run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trtlint import Report, Target
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import load_builtin, looking_at
from trtlint.facts.facts import Facts
from trtlint.facts.kinds import kinds
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.model.origin import origin
from trtlint.report.json import dumps

pytestmark = pytest.mark.isolated

MODELS = sorted((Path(__file__).parent / "data" / "models").glob("*.onnx"))
EXAMPLES = int(os.environ.get("TRTLINT_FUZZ_EXAMPLES", "60"))
BUDGET = settings(
    max_examples=EXAMPLES,
    deadline=None,  # how long an example takes depends on how busy the machine is
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

INTERESTING = [0, 1, 2, 7, 8, 0x7F, 0x80, 0xFF, 0x3A, 0x0A, 0x12, 0x42, 0x4A, 0x72]


@cache
def seed(index: int) -> bytes:
    return MODELS[index].read_bytes()


TARGETS = [Target(version="8.6"), Target(version="10.7", gpu="L4", asked=frozenset({"fp16"}))]


@cache
def rules() -> tuple[Rule, ...]:
    return tuple(entry.read() for entry in looking_at({"model"}, load_builtin().entries))


def survive(folder: Path, data: bytes) -> None:
    """Return all facts and findings of an input, or require a ModelError of one line."""
    path = folder / "model.onnx"
    path.write_bytes(data)
    try:
        model = load(path)
        for node in model.graph.nodes:
            origin(model, node)
            for value in node.outputs:
                assert isinstance(value.type_text, str)
                model.constants.array(value)
        for values in model.graph.values.values():
            for value in values:
                model.constants.payload(value)
        facts = Facts(model)
        for kind in kinds():
            facts.of(kind)
        dumps(Report(tuple(evaluate(rules(), facts, target) for target in TARGETS)))
    except ModelError as error:
        assert error.message
        assert "\n" not in error.message


@st.composite
def damaged_bytes(draw: st.DrawFn) -> bytes:
    """Return a model with bytes changed, inserted, removed, copied or truncated."""
    data = bytearray(seed(draw(st.integers(0, len(MODELS) - 1))))
    # In these files, the graph's structure comes before its weights.
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, min(len(data), draw(st.sampled_from([64, 4096, 1 << 20])))))
        action = draw(st.sampled_from(["set", "set", "insert", "delete", "copy", "cut"]))
        if action == "set":
            data[at : at + 1] = bytes([draw(st.sampled_from(INTERESTING) | st.integers(0, 255))])
        elif action == "insert":
            data[at:at] = draw(st.binary(min_size=1, max_size=8))
        elif action == "delete":
            del data[at : at + draw(st.integers(1, 40))]
        elif action == "copy":
            data[at:at] = data[at : at + draw(st.integers(1, 400))]
        elif draw(st.integers(0, 9)) == 0:
            del data[at:]
    return bytes(data)


def _dims(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    tensor = draw(st.sampled_from(proto.graph.initializer))
    tensor.dims[:] = draw(st.lists(st.integers(-1, 5) | st.sampled_from([2**31, 2**40, 2**62]), max_size=5))


def _type(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    tensor = draw(st.sampled_from(proto.graph.initializer))
    tensor.data_type = draw(st.integers(0, 40))


def _external(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    tensor = draw(st.sampled_from(proto.graph.initializer))
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key in ("location", "offset", "length"):
        value = draw(st.sampled_from(["", "\0", "model.onnx", "..", "0", "-1", "99999999999999999999", "x"]))
        tensor.external_data.add(key=key, value=value)


def _operator(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    nodes = proto.graph.node
    node = draw(st.sampled_from(nodes))
    kind = draw(st.sampled_from(nodes)).op_type
    node.op_type = draw(
        st.sampled_from([kind, "Slice", "Reshape", "Loop", "If", "Scan", "Einsum", "Nonsense"])
    )


def _attribute(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    attributes = [attribute for node in proto.graph.node for attribute in node.attribute]
    if not attributes:
        return
    attribute = draw(st.sampled_from(attributes))
    action = draw(st.sampled_from(["int", "ints", "type", "name", "graph", "string", "ref", "other"]))
    if action == "int":
        attribute.i = draw(st.integers(-(2**63), 2**63 - 1))
    elif action == "ints":
        attribute.ints[:] = draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9))
    elif action == "type":
        attribute.type = draw(st.integers(0, 14))  # type: ignore[assignment]
    elif action == "name":
        attribute.name = draw(st.sampled_from(["axis", "axes", "value", "to", "perm", "equation", ""]))
    elif action == "graph":
        attribute.type = onnx.AttributeProto.GRAPH
        attribute.g.ParseFromString(proto.graph.SerializeToString())  # CopyFrom a parent crashes protobuf
    elif action == "string":
        attribute.s = draw(st.binary(max_size=9))
    elif action == "other":
        values = [1, 1.5, "x", [1], [1.5], ["x"], [-99, 3], [0] * 12, onnx.TensorProto(dims=[2], data_type=1)]
        attribute.CopyFrom(onnx.helper.make_attribute(attribute.name, draw(st.sampled_from(values))))
    else:
        attribute.ref_attr_name = "nothing"


def _wiring(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    nodes = proto.graph.node
    node, other = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
    action = draw(st.sampled_from(["input", "output", "delete", "repeat", "more", "fewer", "graph output"]))
    if action == "input" and node.input:
        node.input[draw(st.integers(0, len(node.input) - 1))] = draw(
            st.sampled_from([*other.output, "", "no"])
        )
    elif action == "output" and node.output:
        node.output[0] = draw(st.sampled_from([*other.output, ""]))
    elif action == "delete":
        nodes.remove(node)
    elif action == "repeat":
        nodes.append(node)
    elif action == "more":
        node.input.extend(other.output)
    elif action == "fewer":
        del node.input[draw(st.integers(0, 1)) :]
    else:
        proto.graph.output[0].name = draw(st.sampled_from([*other.output, "no", ""]))


def _function(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    node = draw(st.sampled_from(proto.graph.node))
    function = proto.functions.add(name=node.op_type, domain=node.domain)
    function.input.extend(node.input)
    function.output.extend(node.output)
    body = draw(st.lists(st.sampled_from(proto.graph.node), max_size=4))
    function.node.extend([other for other in body if draw(st.booleans()) or other.op_type != node.op_type])


def _header(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    proto.ir_version = draw(st.sampled_from([0, 1, 3, 99, 2**40]))
    for opset in proto.opset_import:
        opset.version = draw(st.sampled_from([-1, 0, 1, 6, 12, 27, 1000, 2**40]))


def _shape(draw: st.DrawFn, proto: onnx.ModelProto) -> None:
    tensor = draw(st.sampled_from([*proto.graph.input, *proto.graph.output])).type.tensor_type
    tensor.elem_type = draw(st.integers(0, 30))
    for dim in tensor.shape.dim:
        dim.dim_value = draw(st.sampled_from([-1, 0, 1, 4, 2**31, 2**62]))


MUTATIONS: list[Callable[[st.DrawFn, onnx.ModelProto], None]] = [
    _dims, _type, _external, _operator, _attribute, _attribute, _wiring, _wiring, _function, _header, _shape,
]  # fmt: skip


@st.composite
def damaged_structure(draw: st.DrawFn) -> bytes:
    """Return a model that is well-formed protobuf and semantically invalid."""
    proto = onnx.ModelProto.FromString(seed(draw(st.integers(0, len(MODELS) - 1))))
    for mutation in draw(st.lists(st.sampled_from(MUTATIONS), min_size=1, max_size=4)):
        mutation(draw, proto)
    return bytes(proto.SerializeToString())


@pytest.mark.slow
@given(data=damaged_bytes())
@BUDGET
def test_damaged_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    survive(tmp_path_factory.getbasetemp(), data)


@pytest.mark.slow
@given(data=damaged_structure())
@BUDGET
def test_damaged_structure(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    survive(tmp_path_factory.getbasetemp(), data)
