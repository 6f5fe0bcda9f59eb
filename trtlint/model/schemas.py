"""What ONNX's own definitions say of an operator, whichever of its versions a model uses.

https://onnx.ai/onnx/api/defs.html
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from onnx import defs

_LARGEST_OPSET = 2**31 - 1
"""ONNX keeps a version in 64 bits, its library in 32."""


def schema_at(op: str, opset: int, domain: str = "") -> defs.OpSchema:
    """The definition of an operator in an opset, whatever number a file gives for one.

    Raises:
        onnx.defs.SchemaError: the opset has no such operator.
    """
    return defs.get_schema(op, max(0, min(opset, _LARGEST_OPSET)), domain)


def is_defined(op: str, domain: str) -> bool:
    """Whether ONNX defines an operator."""
    return bool(defs.has(op, domain))


@cache
def has_function(op: str, domain: str) -> bool:
    """Whether ONNX defines an operator by others, in its newest version."""
    newest = next(_versions(op, domain), None)
    # The stubs of onnx leave these properties out.
    return newest is not None and any(
        getattr(newest, name) for name in ("has_function", "has_context_dependent_function")
    )


@cache
def required_inputs(op: str, domain: str) -> int:
    """How many inputs an operator has in every version; 0 for one that ONNX does not define."""
    return min((schema.min_input for schema in _versions(op, domain)), default=0)


@cache
def attribute_type(op: str, domain: str, name: str) -> int | None:
    """The type of an attribute, an ``AttributeProto.AttributeType``; None where ONNX defines none."""
    for schema in _versions(op, domain):
        if name in schema.attributes:
            # The stubs of onnx leave this property out.
            return int(getattr(schema.attributes[name].type, "value"))  # noqa: B009
    return None


def _versions(op: str, domain: str) -> Iterator[defs.OpSchema]:
    """The definitions of an operator, the newest first."""
    if not defs.has(op, domain):
        return
    schema = defs.get_schema(op, domain)
    while True:
        yield schema
        try:
            schema = defs.get_schema(op, schema.since_version - 1, domain)
        except defs.SchemaError:
            return
