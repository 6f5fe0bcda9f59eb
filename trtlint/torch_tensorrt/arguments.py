"""Read the arguments of operators from the JSON of an exported program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

_MOST_ITEMS = 64
_MOST_SIZES = 32
_UNBACKED = re.compile(r"\bu\d+\b")
"""Pattern of the names of sizes that depend on the data, such as ``u0``."""
_SYMBOLS = ("as_sym_int", "as_sym_float", "as_sym_bool")
_PLAIN = ("as_int", "as_float", "as_bool", "as_string", "as_scalar_type", "as_ints", "as_floats", "as_bools")
ELEMENT_TYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
    9: "complex32", 10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 29: "float8_e4m3fn",
}  # fmt: skip
"""For the number of each element type in the JSON of a program, the name of the type:
https://github.com/pytorch/pytorch/blob/v2.9.0/torch/_export/serde/schema.py
"""


class TensorType(Struct, frozen=True):
    """Type of a tensor of a program.

    Attributes:
        element: element type, such as ``float32``; ``?`` if unknown.
        sizes: the sizes; None for a dynamic size.
        unbacked: true if a size depends on the data, as for the result of ``nonzero``.
    """

    element: str
    sizes: tuple[int | None, ...]
    unbacked: bool = False


class OperatorArgument(Struct, frozen=True):
    """One argument of an operator.

    Attributes:
        name: the name in the schema of the operator, such as ``dim``.
        value: the plain value; None for tensors, symbols and omitted values.
        tensors: the types of the tensors; None for an empty entry of a list of tensors, or for an unknown
            type.
        symbolic: true if the value, or an entry of a list value, is known only at run time.
    """

    name: str
    value: Any = None
    tensors: tuple[TensorType | None, ...] = ()
    symbolic: bool = False


def tensor_type(value: Any) -> TensorType | None:
    """Return the type of a tensor from its JSON, or None if it is unknown."""
    if not value:
        return None
    sizes = tuple(_whole(size.get("as_int")) for size in value["sizes"][:_MOST_SIZES])
    unbacked = any(
        _UNBACKED.search(str(size.get("as_expr") or "")[:1000]) for size in value["sizes"][:_MOST_SIZES]
    )
    return TensorType(ELEMENT_TYPES.get(value["dtype"], "?"), sizes, unbacked)


def arguments_of(inputs: Any, values: Mapping[str, Any]) -> tuple[OperatorArgument, ...]:
    """Read the arguments of an operator.

    Args:
        inputs: the ``inputs`` of a node.
        values: ``tensor_values`` of the graph: tensor types by name.
    """
    return tuple(_argument(each, values) for each in (inputs or ())[:_MOST_ITEMS])


def _argument(entry: Any, values: Mapping[str, Any]) -> OperatorArgument:
    name, given = str(entry.get("name") or "")[:100], entry["arg"]
    for key in _PLAIN:
        if key in given:
            value = given[key]
            if isinstance(value, list):
                value = tuple(value[:_MOST_ITEMS])
            return OperatorArgument(
                name, value=ELEMENT_TYPES.get(value) if key == "as_scalar_type" else value
            )
    for key in _SYMBOLS:
        if key in given:
            symbol = given[key]
            plain = next((symbol[kind] for kind in ("as_int", "as_float", "as_bool") if kind in symbol), None)
            return OperatorArgument(name, value=plain, symbolic="as_name" in symbol)
    if "as_sym_ints" in given:
        return OperatorArgument(name, symbolic=any("as_name" in each for each in given["as_sym_ints"]))
    return OperatorArgument(name, tensors=tuple(_tensors(given, values)))


def _tensors(given: Any, values: Mapping[str, Any]) -> Iterator[TensorType | None]:
    if "as_tensor" in given:
        yield tensor_type(values.get(given["as_tensor"]["name"]))
    for each in (given.get("as_tensors") or ())[:_MOST_ITEMS]:
        yield tensor_type(values.get(each["name"]))
    for each in (given.get("as_optional_tensors") or ())[:_MOST_ITEMS]:
        yield tensor_type(values.get(each["as_tensor"]["name"])) if "as_tensor" in each else None


def _whole(size: Any) -> int | None:
    return size if isinstance(size, int) and not isinstance(size, bool) else None
