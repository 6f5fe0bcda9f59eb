"""Pages of the JSON schemas: the configuration and the JSON reports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.manual.markdown import plain, table
from trtlint.policy.options import __file__ as _policy
from trtlint.report.formats import __file__ as _report

_CONFIGURATION = Path(_policy).parent / "schema" / "configuration.json"
_REPORTS = Path(_report).parent / "schema"
_Schema = Mapping[str, Any]

_HEAD = """# Configuration

{} [Configure](../how-to/configure.md) explains which file trtlint uses. With the
[JSON Schema](configuration.json), editors complete and check the file."""


def schema_pages() -> dict[str, str]:
    """Return the pages and the schema files by path on the site."""
    text = _CONFIGURATION.read_text(encoding="utf-8")
    schema = json.loads(text)
    pages = {"reference/configuration.json": text}
    pages["reference/configuration.md"] = _page(_HEAD.format(plain(schema["description"])), schema)
    for file in sorted(_REPORTS.glob("*.json")):
        text, name = file.read_text(encoding="utf-8"), file.stem
        schema = json.loads(text)
        described = plain(schema.get("description", ""))
        same = f"This page has the same content as the [JSON Schema]({name}.json)."
        head = f"# {schema['title']}\n\n{described}\n\n{same}"
        pages[f"reference/json/{name}.md"] = _page(head, schema)
        pages[f"reference/json/{name}.json"] = text
    return pages


def _page(head: str, schema: _Schema) -> str:
    definitions = schema.get("$defs", {})
    parts = [head, *_properties(schema, definitions)]
    for name, definition in definitions.items():
        if _listed(definition):
            parts += [
                f"## {name}",
                plain(definition.get("description", "")),
                *_properties(definition, definitions),
            ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _listed(definition: _Schema) -> bool:
    """Return whether a definition has fields, and therefore a section of its own."""
    return bool(definition.get("properties"))


def _properties(schema: _Schema, definitions: _Schema) -> Iterator[str]:
    required = schema.get("required", ())
    rows = []
    for name, given in schema.get("properties", {}).items():
        described = given.get("description") or _resolved(given, definitions).get("description", "")
        if schema.get("additionalProperties") is False and required and name not in required:
            described = f"{described} Optional.".strip()
        rows.append((f"`{name}`", _type(given, definitions), plain(described)))
    if rows:
        yield table(("key", "value", "meaning"), rows)


def _resolved(schema: _Schema, definitions: _Schema) -> _Schema:
    found: _Schema = definitions.get(schema["$ref"].rpartition("/")[2], {}) if "$ref" in schema else schema
    return found


def _type(schema: _Schema, definitions: _Schema) -> str:
    """Describe the type of a value in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        definition = definitions[name]
        return f"[{name}](#{name})" if _listed(definition) else _type(definition, definitions)
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_type(option, definitions) for option in schema[key]))
    kinds = schema.get("type", "any")
    named = [_named(kind, schema, definitions) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return " or ".join(named)


def _named(kind: str, schema: _Schema, definitions: _Schema) -> str:
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"list of {_type(schema['items'], definitions)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"table of {_type(schema['additionalProperties'], definitions)}"
    if kind == "string" and schema.get("format") == "date":
        return "date"
    return {"object": "table", "array": "list"}.get(kind, kind)
