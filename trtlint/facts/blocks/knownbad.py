"""Read the table of releases with known defects, trtlint/knowledge/known_bad.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_type_hints

from msgspec import Struct
from packaging.specifiers import SpecifierSet

from trtlint.facts.blocks.conditions import SCOPE, check_expressions, decoded
from trtlint.facts.kinds import fact_class
from trtlint.knowledge import data, parsed, path_of
from trtlint.knowledge.releases import Product
from trtlint.knowledge.tables import TableEntry, without_examples, written
from trtlint.language.expression import Expression, ExpressionError
from trtlint.language.template import Template

PATH = path_of("known_bad")
"""Path of the table of defects."""

Hurts = Literal["accuracy", "performance", "build"]
Grade = Literal["error", "warning", "note"]
Evidence = Literal["documented", "maintainer-confirmed", "measured", "user-reported", "inferred"]

_SURE = frozenset({"documented", "maintainer-confirmed", "measured"})
_EXAMPLES = ("bad", "good")
"""Keys of the examples of an entry."""


class BadRelease(
    Struct,
    frozen=True,
    eq=False,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"way": "do", "ops": "op"},
):
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
    kind: str = ""
    beside: tuple[str, ...] = ()
    applies: Mapping[Product, str]
    sms: tuple[int, ...] = ()
    types: tuple[Literal["f16", "bf16"], ...] = ()
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
            cause = _cause(without_examples(entry.text, *_EXAMPLES))
            if all(map(count, cause.beside)):
                yield cause


@cache
def _table() -> tuple[TableEntry, ...]:
    return written("known_bad")


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
        bad, good = entry.examples(*_EXAMPLES)
        cause = _cause(without_examples(entry.text, *_EXAMPLES))
        _check(cause)
    except (ValueError, ExpressionError) as error:
        raise ValueError(f"line {entry.line}: {error}") from None
    return BadReleaseEntry(entry.line, cause, bad, good)


def _check(cause: BadRelease) -> None:
    """Check the expressions, version ranges and URL of a known defect.

    Raises:
        ValueError: a value is wrong.
        ExpressionError: an expression is wrong.
    """
    scope: Mapping[str, Any] = SCOPE
    if cause.kind:
        scope = get_type_hints(fact_class(cause.kind), include_extras=True)
    check_expressions(cause.where, (cause.says, cause.way), scope)
    for specifier in cause.applies.values():
        SpecifierSet(specifier)
    if not cause.applies:
        raise ValueError("the entry has neither the key 'tensorrt' nor the key 'rtx'")
    if not cause.source.startswith("https://"):
        raise ValueError(f"{cause.source!r} is not an https URL")


@cache
def _cause(block: str) -> BadRelease:
    (entry,) = parsed(block)
    ranges = {"tensorrt": entry.pop("tensorrt", None), "tensorrt-rtx": entry.pop("rtx", None)}
    applies = {product: str(specifier) for product, specifier in ranges.items() if specifier is not None}
    return decoded({**entry, "applies": applies}, BadRelease)
