"""Explain why a rule has no finding at a node."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from trtlint.engine.applying import condition, version_truth
from trtlint.engine.rule import PATTERN, Rule
from trtlint.engine.scope import operands, scope_of
from trtlint.engine.subjects import Subject, Subjects
from trtlint.facts.facts import Facts
from trtlint.knowledge.nearest import nearest
from trtlint.knowledge.ranges import in_words as versions_in_words
from trtlint.knowledge.releases import PRODUCTS
from trtlint.language.expression import compile_expression
from trtlint.language.template import in_words
from trtlint.model.graph import Node
from trtlint.target.target import Target
from trtlint.target.truth import Unknown

_NEAREST = 3


def explain_miss(rule: Rule, facts: Facts, target: Target, node_path: str) -> list[str]:
    """Explain why a rule has no finding at a node, or state that there is a finding.

    Args:
        rule: the rule.
        facts: the facts of the model.
        target: the build target.
        node_path: the path of the node, as findings show it.
    """
    node = next((node for node in facts.model.graph.nodes if node.path == node_path), None)
    if node is None:
        return [_no_node(facts, node_path)]
    everything = list(Subjects(facts).of(rule))
    here = [subject for subject in everything if node in subject.nodes]
    lines = list(_version(rule, target))
    if not here:
        lines += _no_subject(rule, node, everything)
    for subject in here:
        lines += _subject(rule, subject, target)
    return lines


def _no_node(facts: Facts, path: str) -> str:
    close = nearest(path, (node.path for node in facts.model.graph.nodes), count=_NEAREST, cutoff=0.4)
    near = f"; the nearest names are {', '.join(close)}" if close else ""
    return f"the model has no node {path}{near}"


def _version(rule: Rule, target: Target) -> Iterator[str]:
    if version_truth(rule, target) is True:
        return
    specifier = rule.applies.get(target.product)
    if specifier is None:
        yield f"{rule.id} does not apply to {PRODUCTS[target.product]}"
    elif target.version is not None:
        versions = versions_in_words(target.product, specifier)
        yield f"{rule.id} applies to {versions}, but the target is {target.words}"


def _no_subject(rule: Rule, node: Node, everything: list[Subject]) -> Iterator[str]:
    what = "match of the pattern" if rule.find == PATTERN else f"fact of kind {rule.find}"
    placed = [subject for subject in everything if subject.node is not None]
    if not everything:
        yield f"the model has no {what}"
    elif not placed:
        yield f"each {what} concerns the whole model, not a node"
    else:
        placed.sort(key=lambda subject: abs(subject.node.index - node.index) if subject.node else 0)
        places = ", ".join(dict.fromkeys(subject.place for subject in placed[:_NEAREST]))
        yield f"no {what} contains {node.path} ({node.op}); the nearest matches are at {places}"


def _subject(rule: Rule, subject: Subject, target: Target) -> Iterator[str]:
    names = subject.names(target)
    truth = condition(rule, names, target, version_truth(rule, target))
    place = subject.place or "the whole model"
    if truth is True:
        yield f"{rule.id} fires here, at {place}"
        return
    if isinstance(truth, Unknown) and truth.needs:
        yield f"whether {rule.id} fires here, at {place}, depends on {' '.join(sorted(truth.needs))}"
    for part in operands(rule.where) if rule.where is not None else []:
        found = compile_expression(part, scope_of(rule), condition=True).truth(names)
        if found is not True:
            values = "; ".join(_values(part, rule, names))
            verdict = "unknown" if isinstance(found, Unknown) else "false"
            yield f"at {place}, {part} is {verdict}{': ' if values else ''}{values}"


def _values(part: str, rule: Rule, names: Mapping[str, object]) -> Iterator[str]:
    """Yield a text such as ``op is 'Conv'`` for each value that a part of a condition uses.

    The values are fields of facts, elements, and results of function calls.
    """
    for text in dict.fromkeys(_reads(ast.parse(f"({part})", mode="eval").body)):
        value = compile_expression(text, scope_of(rule)).value(names)
        yield f"{text} is {'unknown' if value is None else in_words(value)}"


def _reads(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        yield ast.unparse(node)
        return
    for child in ast.iter_child_nodes(node):
        yield from _reads(child)
