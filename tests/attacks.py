"""Small hostile models for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import onnx
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT


def model(nodes: list[onnx.NodeProto], **more: Any) -> onnx.ModelProto:
    """Return a model that reads ``x`` and writes ``y``."""
    graph = helper.make_graph(
        nodes,
        "attack",
        [helper.make_tensor_value_info("x", FLOAT, [2])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        initializer=more.pop("initializer", []),
    )
    return helper.make_model(graph, ir_version=9, **{"opset_imports": _opsets(17), **more})


def _opsets(version: int) -> list[onnx.OperatorSetIdProto]:
    return [helper.make_opsetid("", version), helper.make_opsetid("own", 1)]


def _function(name: str, nodes: list[onnx.NodeProto], attributes: tuple[str, ...] = ()) -> onnx.FunctionProto:
    return helper.make_function("own", name, ["x"], ["y"], nodes, _opsets(17), list(attributes))


def _call(name: str, x: str = "x", y: str = "y", label: str = "") -> onnx.NodeProto:
    return helper.make_node(name, [x], [y], domain="own", name=label or name)


def _branch(nodes: list[onnx.NodeProto]) -> onnx.GraphProto:
    return helper.make_graph(nodes, "body", [], [helper.make_tensor_value_info("y", FLOAT, None)])


def _if(body: onnx.GraphProto) -> onnx.NodeProto:
    return helper.make_node("If", ["x"], ["y"], then_branch=body, else_branch=_branch([_relu()]))


def _relu() -> onnx.NodeProto:
    return helper.make_node("Relu", ["x"], ["y"])


def constant_of_another_type() -> onnx.ModelProto:
    """Return a model with a Constant whose ``value_ints`` is text."""
    constant = helper.make_node("Constant", [], ["c"])
    constant.attribute.append(helper.make_attribute("value_ints", "text"))
    return model([constant, helper.make_node("Add", ["x", "c"], ["y"])])


def opset_beyond_32_bits() -> onnx.ModelProto:
    """Return a model with conflicting types and an opset beyond the limit of the ONNX library."""
    half = helper.make_tensor("h", TensorProto.FLOAT16, [2], [1.0, 2.0])
    add = helper.make_node("Add", ["x", "h"], ["y"])
    return model([add], initializer=[half], opset_imports=[helper.make_opsetid("", 2**31 + 7)])


def bodies_in_functions() -> onnx.ModelProto:
    """Return functions that call one another in bodies, nested deeper than protobuf allows."""
    depth, each = 60, 8
    functions = []
    for level in range(depth):
        node = _call(f"f{level + 1}") if level + 1 < depth else _relu()
        for _ in range(each):
            node = _if(_branch([node]))
        functions.append(_function(f"f{level}", [node]))
    return model([_call("f0")], functions=functions)


def bytes_in_functions() -> onnx.ModelProto:
    """Return a model that calls a function with a long text 100,000 times."""
    text = helper.make_node("Relu", ["x"], ["y"], text="t" * 60_000)
    functions = [_function("leaf", [text])]
    for level in range(5):
        called = "leaf" if level == 0 else f"f{level - 1}"
        values = ["x", *[f"v{index}" for index in range(9)], "y"]
        calls = [_call(called, a, b) for a, b in pairwise(values)]
        functions.append(_function(f"f{level}", calls))
    return model([_call("f4")], functions=functions)


def graphs_passed_to_functions() -> onnx.ModelProto:
    """Return functions that each pass on a graph with two copies of their argument."""
    functions = []
    for level in range(24):
        twice = helper.make_node("If", ["x"], ["y"])
        for name in ("then_branch", "else_branch"):
            twice.attribute.append(onnx.AttributeProto(name=name, type="GRAPH", ref_attr_name="g"))
        if level < 23:
            node = _call(f"f{level + 1}")
            node.attribute.append(helper.make_attribute("g", _branch([twice])))
        else:
            node = twice
        functions.append(_function(f"f{level}", [node], ("g",)))
    first = _call("f0")
    first.attribute.append(helper.make_attribute("g", _branch([_relu()])))
    return model([first], functions=functions)


def calls_of_one_name() -> onnx.ModelProto:
    """Return a model with ten thousand calls of one function under one name."""
    inside = [helper.make_node("Relu", ["x"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
    count = 10_000
    values = ["x", *[f"v{index}" for index in range(count - 1)], "y"]
    calls = [_call("f", a, b, "same") for a, b in pairwise(values)]
    return model(calls, functions=[_function("f", inside)])


def dimensions() -> onnx.ModelProto:
    """Return a tensor of 100,000 dimensions, whose product grows with each dimension."""
    tensor = onnx.TensorProto(name="w", data_type=FLOAT, dims=[2**62] * 100_000)
    return model([helper.make_node("Add", ["x", "w"], ["y"])], initializer=[tensor])


def dimensions_of_a_constant() -> onnx.ModelProto:
    """Return the tensor of :func:`dimensions` in an attribute."""
    tensor = onnx.TensorProto(name="w", data_type=FLOAT, dims=[2**62] * 100_000)
    constant = helper.make_node("Constant", [], ["c"], value=tensor)
    return model([constant, helper.make_node("Add", ["x", "c"], ["y"])])


def growing_shapes() -> onnx.ModelProto:
    """Return shapes that double in length, so that their inference needs gigabytes."""
    nodes = [helper.make_node("Constant", [], ["s0"], value_ints=[1] * 1000)]
    nodes += [helper.make_node("Concat", [f"s{i}", f"s{i}"], [f"s{i + 1}"], axis=0) for i in range(16)]
    nodes += [helper.make_node("Expand", ["x", "s16"], [f"e{index}"]) for index in range(100)]
    return model([*nodes, helper.make_node("Relu", ["x"], ["y"])])


def long_names_of_bodies() -> onnx.ModelProto:
    """Return a body of 3,000 nodes whose owner has a name of one megabyte."""
    values = ["x", *[f"v{index}" for index in range(2999)], "y"]
    inside = [helper.make_node("Relu", [a], [b]) for a, b in pairwise(values)]
    owner = _if(_branch(inside))
    owner.name = "n" * (1 << 20)
    return model([owner])


def path_of_many_parts() -> onnx.ModelProto:
    """Return a stack trace with a file 32,000 folders deep."""
    made = model([helper.make_node("Nonsense", ["x"], ["y"])])
    for node in made.graph.node:
        trace = f'File "{"a/" * 32_000}b.py", line 3, in forward\n    y = x / x\n'
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
    return made


def many_suppressions() -> onnx.ModelProto:
    """Return far more suppressions than a real model has."""
    values = ["x", *[f"v{index}" for index in range(299)], "y"]
    made = model([helper.make_node("Nonsense", [a], [b]) for a, b in pairwise(values)])
    entries = [{"rule": "BLD", "node": f"*{index}*", "reason": "r"} for index in range(9_000)]
    made.metadata_props.add(key="trtlint.suppress", value=json.dumps(entries))
    return made


MODELS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    made.__name__: made
    for made in (
        constant_of_another_type,
        opset_beyond_32_bits,
        bodies_in_functions,
        bytes_in_functions,
        graphs_passed_to_functions,
        calls_of_one_name,
        dimensions,
        dimensions_of_a_constant,
        growing_shapes,
        long_names_of_bodies,
        path_of_many_parts,
        many_suppressions,
    )
}
"""Every attack by its name."""
