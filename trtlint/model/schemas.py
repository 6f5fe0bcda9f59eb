"""What ONNX's own definitions say of an operator, whichever of its versions a model uses.

https://onnx.ai/onnx/api/defs.html
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from onnx import defs


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
