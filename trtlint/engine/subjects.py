"""What rules are evaluated for in one model: its facts, and the matches of patterns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from trtlint.engine.rule import Rule
from trtlint.engine.scope import about_the_model, field_names, required
from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.facts.refusal import Refusal
from trtlint.knowledge.releases import Product
from trtlint.language.functions import FUNCTIONS
from trtlint.language.pattern import Match
from trtlint.lean import dataclass
from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.model.origin import Origin, origin
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
    position: int | None = None
    """Where the fact is among those of its kind."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The node that a report names and those of the block, without repeats."""
        own = () if self.node is None else (self.node,)
        return tuple(dict.fromkeys((*own, *(step.node for step in self.chain))))

    @property
    def scope(self) -> str:
        """The only releases that the fact was seen on, in words; empty where the rule's ranges count."""
        return "" if self.fact is None else self.fact.scope

    def origin(self, model: Model) -> Origin | None:
        """Where it comes from in the Python code: what the exporter noted, or the script itself."""
        if self.node is not None:
            return origin(model, self.node)
        return None if self.fact is None else self.fact.code_origin

    def names(self, target: Target) -> Mapping[str, object]:
        """Every name that expressions can use, with its value."""
        return {**self.values, "target": target}


class Subjects:
    """What rules are evaluated for in one model, made once for all rules and targets."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._made: dict[tuple[str, int], Subject] = {}
        self._positions: dict[tuple[str, str], Mapping[str, list[int]]] = {}
        self._candidates: dict[int, tuple[Rule, tuple[Subject, ...]]] = {}
        """By the identity of a rule, which is kept beside them so that no other one gets it."""
        self._unsearched: set[int] = set()

    def searched(self, rule: Rule) -> bool:
        """Whether :meth:`candidates` are all that there are of a rule: no bound has cut a search short."""
        return id(rule) not in self._unsearched

    def of(self, rule: Rule) -> Iterator[Subject]:
        """Everything that a rule is about, in graph order."""
        if rule.pattern is None:
            for position in range(len(self._facts.of(rule.find))):
                yield self._fact(rule.find, position)
            return
        model = self._facts.model
        found = rule.pattern.search(model.graph, model.constants)
        if not found.complete:
            self._unsearched.add(id(rule))
        for match in found.matches:
            yield self._match(rule, match)

    def candidates(self, rule: Rule) -> Sequence[Subject]:
        """The subjects for which the condition of a rule may hold for some target, in graph order.

        Where the condition demands ``op == "Conv"``, only such facts are looked at, so that the cost of
        a rule follows what it is about and not the size of the model.  What no target can make true is
        left out once, so that the cost of a further target follows what may be found.
        """
        if id(rule) not in self._candidates:
            possible = tuple(subject for subject in self._of_this_model(rule) if _possible(rule, subject))
            self._candidates[id(rule)] = rule, possible
        return self._candidates[id(rule)][1]

    def _of_this_model(self, rule: Rule) -> Iterator[Subject]:
        """Those that the condition demands, none where it is not true of the model as a whole."""
        guard = None if rule.where is None or not self._facts.has_model else about_the_model(rule.where)
        if guard is None or guard.truth(self._common) is not False:
            yield from self._demanded(rule)

    def _demanded(self, rule: Rule) -> Iterator[Subject]:
        """The subjects that have the operator, or another text, which the condition demands."""
        demand = required(rule.where) if rule.pattern is None and rule.where is not None else None
        if demand is None:
            yield from self.of(rule)
            return
        name, texts = demand
        positions = self._by_text(rule.find, name)
        for position in sorted(found for text in texts for found in positions.get(text, ())):
            yield self._fact(rule.find, position)

    def _fact(self, kind: str, position: int) -> Subject:
        """The subject that a fact is, by its position among the facts of its kind."""
        if (kind, position) not in self._made:
            fact = self._facts.of(kind)[position]
            values = {name: getattr(fact, name) for name in field_names(kind)}
            self._made[kind, position] = Subject(
                fact.node,
                fact.place,
                fact.chain,
                {**values, **self._common},
                applies=fact.applies,
                refusal=fact.refusal,
                fact=fact,
                position=position,
            )
        return self._made[kind, position]

    def _by_text(self, kind: str, name: str) -> Mapping[str, list[int]]:
        """The positions of the facts of a kind by the text that a field holds."""
        if (kind, name) not in self._positions:
            groups: dict[str, list[int]] = defaultdict(list)
            for position, fact in enumerate(self._facts.of(kind)):
                value = getattr(fact, name)
                if isinstance(value, str):
                    groups[value].append(position)
            self._positions[kind, name] = dict(groups)
        return self._positions[kind, name]

    def _match(self, rule: Rule, match: Match) -> Subject:
        assert rule.pattern is not None
        steps = tuple(Step(node, role) for role, node in zip(rule.pattern.outputs, match.nodes, strict=True))
        marked = [step.node for step in steps if step.role in rule.mark]
        node = marked[0] if marked else steps[-1].node
        others = tuple(self._match(rule, other) for other in match.alternatives)
        return Subject(node, node.path, steps, {**match.bindings, **self._common}, others)

    @cached_property
    def _common(self) -> Mapping[str, object]:
        """What expressions can use whatever they are about; ``constants`` is for their functions."""
        facts = self._facts
        build = next(iter(facts.of("build")), None)
        return {"model": facts.of("model")[0], "build": build, "constants": facts.model.constants}


def _possible(rule: Rule, subject: Subject) -> bool:
    """Whether the condition is not false without a target, which is then unknown in it.

    What is false with an unknown is false whatever it turns out to be, unless the expression asks
    whether something is known.
    """
    where = rule.where
    if where is None or ("target" in where.names and any(word in where.text for word in _SEES_UNKNOWN)):
        return True
    return any(where.truth(reading.values) is not False for reading in (subject, *subject.others))
