"""Read the table of operators that TensorRT refuses, and combine the ranges of the refusing releases.

The table is trtlint/knowledge/conditions.yaml.  Its conditions use the expression language of rules.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from msgspec import Struct, convert

from trtlint.facts.blocks.reasons import Known, Reason, Stage
from trtlint.knowledge import parsed, path_of, text
from trtlint.knowledge.parsers import lines_of, lines_with_parser, range_of
from trtlint.knowledge.releases import PRODUCTS, Product
from trtlint.knowledge.tables import TableEntry, without_examples, written
from trtlint.language.expression import Expression, ExpressionError, compile_expression
from trtlint.language.template import Template
from trtlint.model.graph import Body, Value
from trtlint.model.protos import ElementType

_Entry = TypeVar("_Entry")

PATH = path_of("conditions")
"""Path of the table of conditions."""

_OF_TYPES = re.compile(r"^  types: \[([^]]*)\]$", re.MULTILINE)
"""Pattern of the line that lists the element types of an entry."""
_EXAMPLES = ("refused", "accepted")
"""Keys of the examples of an entry."""

SCOPE: Mapping[str, Any] = {
    "op": str,
    "domain": str,
    "opset": int,
    "inputs": tuple[Value, ...],
    "outputs": tuple[Value, ...],
    "attributes": Mapping[str, Any],
    "bodies": Mapping[str, Body],
    "inside": tuple[str, ...],
    "clash": str,
    "declared": str,
}
"""Names that conditions can use, with their types.

