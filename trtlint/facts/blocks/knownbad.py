"""Read the table of releases with known defects, trtlint/knowledge/known_bad.yaml."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, cast, get_args, get_type_hints

from msgspec import Struct
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from trtlint.facts.blocks.conditions import SCOPE
from trtlint.facts.kinds import fact_class
from trtlint.knowledge import data, parsed, path_of
from trtlint.knowledge.releases import Product
from trtlint.knowledge.tables import TableEntry, written
from trtlint.language.expression import Expression, ExpressionError, compile_expression
from trtlint.language.template import Template, template

PATH = path_of("known_bad")
"""Path of the table of defects."""

Hurts = Literal["accuracy", "performance", "build"]
Grade = Literal["error", "warning", "note"]
Evidence = Literal["documented", "maintainer-confirmed", "measured", "user-reported", "inferred"]

_SURE = frozenset({"documented", "maintainer-confirmed", "measured"})
_TYPES = frozenset({"f16", "bf16"})
_EXAMPLES = re.compile(r"^  bad:", re.MULTILINE)
"""Pattern of the line where the examples of an entry start.

The examples are the last part of an entry.  Only tests read the examples.
"""
_NEEDED = frozenset({"hurts", "severity", "evidence", "where", "says", "do", "source"})
_KEYS = _NEEDED | {"op", "kind", "beside", "tensorrt", "rtx", "sms", "types"}


class BadRelease(Struct, frozen=True, eq=False):
    """A known defect of some releases of TensorRT.

    Attributes:
        ops: operator types. The model must contain at least one of these types.
        kind: the kind of facts that ``where`` is about, such as ``attention``. If ``kind`` is empty,
            ``where`` is about nodes.
        beside: more operator types.  The model must contain all these types.
        applies: the affected releases, by product.
        sms: ten times the compute capability of each affected GPU; empty for all GPUs.
        types: the affected element types; empty for all types.
        hurts: the property that the defect harms: ``accuracy``, ``performance`` or ``build``.
        severity: the severity of the finding.
        evidence: how the defect is known, such as ``measured``.
        where: an expression that is true for the nodes or facts with the defect.
        says: the description of the defect, a sentence without its full stop.
        way: a sentence about what the user can do.
        source: public URL of the evidence.
    """

    ops: tuple[str, ...]
    kind: str
    beside: tuple[str, ...]
    applies: Mapping[Product, str]
    sms: tuple[int, ...]
    types: tuple[str, ...]
    hurts: Hurts
    severity: Grade
    evidence: Evidence
    where: Expression
    says: Template
    way: Template
    source: str

    @property
    def sure(self) -> bool:
        """True if the defect is documented, measured or confirmed by a maintainer.

        False if the defect is only inferred, or if only users reported it.
        """
        return self.evidence in _SURE


class BadReleaseEntry(Struct, frozen=True):
    """An entry of the table of defects, with its example models.

    Attributes:
        line: first line of the entry in the table, from 1.
        cause: the defect that the entry describes.
        bad: example models with the defect, as raw YAML data.
        good: similar models without the defect, as raw YAML data.
    """

    line: int
    cause: BadRelease
    bad: object
    good: object


def causes(count: Callable[[str], int]) -> Iterator[BadRelease]:
    """Yield the known defects whose operator types occur in a model.

    Args:
        count: function that returns the number of nodes with an operator type in the model.

    Raises:
        ValueError: an entry of the table is wrong.
    """
    for entry in _table():
        if any(map(count, entry.ops)):
            cause = _cause(_without_examples(entry.text))
            if all(map(count, cause.beside)):
                yield cause


@cache
def _table() -> tuple[TableEntry, ...]:
    return written("known_bad")


def _without_examples(block: str) -> str:
    examples = _EXAMPLES.search(block)
    return block[: examples.start()] if examples else block


def entries() -> Iterator[BadReleaseEntry]:
    """Yield all entries of the table in file order, and check their keys, expressions and version ranges.

    Raises:
        ValueError: an entry is wrong.
    """
    table = written("known_bad")
    if len(table) != len(data("known_bad")):
        raise ValueError("every entry must begin with '- op: [...]'")
    yield from map(_entry, table)


def _entry(entry: TableEntry) -> BadReleaseEntry:
    try:
        (keys,) = parsed(entry.text)
        bad, good = keys.pop("bad", None), keys.pop("good", None)
        own = _without_examples(entry.text)
        if parsed(own) != [keys]:
            raise ValueError("move the keys 'bad' and 'good' to the end of the entry, in this order")
        cause = _cause(own)
        _check(cause)
    except (ValueError, ExpressionError) as error:
        raise ValueError(f"line {entry.line}: {error}") from None
    return BadReleaseEntry(entry.line, cause, bad, good)


def _check(cause: BadRelease) -> None:
    """Check the expressions, version ranges, element types and URL of a known defect.

    Raises:
        ValueError: a value is wrong.
        ExpressionError: an expression is wrong.
    """
    scope: Mapping[str, Any] = SCOPE
    if cause.kind:
        scope = get_type_hints(fact_class(cause.kind), include_extras=True)
    compile_expression(cause.where.text, scope, condition=True)
    for piece in (*cause.says.pieces, *cause.way.pieces):
        if isinstance(piece, Expression):
            compile_expression(piece.text, scope)
    for specifier in cause.applies.values():
        _check_range(specifier)
    if not cause.applies:
        raise ValueError("the entry has neither the key 'tensorrt' nor the key 'rtx'")
    if not _TYPES.issuperset(cause.types):
        raise ValueError(
            f"the key 'types' is {', '.join(cause.types)}; only {', '.join(sorted(_TYPES))} are allowed"
        )
    if not cause.source.startswith("https://"):
        raise ValueError(f"{cause.source!r} is not an https URL")


def _check_range(specifier: object) -> None:
    try:
        if isinstance(specifier, str):
            SpecifierSet(specifier)
            return
    except InvalidSpecifier:
        pass
    raise ValueError(f"{specifier!r} is not a PEP 440 version specifier")


@cache
def _cause(block: str) -> BadRelease:
    (entry,) = parsed(block)
    if wrong := sorted(entry.keys() - _KEYS):
        raise ValueError(f"unknown key {wrong[0]!r}")
    if missing := sorted(_NEEDED - entry.keys()):
        raise ValueError(f"the key {missing[0]!r} is missing")
    for key, words in (("hurts", Hurts), ("severity", Grade), ("evidence", Evidence)):
        if entry[key] not in get_args(words):
            raise ValueError(
                f"the value {entry[key]!r} of the key {key!r} is not one of {', '.join(get_args(words))}"
            )
    ranges: dict[Product, str | None] = {"tensorrt": entry.get("tensorrt"), "tensorrt-rtx": entry.get("rtx")}
    return BadRelease(
        ops=tuple(entry["op"]),
        kind=entry.get("kind", ""),
        beside=tuple(entry.get("beside", ())),
        applies={product: specifier for product, specifier in ranges.items() if specifier is not None},
        sms=tuple(entry.get("sms", ())),
        types=tuple(entry.get("types", ())),
        hurts=cast("Hurts", entry["hurts"]),
        severity=cast("Grade", entry["severity"]),
        evidence=cast("Evidence", entry["evidence"]),
        where=Expression(str(entry["where"])),
        says=template(entry["says"]),
        way=template(entry["do"]),
        source=entry["source"],
    )
