"""Map the names of data types in engine files to the type names of trtlint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

DataType = Literal[
    "float32", "tf32", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "int4", "bool", "float8",
    "float4", "float8e8m0",
]  # fmt: skip

_TYPES: Mapping[str, DataType] = {
    "float": "float32",
    "fp32": "float32",
    "float32": "float32",
    "tf32": "tf32",
    "half": "float16",
    "fp16": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "int8": "int8",
    "uint8": "uint8",
    "int32": "int32",
    "int64": "int64",
    "int4": "int4",
    "bool": "bool",
    "fp8": "float8",
    "fp4": "float4",
    "e8m0": "float8e8m0",
}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


def data_type(phrase: str | None) -> DataType | None:
    """Return the data type that a word or phrase of TensorRT names.

    Examples are ``Half`` and ``Channel major FP16 format where ...``. The result is None if the
    text names no known type.
    """
    if not phrase:
        return None
    exact = _TYPES.get(phrase.lower())
    if exact:
        return exact
    for word in _WORD.finditer(phrase):
        found = _TYPES.get(word[0].lower())
        if found:
            return found
    return None
