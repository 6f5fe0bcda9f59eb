"""What rules are evaluated for in one model: its facts, and the matches of patterns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from trtlint.engine.rule import Rule
from trtlint.engine.scope import field_names, required
from trtlint.facts.base import Fact, Refusal, Step
from trtlint.facts.facts import Facts
from trtlint.knowledge.releases import Product
from trtlint.language.functions import FUNCTIONS
from trtlint.language.pattern import Match
from trtlint.model.graph import Node
from trtlint.target.target import Target

_SEES_UNKNOWN = tuple(f"{name}(" for name, function in FUNCTIONS.items() if function.sees_unknown)


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """One thing in a model that a rule is evaluated for.

    Attributes:
        node: the node that a report names, None for the whole model.
        place: what a report calls the place, empty for the whole model.
        chain: the block in data-flow order.
        values: the names that expressions can use, ``target`` apart.
        others: other ways to read the same nodes; the rule holds if it holds for one.
    """

    node: Node | None
    place: str
    chain: tuple[Step, ...]
    values: Mapping[str, object]
    others: tuple[Subject, ...] = ()
    applies: Mapping[Product, str] | None = None
    """The versions that the fact is true for, None for all."""
    refusal: Refusal | None = None
    fact: Fact | None = None
    """The fact that it is, None for a match of a pattern."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The node that a report names and those of the block, without repeats."""
        own = () if self.node is None else (self.node,)
        return tuple(dict.fromkeys((*own, *(step.node for step in self.chain))))

    def names(self, target: Target) -> Mapping[str, object]:
        """Every name that expressions can use, with its value."""
        return {**self.values, "target": target}


def subjects(rule: Rule, facts: Facts) -> Iterator[Subject]:
    """Everything that a rule is about in one model, in graph order."""
    if rule.pattern is None:
        for position in range(len(facts.of(rule.find))):
            yield _subject(facts, rule.find, position)
        return
    for match in rule.pattern.find(facts.model.graph, facts.model.constants):
        yield _of_match(rule, match, facts)


def candidates(rule: Rule, facts: Facts) -> Sequence[Subject]:
    """The subjects for which the condition of a rule may hold for some target, in graph order.

    Where the condition demands ``op == "Conv"``, only such facts are looked at, so that the cost of
    a rule follows what it is about and not the size of the model.  What no target can make true is
    left out once, so that the cost of a further target follows what may be found.
    """
    kept = _KEPT.setdefault(facts, _Kept()).candidates
    if id(rule) not in kept:
        possible = tuple(subject for subject in _demanded(rule, facts) if _possible(rule, subject))
        kept[id(rule)] = rule, possible
    return kept[id(rule)][1]


def _possible(rule: Rule, subject: Subject) -> bool:
    """Whether the condition is not false without a target, which is then unknown in it.

    What is false with an unknown is false whatever it turns out to be, unless the expression asks
    whether something is known.
    """
    where = rule.where
    if where is None or ("target" in where.names and any(word in where.text for word in _SEES_UNKNOWN)):
        return True
    return any(where.truth(reading.values) is not False for reading in (subject, *subject.others))


def _demanded(rule: Rule, facts: Facts) -> Iterator[Subject]:
    """The subjects that have the operator, or another text, which the condition demands."""
    demand = required(rule.where) if rule.pattern is None and rule.where is not None else None
    if demand is None:
        yield from subjects(rule, facts)
        return
    name, texts = demand
    positions = _positions(facts, rule.find, name)
    for position in sorted(found for text in texts for found in positions.get(text, ())):
        yield _subject(facts, rule.find, position)


@dataclass(slots=True)
class _Kept:
    """What is made once of a model's facts, for all rules and targets."""

    subjects: dict[tuple[str, int], Subject] = field(default_factory=dict)
    positions: dict[tuple[str, str], Mapping[str, list[int]]] = field(default_factory=dict)
    candidates: dict[int, tuple[Rule, tuple[Subject, ...]]] = field(default_factory=dict)
    """By the identity of a rule, which is kept beside them so that no other one gets it."""


_KEPT: WeakKeyDictionary[Facts, _Kept] = WeakKeyDictionary()


def _subject(facts: Facts, kind: str, position: int) -> Subject:
    """The subject that a fact is, by its position among the facts of its kind."""
    kept = _KEPT.setdefault(facts, _Kept()).subjects
    if (kind, position) not in kept:
        fact = facts.of(kind)[position]
        values = {name: getattr(fact, name) for name in field_names(kind)}
        kept[kind, position] = Subject(
            fact.node,
            fact.place,
            fact.chain,
            {**values, **_common(facts)},
            applies=fact.applies,
            refusal=fact.refusal,
            fact=fact,
        )
    return kept[kind, position]


def _positions(facts: Facts, kind: str, name: str) -> Mapping[str, list[int]]:
    """The positions of the facts of a kind by the text that a field holds."""
    kept = _KEPT.setdefault(facts, _Kept()).positions
    if (kind, name) not in kept:
        groups: dict[str, list[int]] = defaultdict(list)
        for position, fact in enumerate(facts.of(kind)):
            value = getattr(fact, name)
            if isinstance(value, str):
                groups[value].append(position)
        kept[kind, name] = dict(groups)
    return kept[kind, name]


def _of_match(rule: Rule, match: Match, facts: Facts) -> Subject:
    assert rule.pattern is not None
    steps = tuple(Step(node, role) for role, node in zip(rule.pattern.outputs, match.nodes, strict=True))
    marked = [step.node for step in steps if step.role in rule.mark]
    node = marked[0] if marked else steps[-1].node
    others = tuple(_of_match(rule, other, facts) for other in match.alternatives)
    return Subject(node, node.path, steps, {**match.bindings, **_common(facts)}, others)


def _common(facts: Facts) -> Mapping[str, object]:
    """What expressions can use whatever they are about; ``constants`` is for their functions."""
    build = next(iter(facts.of("build")), None)
    return {"model": facts.of("model")[0], "build": build, "constants": facts.model.constants}
