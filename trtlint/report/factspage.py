"""Facts of a model as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from trtlint.report.document import Block, Code, Document, DocumentTable, Items, Part
from trtlint.report.facts import FactEntry, flat_fields, steps

_FACTS = 100
"""Largest number of facts of a kind."""


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
            blocks.append(Items([[Code(name), f": {value}"] for name, value in _fields(entry)]))
        if len(listed) > _FACTS:
            blocks.append(f"and {len(listed) - _FACTS:,} more")
        parts.append(Part(f"{kind} ({len(listed):,})", blocks))
    return Document("facts", path, parts)


def _fields(entry: FactEntry) -> list[tuple[str, str]]:
    found = []
    if entry.origin is not None and entry.origin.module:
        found.append(("module", entry.origin.module))
    if entry.origin is not None and entry.origin.source:
        found.append(("source", str(entry.origin.source)))
    found += flat_fields(entry.fact).items()
    if entry.fact.chain:
        found.append(("chain", steps(entry.fact)))
    return found