Tests check that the conditions use only these names.  trtlint does not repeat this check during a lint.
"""

INPUT, OUTPUT, INITIALIZER, NODE = "(input)", "(output)", "(initializer)", "(any)"
"""Values of ``op`` that mean a model input, a model output, a stored tensor, and any operator."""


class Condition(
    Struct, frozen=True, eq=False, kw_only=True, forbid_unknown_fields=True, rename={"way": "do"}
):
    """A condition under which the parser or the builder refuses a node.

    Attributes:
        applies: the versions of TensorRT that refuse the node, by product.
        stage: ``parse`` if the parser refuses the node, ``build`` if the builder does.
        code: the parser's error code; empty if unknown.
        reason: the class of the reason, such as ``type``.
        problem: a short label of the problem, such as ``antialias``, for the conditions of rules; empty if no
            rule distinguishes the problem.
        where: an expression about the node. If it is true, TensorRT refuses the node.
        says: the description of the problem, a sentence without its full stop.
        way: a sentence about the remedy; empty if the description of the problem makes the remedy clear.
        plugin: the name of the missing plugin; empty if no plugin would help.
        typing: ``strong`` if the condition holds only for strongly typed networks.
        types: element types.  The condition holds only if an input or output has one of these types.  If
            ``types`` is empty, the condition holds for all types.
        once: whether trtlint reports the condition only for the first matching operator of a model.
        unused: whether the builder refuses the node even if it affects no output. Other conditions of the
            builder apply only to nodes that affect an output, because the builder removes all other nodes.
        min_sm: ten times the lowest compute capability of the GPUs that support the node; None if the
            condition does not depend on the GPU.
        source: public URL of the evidence.
        known: how the versions in ``applies`` are known, such as ``measured`` or ``documented``.
    """

    applies: Mapping[Product, str]
    stage: Stage = "parse"
    code: str = ""
    reason: Reason
    problem: Template = Template("")
    where: Expression
    says: Template
    way: Template = Template("")
    plugin: str = ""
    typing: str = ""
    types: frozenset[ElementType] = frozenset()
    once: bool = False
    unused: bool = False
    min_sm: int | None = None
    source: str
    known: Known

    def excluded(self, names: Mapping[str, object]) -> bool:
        """Return True if the condition is false for every node with the given values.

        Args:
            names: the values of some names in the expression, for example only ``op``.  The remaining names
                are unknown.
        """
        return not self.where.sees_unknown and self.where.truth(names) is False


@cache
def conditions_for(op: str, types: frozenset[str | None] | None = None) -> tuple[Condition, ...]:
    """Return the conditions under which TensorRT refuses an operator type.

    The table is read when this function is first called.

    Args:
        op: the operator type.
        types: the element types in the model.  A condition with element types is left out if the model has
            none of these types.  If ``types`` is None, no condition is left out.

    Raises:
        ValueError: an entry of the table is wrong.
    """
    blocks = _blocks().get(op, ())
    held = (without_examples(block, *_EXAMPLES) for block in blocks if _may_hold(block, types))
    return tuple(chain.from_iterable(map(_conditions, held)))


def _may_hold(block: str, types: frozenset[str | None] | None) -> bool:
    """Return whether an entry of the table is about at least one of the element types in ``types``.

    ``block`` is the YAML text of the entry.  An entry that lists no element types is about all types.  The
    function searches the text, because parsing is slower.
    """
    own = None if types is None else _OF_TYPES.search(block)
    return own is None or types is None or not types.isdisjoint(own[1].split(", "))


@cache
def _blocks() -> Mapping[str, list[str]]:
    """Return the YAML texts of the entries in the table, by operator type."""
    found: dict[str, list[str]] = defaultdict(list)
    for entry in written("conditions"):
        for op in entry.ops:
            found[op].append(entry.text)
    return dict(found)


@cache
def _sources() -> Mapping[str, str]:
    sources: Mapping[str, str] = parsed(text("conditions").partition("\nconditions:\n")[0])["sources"]
    return sources


class ConditionEntry(Struct, frozen=True):
    """A condition of the table, with the example models of its entry.

    Attributes:
        line: first line of the entry in the table, from 1.
        ops: the operator types of the entry, separated by commas.
        condition: the condition.
        refused: example models that TensorRT refuses, as raw YAML data.
        accepted: similar models that TensorRT accepts, as raw YAML data.
    """

    line: int
    ops: str
    condition: Condition
    refused: object
    accepted: object


def entries() -> Iterator[ConditionEntry]:
    """Return all conditions of the table with their examples, in file order.

    Raises:
        ValueError: an entry is wrong.
    """
    return chain.from_iterable(map(_with_examples, written("conditions")))


def _with_examples(entry: TableEntry) -> list[ConditionEntry]:
    ops = ", ".join(entry.ops)
    try:
        refused, accepted = entry.examples(*_EXAMPLES)
        conditions = _conditions(without_examples(entry.text, *_EXAMPLES))
        condition = conditions[0]
        check_expressions(condition.where, (condition.problem, condition.says, condition.way), SCOPE)
    except (ValueError, ExpressionError) as error:
        raise ValueError(f"line {entry.line}: {ops}: {error}") from None
    return [ConditionEntry(entry.line, ops, each, refused, accepted) for each in conditions]


def check_expressions(where: Expression, texts: Iterable[Template], scope: Mapping[str, Any]) -> None:
    """Check the condition and the texts of an entry.

    Raises:
        ExpressionError: an expression is wrong.
    """
    compile_expression(where.text, scope, condition=True)
    for piece in chain.from_iterable(each.pieces for each in texts):
        if isinstance(piece, Expression):
            compile_expression(piece.text, scope)


@cache
def _conditions(block: str) -> tuple[Condition, ...]:
    """Return the condition of an entry, and the same condition of the builder if the entry has one."""
    (entry,) = parsed(block)
    own = {key: value for key, value in entry.items() if key != "builder"}
    if "builder" not in entry:
        return (_condition(own),)
    of_builder = {**own, "tensorrt": entry["builder"], "stage": "build", "code": ""}
    return _condition(own), _condition(of_builder)


def _condition(entry: Mapping[str, Any]) -> Condition:
    own = {key: value for key, value in entry.items() if key not in ("op", "tensorrt", "rtx")}
    source = _sources()[entry["source"]]
    return decoded({**own, "applies": _applies(entry), "source": source}, Condition)


def decoded(entry: Mapping[str, Any], kind: type[_Entry]) -> _Entry:
    """Convert an entry of a table.  The expressions of the entry are not checked.

    Raises:
        ValueError: a key is unknown or missing, or a value has a wrong type.
    """
    return convert(entry, kind, dec_hook=lambda made, value: made(str(value)))


def _applies(entry: Mapping[str, Any]) -> Mapping[Product, str]:
    """Return the version ranges of an entry, by product.

    If the entry has no range for TensorRT-RTX, its TensorRT range decides.  The result then contains the
    TensorRT-RTX releases with the same parser as a TensorRT release in this range.
    """
    enterprise = entry.get("tensorrt", "none")
    own = entry.get("rtx")
    lines = lines_with_parser(enterprise) if own is None else lines_of("tensorrt-rtx", own)
    return ranges_of({"tensorrt": lines_of("tensorrt", enterprise), "tensorrt-rtx": lines})


def joined(
    lines: Mapping[Product, frozenset[str]], versions: Mapping[Product, str]
) -> Mapping[Product, frozenset[str]]:
    """Return the release lines that are in ``lines`` or in the version ranges ``versions``, by product.

    A release line is a text such as ``10.7``.
    """
    more = {product: lines_of(product, text) for product, text in versions.items()}
    return {product: lines.get(product, frozenset()) | more.get(product, frozenset()) for product in PRODUCTS}


def without(
    versions: Mapping[Product, str], lines: Mapping[Product, frozenset[str]]
) -> Mapping[Product, str]:
    """Return the version ranges ``versions`` without the release lines ``lines``, by product.

    A product without remaining releases is left out.
    """
    if not lines:
        return versions
    return ranges_of(
        {
            product: lines_of(product, text) - lines.get(product, frozenset())
            for product, text in versions.items()
        }
    )


def ranges_of(lines: Mapping[Product, frozenset[str]]) -> Mapping[Product, str]:
    """Return the version range of the release lines of each product.

    A product without release lines is left out.
    """
    ranges = {product: range_of(product, found) for product, found in lines.items()}
    return {product: text for product, text in ranges.items() if text is not None}
