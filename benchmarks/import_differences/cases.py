"""Cases: ONNX's own node tests, and variants with one changed attribute or optional input."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from trtlint.network.layers import Array

_NEWEST, _OLDEST = 28, 7
_MOST_OF_ATTRIBUTE = 3
"""Maximum number of alternative values of one attribute in the variants of one model."""
_MOST_OF_OPERATOR = 60
"""Maximum number of variants of one operator."""
_TEXTS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


class Case(Struct, frozen=True, eq=False):
    """A model with inputs.

    Attributes:
        name: the name of the test, and the change after a slash.
        op: the operator.
        change: the change: ``base``, ``mode=cubic``, ``without upper`` or ``without input 3``.
        model: the model.
        feeds: the inputs.
    """

    name: str
    op: str
    change: str
    model: ModelProto
    feeds: dict[str, Array]


FORMS = ("stored", "dynamic", "float16", "bfloat16")
"""Forms of a case: all inputs but the first are initializers, no size is known, or FP32 becomes narrower."""
_NARROW = {"float16": TensorProto.FLOAT16, "bfloat16": TensorProto.BFLOAT16}


def in_form(case: Case, form: str) -> Case | None:
    """Convert a case to another form; return None if the case has no such form."""
    model = ModelProto()
    model.CopyFrom(case.model)
    graph, feeds = model.graph, dict(case.feeds)
    if form in _NARROW:
        values = (*graph.input, *graph.output)
        whole = [each for each in values if each.type.tensor_type.elem_type == TensorProto.FLOAT]
        if len(graph.node) != 1 or not whole or graph.initializer:
            return None
        for info in whole:
            info.type.tensor_type.elem_type = _NARROW[form]
            if info.name in feeds:
                feeds[info.name] = feeds[info.name].astype(helper.tensor_dtype_to_np_dtype(_NARROW[form]))
    elif form == "stored":
        stored = [each.name for each in graph.input[1:] if each.name in feeds]
        if not stored:
            return None
        graph.initializer.extend(numpy_helper.from_array(feeds.pop(name), name) for name in stored)
        kept = [each for each in graph.input if each.name not in stored]
        del graph.input[:]
        graph.input.extend(kept)
    else:
        for info in (*graph.input, *graph.output):
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                dim.dim_param = f"{info.name}_{axis}"
    return Case(f"{case.name}/{form}", case.op, f"{form}: {case.name}", model, feeds)


def cases() -> Iterator[Case]:
    """Yield all cases."""
    bases = list(_bases())
    yield from bases
    seen: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for case in bases:
        for attribute in _node(case).attribute if _node(case) is not None else ():
            value = helper.get_attribute_value(attribute)
            seen[case.op, attribute.name][json.dumps(value, default=str)] = value
    counts: dict[str, int] = defaultdict(int)
    tried: set[tuple[str, str]] = set()
    for case in bases:
        for variant in _variants(case, seen):
            key = case.op, variant.change
            if counts[case.op] < _MOST_OF_OPERATOR and key not in tried:
                counts[case.op] += 1
                tried.add(key)
                yield variant


def _bases() -> Iterator[Case]:
    for test in collect_testcases(None):
        if test.model is None:
            continue
        opset = max((each.version for each in test.model.opset_import if not each.domain), default=0)
        if not _OLDEST <= opset <= _NEWEST or not test.data_sets:
            continue
        feeds = feeds_of(test)
        if feeds is not None and all(array.dtype.kind in "fiub" for array in feeds.values()):
            yield Case(test.name, test.model.graph.node[-1].op_type, "base", test.model, feeds)


def feeds_of(test: Any) -> dict[str, Array] | None:
    """Return the first inputs of one of ONNX's tests; None if they are not tensors."""
    if not test.data_sets:
        return None
    names = [each.name for each in test.model.graph.input]
    feeds = {}
    for name, value in zip(names, test.data_sets[0][0], strict=False):
        if not isinstance(value, (TensorProto, np.ndarray, np.generic)):
            return None
        given: Any = value
        feeds[name] = numpy_helper.to_array(given) if isinstance(value, TensorProto) else np.asarray(given)
    return feeds


