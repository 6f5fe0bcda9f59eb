"""Look up ONNX's definitions of operators, for any opset.

https://onnx.ai/onnx/api/defs.html
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from onnx import defs

_LARGEST_OPSET = 2**31 - 1
"""Largest opset that the onnx package supports.  ONNX stores versions in 64 bits, the package in 32 bits."""


def schema_at(op: str, opset: int, domain: str = "") -> defs.OpSchema:
    """Return ONNX's definition of an operator in an opset.

    If the opset is newer than the installed onnx package, the newest definition is returned.

    Raises:
        onnx.defs.SchemaError: ONNX does not define the operator in this opset.
    """
    return defs.get_schema(op, max(0, min(opset, _LARGEST_OPSET)), domain)


def is_defined(op: str, domain: str) -> bool:
    """Return whether ONNX defines an operator."""
    return bool(defs.has(op, domain))


@cache
def has_function(op: str, domain: str) -> bool:
    """Return whether the newest ONNX definition of an operator is a function of other operators."""
    newest = next(_versions(op, domain), None)
    # The type stubs of onnx lack these properties.
    return newest is not None and any(
        getattr(newest, name) for name in ("has_function", "has_context_dependent_function")
    )


@cache
def required_inputs(op: str, domain: str) -> int:
    """Return the smallest number of inputs over all versions of an operator.

    The result is 0 if ONNX does not define the operator.
    """
    return min((schema.min_input for schema in _versions(op, domain)), default=0)


@cache
def attribute_type(op: str, domain: str, name: str) -> int | None:
    """Return the ``AttributeProto.AttributeType`` of an operator's attribute, or None if it is undefined."""
    for schema in _versions(op, domain):
        if name in schema.attributes:
            # The type stubs of onnx lack this property.
            return int(getattr(schema.attributes[name].type, "value"))  # noqa: B009
    return None


def _versions(op: str, domain: str) -> Iterator[defs.OpSchema]:
    """Yield all versions of the definition of an operator, the newest first."""
    if not defs.has(op, domain):
        return
    schema = defs.get_schema(op, domain)
    while True:
        yield schema
        try:
            schema = defs.get_schema(op, schema.since_version - 1, domain)
        except defs.SchemaError:
            return
