"""Determine the names that the expressions of a rule can use, and analyse a rule's condition."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

from trtlint.engine.rule import PATTERN, Rule
from trtlint.facts.base import Fact
from trtlint.facts.kinds import fact_class
from trtlint.language.expression import Expression
from trtlint.language.pattern import Pattern
from trtlint.model.graph import Value
from trtlint.target.target import Target

_PLACES = frozenset({"node", "chain", "code_origin"})
"""Fields that describe the node or code line of a fact. Expressions cannot use these fields."""
_OF_MODEL = frozenset({"model"})


@cache
def field_names(kind: str) -> tuple[str, ...]:
    """Return the names of the fields that expressions about this kind of fact can use."""
    return tuple(name for name in fact_class(kind).__struct_fields__ if name not in _PLACES)


def predicts_refusal(find: str) -> bool:
    """Return whether the findings of a rule predict that TensorRT refuses the model.

    ``find`` is the kind of fact that the rule is about, or :data:`~trtlint.engine.rule.PATTERN`.
    """
    return find != PATTERN and fact_class(find).refusal is not Fact.refusal


@cache
def scope_of_kind(kind: str) -> Mapping[str, Any]:
    """Return the names that expressions about this kind of fact can use, each with its type."""
    hints = get_type_hints(fact_class(kind), include_extras=True)
    return {**{name: hints[name] for name in field_names(kind)}, **_common()}


def scope_of_pattern(pattern: Pattern) -> Mapping[str, Any]:
    """Return the names that expressions about matches of a pattern can use, each with its type."""
    return {**dict.fromkeys(pattern.names, Value), **_common()}


def scope_of(rule: Rule) -> Mapping[str, Any]:
    """Return the names that the expressions of a rule can use, each with its type."""
    return scope_of_kind(rule.find) if rule.pattern is None else scope_of_pattern(rule.pattern)


def _common() -> Mapping[str, Any]:
    return {"target": Target, "model": fact_class("model"), "build": fact_class("build")}


def operands(expression: Expression) -> list[str]:
    """Return the operands of an expression's outermost ``and``, as source text."""
    text = f"({expression.text}\n)"
    tree = ast.parse(text, mode="eval").body
    found = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]
    segments = (ast.get_source_segment(text, operand) for operand in found)
    return [" ".join(segment.split()) for segment in segments if segment is not None]


@cache
def about_the_model(expression: Expression) -> Expression | None:
    """Return the part of a condition that depends only on the model, as an expression.

    The part consists of the operands of the outermost ``and`` that read only the fact ``model``. The
    result is None if there are no such operands. If the part is false for a model, the rule cannot have a
    finding in this model.
    """
    if "model" not in expression.text:  # most conditions; this saves parsing them
        return None
    own = [text for text in operands(expression) if Expression(text).names == _OF_MODEL]
    return Expression(" and ".join(f"({text})" for text in own)) if own else None


@cache
def required(expression: Expression) -> tuple[str, frozenset[str]] | None:
    """Return a field, and the only texts of this field for which the expression can be true.

    For ``op == "Conv" and x > 1`` the result is ``op`` and ``{"Conv"}``.  The function finds these texts
    only in operands of the outermost ``and`` that have one of these forms:

    - ``op == "Conv"``
    - ``op in ("Conv", "Gemm")``
    - several such comparisons of the same field, joined by ``or``

    Without such an operand, the result is None.  If the field of a fact is None, an expression with such an
    operand is not true for the fact.
    """
    return _demand(ast.parse(f"({expression.text}\n)", mode="eval").body)


def _demand(tree: ast.expr) -> tuple[str, frozenset[str]] | None:
    """Return the field and the allowed texts that one operand requires, or None for no requirement."""
    if isinstance(tree, ast.Compare):
        return _comparison(tree)
    if not isinstance(tree, ast.BoolOp):
        return None
    demands = [_demand(operand) for operand in tree.values]
    if isinstance(tree.op, ast.And):
        return next((demand for demand in demands if demand is not None), None)
    found = [demand for demand in demands if demand is not None]
    if len(found) < len(demands) or len({name for name, _ in found}) > 1:
        return None
    return found[0][0], frozenset().union(*(texts for _, texts in found))


def _comparison(tree: ast.Compare) -> tuple[str, frozenset[str]] | None:
    """Return the field and texts of ``op == "Conv"`` or ``op in ("Conv", "Gemm")``, otherwise None."""
    if len(tree.ops) != 1:
        return None
    field, link, value = tree.left, tree.ops[0], tree.comparators[0]
    if isinstance(link, ast.Eq):
        items = [value]
    elif isinstance(link, ast.In) and isinstance(value, ast.Tuple):
        items = value.elts
    else:
        return None
    texts = [i.value for i in items if isinstance(i, ast.Constant) and isinstance(i.value, str)]
    if isinstance(field, ast.Name) and len(texts) == len(items):
        return field.id, frozenset(texts)
    return None
