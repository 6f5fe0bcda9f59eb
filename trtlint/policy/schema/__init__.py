"""JSON Schema of the configuration, for editors and for trtlint.

This package contains a small validator for the JSON Schema features that this schema uses
(https://json-schema.org/draft/2020-12).  Error messages name the key and suggest similar keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from trtlint.errors import SettingError
from trtlint.knowledge.nearest import did_you_mean

_WORDS: Mapping[str, str] = {
    "string": "text",
    "array": "a list",
    "object": "a table",
    "boolean": "true or false",
}
_BUILD = "; use the option --build for the build command"
_ELSEWHERE: Mapping[str, str] = {"build": _BUILD, "command": _BUILD}
"""Words that are not keys, each with a remedy."""
_TYPES: Mapping[str, type] = {"string": str, "array": list, "object": dict, "boolean": bool}


class SchemaError(SettingError):
    """Error: a value violates the schema.

    The error has the key of the value, such as ``models[0].fail-on``, and the reason.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}" if key else message)
        self.key = key
        self.message = message


@cache
def configuration() -> Mapping[str, Any]:
    """Return the JSON Schema of the configuration."""
    text = Path(__file__).with_name("configuration.json").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = json.loads(text)
    return loaded


def check(document: object, part: str | None = None) -> None:
    """Check data against the schema of the configuration, or against a definition in its ``$defs``.

    Raises:
        SchemaError: the data violate the schema.  The first violation in document order is reported.
    """
    schema = configuration() if part is None else configuration()["$defs"][part]
    _check(document, schema, "")


def _check(value: object, schema: Mapping[str, Any], key: str) -> None:
    schema = _resolved(schema)
    if "oneOf" in schema:
        _one_of(value, [_resolved(branch) for branch in schema["oneOf"]], key)
        return
    if "enum" in schema:
        _enum(value, schema["enum"], key)
        return
    expected = schema["type"]
    if not isinstance(value, _TYPES[expected]):
        raise SchemaError(key, f"must be {_WORDS[expected]}{_quoted(value, expected)}")
    if isinstance(value, str):
        _text(value, schema, key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, schema["items"], f"{key}[{index}]")
    elif isinstance(value, dict):
        _table(value, schema, key)


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = configuration()["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def _one_of(value: object, branches: list[Mapping[str, Any]], key: str) -> None:
    """Check a value against the alternative of ``oneOf`` that allows the type of the value.

    All alternatives have different types, so at most one matches.
    """
    for branch in branches:
        if isinstance(value, _TYPES[branch["type"]]):
            _check(value, branch, key)
            return
    types = [branch["type"] for branch in branches]
    raise SchemaError(key, f"must be {' or '.join(_WORDS[type_] for type_ in types)}{_quoted(value, *types)}")


def _quoted(value: object, *types: str) -> str:
    """Return the hint ``: write "10.7"`` if the value is a number, but must be a text.

    Otherwise, return an empty string.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f': write "{value}"' if number and "string" in types else ""


def _enum(value: object, words: list[str], key: str) -> None:
    if value not in words or not isinstance(value, str):
        hint = did_you_mean(value, words) if isinstance(value, str) else ""
        raise SchemaError(key, f"{value!r} is not one of {', '.join(words)}{hint}")


def _text(value: str, schema: Mapping[str, Any], key: str) -> None:
    if len(value) < schema.get("minLength", 0):
        raise SchemaError(key, "is empty")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        raise SchemaError(key, f"{value!r} is invalid; write for example {' or '.join(schema['examples'])}")
    if schema.get("format") == "date":
        try:
            valid = date.fromisoformat(value).isoformat() == value
        except ValueError:
            valid = False
        if not valid:
            raise SchemaError(key, f"{value!r} is not a date such as 2027-03-31")


def _table(value: Mapping[str, object], schema: Mapping[str, Any], key: str) -> None:
    known: Mapping[str, Any] = schema.get("properties", {})
    others = schema["additionalProperties"]
    for name, item in value.items():
        if name in known:
            _check(item, known[name], _joined(key, name))
        elif others is False:
            hint = _ELSEWHERE.get(name) or did_you_mean(name, known)
            raise SchemaError(_joined(key, name), f"no such key{hint}")
        else:
            _check(item, others, _joined(key, name))
    for name in schema.get("required", ()):
        if name not in value:
            raise SchemaError(key, f"the key {name!r} is missing")


def _joined(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
