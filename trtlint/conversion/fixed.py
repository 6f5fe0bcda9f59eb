"""Find the operators that must stay in FP32, whatever numbers they compute."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from trtlint.conversion.narrowports import narrow_values, ports_of
from trtlint.errors import SettingError
from trtlint.fixes.keep_fp32 import NARROW
from trtlint.model.folding import fill_of
from trtlint.model.graph import WITH_BODIES, Node, Value
from trtlint.model.load import Model
from trtlint.model.operators import RANDOM
from trtlint.model.protos import text

Fixed = dict[Node, str]
"""Operators that stay in FP32, each with the reason."""

_WHOLE = frozenset({"i8", "i16", "i32", "i64", "u16", "u32", "u64"})
_HOLDING = WITH_BODIES | {"SequenceMap"}
_ANGLES = frozenset({"Sin", "Cos", "Tan"})
_MOST_PATTERNS = 1000


class KeepError(SettingError):
    """Error: a ``--keep`` pattern matches no operator, or there are too many patterns."""


def fixed_nodes(model: Model, type_: str, opset: int) -> Fixed:
    """Return the operators that must stay in FP32, each with a reason.

    Examples of reasons:
    - ONNX does not allow the 16-bit type.
    - The operator computes shapes.
    - The model is already in 16 bits, and its author chose FP32 for the operator.

    Args:
        model: the source.
        type_: ``fp16`` or ``bf16``.
        opset: the opset of the converted model.
    """
    found: Fixed = {}
    sizes = _from_shapes(model)
    for node in model.graph.nodes:
        if reason := _reason(node, type_, opset, sizes):
            found[node] = reason
    for node in _typed_by_author(model):
        found.setdefault(node, "the author of the model inserted Casts to run this region in FP32")
    return found


def uses_floats(node: Node) -> bool:
    """Return whether an operator has an FP32 input or output."""
    return any(value.dtype == "f32" for value in _values(node))


def _values(node: Node) -> list[Value]:
    """Return the inputs and outputs of an operator."""
    return [value for value in (*node.inputs, *node.outputs) if value is not None]


def is_stored(node: Node) -> bool:
    """Return whether an operator is a Constant."""
    return node.op == "Constant" and not node.domain


def _reason(node: Node, type_: str, opset: int, sizes: set[Value]) -> str:
    """Return why an operator must stay in FP32, or an empty string if it may become 16-bit.

    ``sizes`` contains the values that are computed only from shapes.
    """
    if is_stored(node) or not uses_floats(node):
        return ""
    label = type_.upper()
    if node.domain:
        return f"{node.domain} defines this operator; ONNX does not define it"
    if node.op in _HOLDING:
        return "the inputs and outputs of a subgraph keep their types"
    if node.op in RANDOM:
        return "the operator draws random numbers"
    unknown = next((value.name for value in _values(node) if value.name and value.dtype is None), None)
    if unknown is not None:
        return f"{unknown} is not a tensor, or its type is unknown"
    found = ports_of(node, opset, type_)
    if found is None:
        return f"opset {opset} has no such operator"
    reads, writes = narrow_values(node, found)
    if not reads and not writes:
        return _cast_reason(node) if found.free else f"ONNX has no {label} form of {node.op}"
    if node.op == "Cast":
        return _cast_reason(node)
    if node.op in _ANGLES:
        return "angles need more digits than " + label
    if any(value in sizes for value in node.outputs):
        return "the operator computes with shapes"
    if node.op == "ConstantOfShape" and fill_of(node.attribute("value")) is None:
        return "the number that the operator fills with is unknown"
    return ""


def _cast_reason(node: Node) -> str:
    """Return why a Cast to or from integers must stay in FP32, or an empty string for any other operator.

    The integers are indices, sizes or positions.
    """
    first = node.input(0)
    if node.op != "Cast" or first is None:
        return ""
    if node.output.dtype in _WHOLE:
        return "the operator computes whole numbers"
    return "the operator reads positions or sizes" if first.dtype in _WHOLE else ""


def _from_shapes(model: Model) -> set[Value]:
    """Return the values that are computed only from shapes and stored tensors."""
    found: set[Value] = set()
    constant: set[Value] = set()
    for node in model.graph.nodes:
        if node.op in ("Shape", "Size") and not node.domain:
            found.update(node.outputs)
            continue
        if is_stored(node):
            constant.update(node.outputs)
            continue
        reads = [value for value in node.inputs if value is not None]
        stored = [value for value in reads if value.initializer is not None or value in constant]
        derived = [value for value in reads if value in found]
        whole = len(stored) + len(derived) == len(reads) and node.op not in _HOLDING
        # A size can select numbers from a stored tensor, such as position embeddings,
        # but the selected numbers are not sizes.
        floats = node.op == "Cast" or any(value.dtype == "f32" for value in derived)
        if whole and derived:
            found.update(value for value in node.outputs if value.dtype != "f32" or floats)
    return found


def _typed_by_author(model: Model) -> Iterator[Node]:
    """Yield the operators that the author of a 16-bit model left in FP32."""
    seeds: list[Value] = []
    for node in model.graph.nodes:
        first = node.input(0)
        if node.op == "Cast" and not node.domain and first is not None:
            if first.dtype in NARROW and node.output.dtype == "f32":
                seeds.append(node.output)
            elif first.dtype == "f32" and node.output.dtype in NARROW:
                seeds.append(first)
        elif any(value.dtype in NARROW for value in _values(node)):
            seeds += _values(node)
    seen: set[Value] = set()
    waiting = [value for value in seeds if value.dtype == "f32"]
    while waiting:
        value = waiting.pop()
        if value in seen or value.initializer is not None:
            continue
        seen.add(value)
        around = [node for node, _ in value.uses]
        if value.producer is not None and not is_stored(value.producer):
            around.append(value.producer)
        for node in around:
            yield node
            waiting += [each for each in _values(node) if each.dtype == "f32"]


def kept_by_user(model: Model, patterns: Sequence[str]) -> Fixed:
    """Return the operators that match ``--keep`` patterns, each with the pattern.

    A pattern is the name of a node, an operator type, or a name with ``*``.

    Raises:
        KeepError: a pattern matches no operator, or there are too many patterns.
    """
    if len(patterns) > _MOST_PATTERNS:
        raise KeepError(
            f"--keep is given {len(patterns):,} times; trtlint supports at most {_MOST_PATTERNS:,} patterns, "
            "so use patterns with *"
        )
    found: Fixed = {}
    for pattern in patterns:
        matched = list(_matching(model.graph.nodes, pattern))
        if not matched:
            raise KeepError(f"--keep {pattern}: no operator has this path, name or type")
        for node in matched:
            found.setdefault(node, f"--keep {pattern}")
    return found


def _matching(nodes: Iterable[Node], pattern: str) -> Iterator[Node]:
    glob = re.sub(r"([\[\]?])", lambda match: f"[{match[1]}]", pattern)
    for node in nodes:
        names = (node.path, text(node.proto.name), node.op)
        if pattern in names or any(fnmatchcase(name, glob) for name in names[:2]):
            yield node