def _node(case: Case) -> Any:
    """Return the only node of a case; None if there are several."""
    return case.model.graph.node[0] if len(case.model.graph.node) == 1 else None


def _variants(case: Case, seen: dict[tuple[str, str], dict[str, Any]]) -> Iterator[Case]:
    node = _node(case)
    if node is None or node.op_type == "Constant":  # the attributes of Constant exclude each other
        return
    opset = max(each.version for each in case.model.opset_import if not each.domain)
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, "")
    except onnx.defs.SchemaError:
        return
    given = {each.name for each in node.attribute}
    for name, attribute in schema.attributes.items():
        if name in given and not attribute.required:
            yield _changed(case, f"without {name}", lambda copy, name=name: _drop(copy, name))
        for value in _values(case, attribute, seen[case.op, name]):
            shown = f"{name}={value.decode() if isinstance(value, bytes) else value}"

            def change(copy: NodeProto, name: str = name, value: Any = value) -> None:
                _drop(copy, name)
                copy.attribute.append(helper.make_attribute(name, value))

            yield _changed(case, shown, change)
    for port, parameter in enumerate(schema.inputs[: len(node.input)]):
        if parameter.option == onnx.defs.OpSchema.FormalParameterOption.Optional and node.input[port]:
            yield _changed(case, f"without {parameter.name}", lambda copy, port=port: _disconnect(copy, port))


def _values(case: Case, attribute: Any, seen: dict[str, Any]) -> list[Any]:
    """Return other values of an attribute: values in other tests of the operator, and simple values."""
    own = {each.name: helper.get_attribute_value(each) for each in _node(case).attribute}
    now = own.get(attribute.name)
    kinds = AttributeProto
    plain: list[Any] = []
    if attribute.type == kinds.INT:
        known = now if now is not None else helper.get_attribute_value(attribute.default_value) or 0
        # A number 0 or 1 may be a truth value, and a count must not be zero.
        plain = [1 - known] if known in (0, 1) else [known + 1, known - 1]
    elif attribute.type == kinds.FLOAT:
        plain = [0.5, 2.0]
    elif attribute.type == kinds.INTS and now:
        plain = [[value + 1 for value in now], [0] * len(now)]
    elif attribute.type == kinds.STRING and attribute.name == "auto_pad":
        plain = list(_TEXTS)
    found = [value for value in (*seen.values(), *plain) if value != now and _fits(value, now)]
    kept = {json.dumps(value, default=str): value for value in found}
    return list(kept.values())[:_MOST_OF_ATTRIBUTE]


def _fits(value: Any, now: Any) -> bool:
    """Return whether a value can replace another. Lists must have the same length."""
    if isinstance(value, (list, tuple)):
        return isinstance(now, (list, tuple)) and len(now) == len(value)
    return isinstance(value, (int, float, bytes, str))


def _changed(case: Case, change: str, apply: Any) -> Case:
    model = ModelProto()
    model.CopyFrom(case.model)
    apply(model.graph.node[0])
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    read = set(model.graph.node[0].input)
    kept = [each for each in model.graph.input if each.name in read]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    feeds = {name: array for name, array in case.feeds.items() if name in read}
    return Case(f"{case.name}/{change}", case.op, change, model, feeds)


def _drop(node: NodeProto, name: str) -> None:
    kept = [each for each in node.attribute if each.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)


def _disconnect(node: NodeProto, port: int) -> None:
    node.input[port] = ""
    while node.input and not node.input[-1]:
        del node.input[-1]


def write(case: Case, folder: Path, number: int) -> str:
    """Write a case to files; return their name without suffix."""
    stem = folder / f"{number:05d}"
    onnx.save(case.model, f"{stem}.onnx")
    if case.feeds:
        # For a type that NumPy lacks, the file keeps the bits, and the model names the type.
        np.savez(f"{stem}.npz", **case.feeds)  # type: ignore[arg-type, unused-ignore]
    return str(stem)
