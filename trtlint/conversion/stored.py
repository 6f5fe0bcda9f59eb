"""Find stored tensors whose numbers do not fit the 16-bit type, before the conversion rounds the tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from trtlint.conversion.fixed import Fixed, is_stored
from trtlint.conversion.narrowing import extent
from trtlint.conversion.narrowports import narrow_values
from trtlint.conversion.result import TensorOutOfRange
from trtlint.conversion.weight import is_product
from trtlint.measurement.formats import Format
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.streaming import Streamer

if TYPE_CHECKING:
    import onnx

    from trtlint.conversion.labels import Labels

_LEAST_NORMAL = 2.0**-14
"""Smallest normal FP16 number.  Smaller numbers lose precision."""
_FEW = 16
"""Tensors with up to this number of elements may be fill values, such as the number that masks scores."""


class Range(Struct, frozen=True):
    """The stored tensors whose numbers are too large or too small for the 16-bit type.

    Attributes:
        clamped: names of tensors with numbers beyond the range. These numbers become the largest number of
            the type.
        kept: paths of the operators that stay in FP32 because of their stored tensors, each with the reason.
            The field is used only if ONNX Runtime does not run the model.
        fixed: the operators that must stay in FP32 because of their stored tensors, each with the reason.
            A clamped variance of BatchNormalization would change every result.
        stored: the tensors to report.
    """

    clamped: frozenset[str]
    kept: Mapping[str, str]
    fixed: Fixed
    stored: tuple[TensorOutOfRange, ...]


def ranges_of(model: Model, labels: Labels, format_: Format) -> Range:
    """Find stored tensors whose numbers are too large or too small for 16 bits."""
    streamer = Streamer(model.tensors)
    clamped: set[str] = set()
    kept: dict[str, str] = {}
    fixed: Fixed = {}
    listed: list[TensorOutOfRange] = []
    for value, readers in _read_by(labels).items():
        tensor = _tensor(value)
        found = None if tensor is None else extent(tensor, streamer, format_)
        if found is None or tensor is None:
            continue
        if found.beyond:
            clamped.add(value.name)
            count = "1 number" if found.beyond == 1 else f"{found.beyond:,} numbers"
            text = f"{count} with a magnitude above {format_.largest:,.0f} (the largest: {found.largest:.3g})"
            listed.append(TensorOutOfRange(value.name, "clamped", text))
            reason = f"its stored tensor {value.name} has {text}"
            fixed.update((node, reason) for node in readers if node.op == "BatchNormalization")
            if found.used > _FEW:
                kept.update((node.path, reason) for node in readers)
        elif found.used and found.largest < _LEAST_NORMAL and format_.name == "fp16":
            text = f"no magnitude above {found.largest:.3g}; FP16 stores such small numbers with few digits"
            listed.append(TensorOutOfRange(value.name, "vanishing", text))
            if any(map(is_product, readers)) or found.vanishing == found.used:
                kept.update((node.path, f"its stored tensor {value.name} has {text}") for node in readers)
    return Range(frozenset(clamped), kept, fixed, tuple(listed))


def _read_by(labels: Labels) -> dict[Value, list[Node]]:
    """Return the stored tensors that operators may read in 16 bits, each with its readers."""
    found: dict[Value, list[Node]] = {}
    for node in labels.nodes:
        ports = labels.ports.get(node)
        if node in labels.fixed or ports is None:
            continue
        for value in narrow_values(node, ports)[0]:
            found.setdefault(value, []).append(node)
    return found


def _tensor(value: Value) -> onnx.TensorProto | None:
    import onnx

    if value.initializer is not None:
        return value.initializer
    node = value.producer
    if node is None or not is_stored(node):
        return None
    given = node.attribute("value")
    if isinstance(given, onnx.TensorProto):
        return given
    single = node.number("value_float", None)
    numbers = node.attribute("value_floats", None) if single is None else (single,)
    if numbers is None:
        return None
    return onnx.helper.make_tensor(value.name, onnx.TensorProto.FLOAT, [len(numbers)], list(numbers))
