"""Compute cache keys for the findings of a rule. Targets that the rule cannot distinguish have equal keys.

With this cache, a lint for a range of versions takes little more time than for one version.

A rule depends on a target in two ways: through version ranges, and through the properties of the target that
its expressions read. Two targets that are equal in both ways get the same findings.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from functools import cache

from trtlint.engine.finding import Finding
from trtlint.engine.rule import Rule
from trtlint.engine.subjects import Subject
from trtlint.language.expression import Expression
from trtlint.language.template import Template
from trtlint.model.graph import Node
from trtlint.target.target import Target
from trtlint.target.truth import Truth

_COMPARED = re.compile(r"\btarget\.release\s*(?:<|<=|>|>=|==|!=)\s*\((\d+),\s*(\d+)\)")
_TARGET = re.compile(r"\btarget\b(?:\.(\w+))?")


@cache
def _properties(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the properties of ``target`` that the expressions in ``texts`` read.

    An empty name stands for the whole target.
    """
    return tuple(sorted({name for text in texts for name in _TARGET.findall(text)}))


@cache
def _releases(texts: tuple[str, ...]) -> tuple[tuple[int, int], ...] | None:
    """Return the releases that the expressions in ``texts`` compare with ``target.release``.

    The result is None if an expression uses ``target.release`` in any other way.
    """
    uses = sum(name == "release" for text in texts for name in _TARGET.findall(text))
    compared = [(int(major), int(minor)) for text in texts for major, minor in _COMPARED.findall(text)]
    return tuple(sorted(set(compared))) if len(compared) == uses else None


def _expressions(rule: Rule) -> Iterator[Expression]:
    templates: list[Template] = [rule.message]
    templates += [label for label in rule.mark.values() if label is not None]
    for advice in rule.advice:
        templates.append(advice.do)
        if advice.where is not None:
            yield advice.where
    if rule.where is not None:
        yield rule.where
    for where, _ in rule.severity_when:
        yield where
    for reason in rule.unfixable:
        if reason.where is not None:
            yield reason.where
    for template in templates:
        yield from (piece for piece in template.pieces if isinstance(piece, Expression))


class TargetKeys:
    """Computes the cache key of a target for each rule, and stores the cached findings.

    Attributes:
        found: for each cache key, the findings of a rule and the nodes of these findings.
    """

    def __init__(self) -> None:
        self.found: dict[Hashable, tuple[tuple[Finding, ...], frozenset[Node]]] = {}
        self._texts: dict[int, tuple[Rule, tuple[str, ...]]] = {}

    def of(self, rule: Rule, target: Target, applies: Truth, subjects: Iterable[Subject]) -> Hashable:
        """Return the cache key of a target for a rule.  Targets with equal keys have equal findings."""
        if id(rule) not in self._texts:
            self._texts[id(rule)] = rule, tuple(expression.text for expression in _expressions(rule))
        texts = self._texts[id(rule)][1]
        seen = [_property(target, name, texts) for name in _properties(texts)]
        ranges = [advice.applies.get(target.product) for advice in rule.advice]
        ranges += {subject.applies.get(target.product) for subject in subjects if subject.applies is not None}
        answers = {text: target.matches(text, target.product) for text in ranges if text is not None}
        return id(rule), target.product, target.version is None, applies, *seen, frozenset(answers.items())


def _property(target: Target, name: str, texts: tuple[str, ...]) -> Hashable:
    if not name:
        return target
    value: Hashable = getattr(target, name)
    if value is None:
        return None, target.needs(name)
    edges = _releases(texts) if name == "release" else None
    if edges is None or target.release is None:
        return value
    return tuple((target.release > edge) - (target.release < edge) for edge in edges)
