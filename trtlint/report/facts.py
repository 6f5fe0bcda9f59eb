"""Output of ``trtlint facts`` in all formats: every fact with all its fields."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from trtlint.facts.base import Fact, Step
from trtlint.model.graph import Node, Value
from trtlint.model.origin import Origin
from trtlint.report.document import Block, Code, Document, DocumentTable, Items, Part
from trtlint.report.escape import clean
from trtlint.report.names import last_component

_OWN = ("node", "chain")
"""Fields that every fact has. The output shows them separately, not in the list of fields."""
_FACTS = 100
"""Largest number of facts of a kind."""


class FactEntry(Struct, frozen=True):
    """A fact, with the module and the source line of its node."""

    fact: Fact
    origin: Origin | None


def to_json(entries: Iterable[FactEntry]) -> list[dict[str, Any]]:
    """Convert facts to JSON data: kind, node or log line, module, source, fields and chain of operators."""
    return [_entry(entry) for entry in entries]


def dumps(entries: Iterable[FactEntry]) -> str:
    """Convert facts to a JSON document in ASCII."""
    return json.dumps(to_json(entries), indent=2)


def lines(entries: Iterable[FactEntry]) -> Iterator[str]:
    """Yield facts as text, grouped by kind.  Each fact is a block of lines."""
    for number, (kind, group) in enumerate(groupby(entries, key=lambda entry: entry.fact.kind)):
        listed = list(group)
        if number:
            yield ""
        yield f"{kind} ({len(listed):,})"
        for entry in listed:
            yield ""
            yield from _block(entry)


def summary(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield lines of text with the number of facts of each kind."""
    widest = max(map(len, counts), default=0)
    for kind, count in counts.items():
        yield f"{kind.ljust(widest)}  {count:>7,}"


def _block(entry: FactEntry) -> Iterator[str]:
    fact, origin = entry.fact, entry.origin
    op = f" ({clean(fact.node.op)})" if fact.node else ""
    yield f"  {clean(fact.place) or 'the whole model'}{op}"
    if origin is not None and origin.module:
        yield f"    module: {clean(origin.module)}"
    if origin is not None and origin.source:
        yield f"    exported from {clean(str(origin.source))}"
    flat = flat_fields(fact)
    widest = max(map(len, flat), default=0)
    for name, value in flat.items():
        yield f"    {name.ljust(widest)}  {clean(value)}"
    if fact.chain:
        yield f"    chain: {steps(fact)}"


def flat_fields(fact: Fact) -> dict[str, str]:
    """Return the fields of a fact as text.  Nested fields have a path, such as ``a.b``."""
    return dict(_flatten(_fields(fact)))


def steps(fact: Fact) -> str:
    """Return the chain of operators in a fact as text."""
    return " -> ".join(map(_step, fact.chain))


def _step(step: Step) -> str:
    detail = f" ({clean(step.detail)})" if step.detail else ""
    return f"{step.role}: {clean(last_component(step.node.path))}{detail}"


def _fields(fact: Fact) -> dict[str, object]:
    return {name: getattr(fact, name) for name in fact.__struct_fields__ if name not in _OWN}


def _members(value: Struct) -> dict[str, object]:
    """Return the public fields of an object that is itself a field of a fact."""
    return {name: getattr(value, name) for name in value.__struct_fields__ if not name.startswith("_")}


def _flatten(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Struct):
            yield from _flatten(_members(value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _text(value)


def _text(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, Value):
        return f"{value.name} {value.type_text}".strip()
    if isinstance(value, Node):
        return value.path
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple | list | set | frozenset):
        items = sorted(map(_text, value)) if isinstance(value, set | frozenset) else map(_text, value)
        return f"[{', '.join(items)}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) or '""'


def _entry(entry: FactEntry) -> dict[str, Any]:
    fact, origin = entry.fact, entry.origin
    source = None if origin is None else origin.source
    return {
        "kind": fact.kind,
        "place": fact.place,
        "module": None if origin is None else origin.module,
        "source": None
        if source is None
        else {"path": source.path, "line": source.line, "function": source.function},
        "fields": _data(_fields(fact)),
        "chain": [
            {"node": s.node.path, "op": s.node.op, "role": s.role, "detail": s.detail, "label": s.label}
            for s in fact.chain
        ],
    }


def _data(value: object) -> Any:
    """Convert the value of a field to JSON data.  NaN and infinity become text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Value):
        return {"name": value.name, "type": value.type_text}
    if isinstance(value, Node):
        return value.path
    if isinstance(value, Mapping):
        return {str(key): _data(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(_data, value))
    if isinstance(value, Iterable):
        return [_data(item) for item in value]
    if isinstance(value, Struct):
        return {name: _data(member) for name, member in _members(value).items()}
    return str(value)


def page(path: str, entries: Sequence[FactEntry], counts: Mapping[str, int]) -> Document:
    """Return the document about the facts of a model.

    Args:
        path: the model, or the first file of a build.
        entries: the facts, grouped by kind.
        counts: the number of facts of each kind; empty if the user selected kinds.
    """
    parts = [
        Part("Kinds", [DocumentTable(["Kind", "Facts"], [[Code(kind), n] for kind, n in counts.items()])])
    ]
    for kind, group in groupby(entries, key=lambda entry: entry.fact.kind):
        listed = list(group)
        blocks: list[Block] = []
        for entry in listed[:_FACTS]:
            op = f" ({entry.fact.node.op})" if entry.fact.node else ""
            blocks.append([Code(entry.fact.place or "the whole model"), op])
            blocks.append(Items([[Code(name), f": {value}"] for name, value in _shown_fields(entry)]))
        if len(listed) > _FACTS:
            blocks.append(f"and {len(listed) - _FACTS:,} more")
        parts.append(Part(f"{kind} ({len(listed):,})", blocks))
    return Document("facts", path, parts)


def _shown_fields(entry: FactEntry) -> list[tuple[str, str]]:
    found = []
    if entry.origin is not None and entry.origin.module:
        found.append(("module", entry.origin.module))
    if entry.origin is not None and entry.origin.source:
        found.append(("source", str(entry.origin.source)))
    found += flat_fields(entry.fact).items()
    if entry.fact.chain:
        found.append(("chain", steps(entry.fact)))
    return found
