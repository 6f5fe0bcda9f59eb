"""Subjects of rules: the facts about a model, and the matches of a rule's pattern.

A rule is evaluated for each of its subjects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from trtlint.engine.rule import Rule
from trtlint.engine.scope import about_the_model, field_names, required
from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.facts.refusal import Refusal
from trtlint.knowledge.releases import Product
from trtlint.language.pattern import Match
from trtlint.model.graph import Node
from trtlint.model.load import Model
from trtlint.model.origin import Origin, origin
from trtlint.target.target import Target


class Subject(Struct, frozen=True, eq=False):
    """A fact or a pattern match for which a rule is evaluated.

    Attributes:
        node: the node that reports show; None for the whole model.
        place: the name of the node, tensor or line in reports; empty for the whole model.
        chain: the operators in the fact or match, in data-flow order, each with its role.
        values: the names that expressions can use, with their values; without ``target``.
        others: further matches of the pattern at the same nodes.  A finding needs only one match for which
            the condition of the rule is true.
    """

    node: Node | None
    place: str
    chain: tuple[Step, ...]
    values: Mapping[str, object]
    others: tuple[Subject, ...] = ()
    applies: Mapping[Product, str] | None = None
    """For each product, the versions for which the fact is true.  None means all versions."""
    refusal: Refusal | None = None
    fact: Fact | None = None
    """The fact; None for a match of a pattern."""
    position: int | None = None
    """Index of the fact among the facts of its kind."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The node that reports show, then the other nodes of the fact or match, without duplicates."""
        own = () if self.node is None else (self.node,)
        return tuple(dict.fromkeys((*own, *(step.node for step in self.chain))))

    @property
    def scope(self) -> str:
        """The releases for which the fact was observed, in words.

        The text is empty if the fact names no releases.  Then reports show the releases of the rule.
        """
        return "" if self.fact is None else self.fact.scope

    def origin(self, model: Model) -> Origin | None:
        """Return the module and the line of Python code that the node comes from, or None if unknown.

        The exporter or the script states this origin.
        """
        if self.node is not None:
            return origin(model, self.node)
        return None if self.fact is None else self.fact.code_origin

    def names(self, target: Target) -> Mapping[str, object]:
        """Return the values of the names that expressions can use."""
        return {**self.values, "target": target}


class Subjects:
    """The facts and pattern matches of one model, computed once for all rules and targets."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._made: dict[tuple[str, int], Subject] = {}
        self._positions: dict[tuple[str, str], Mapping[str, list[int]]] = {}
        self._candidates: dict[int, tuple[Rule, tuple[Subject, ...]]] = {}
        """For each rule, the rule object and its possible subjects.  The key is ``id()`` of the rule object.

        The stored reference keeps the rule object alive, so that no other object gets the same key.
        """
        self._unsearched: set[int] = set()

    def searched(self, rule: Rule) -> bool:
        """Return whether the search for the pattern of a rule finished.

        If the search did not finish, findings may be missing.
        """
        return id(rule) not in self._unsearched

    def of(self, rule: Rule) -> Iterator[Subject]:
        """Yield all facts or matches for which a rule is evaluated, in graph order."""
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
        """Return the facts or matches for which a rule's condition may be true for some target.

        If the condition requires ``op == "Conv"``, only facts about Conv operators are checked.  So the time
        of a rule depends on the number of these facts instead of the size of the model.  The result is
        cached, so a further target takes little time.
        """
        if id(rule) not in self._candidates:
            possible = tuple(subject for subject in self._of_this_model(rule) if _possible(rule, subject))
            self._candidates[id(rule)] = rule, possible
        return self._candidates[id(rule)][1]

    def _of_this_model(self, rule: Rule) -> Iterator[Subject]:
        """Yield the facts or matches of a rule, or nothing if the rule cannot have a finding in this model.

        See :func:`~trtlint.engine.scope.about_the_model`.
        """
        guard = None if rule.where is None or not self._facts.has_model else about_the_model(rule.where)
        if guard is None or guard.truth(self._common) is not False:
            yield from self._demanded(rule)

    def _demanded(self, rule: Rule) -> Iterator[Subject]:
        """Yield the subjects of a rule. Leave out facts without the field value that the condition requires.

        For example, the condition ``op == "Conv"`` requires the value ``Conv`` of the field ``op``.
        """
        demand = required(rule.where) if rule.pattern is None and rule.where is not None else None
        if demand is None:
            yield from self.of(rule)
            return
        name, texts = demand
        positions = self._by_text(rule.find, name)
        for position in sorted(found for text in texts for found in positions.get(text, ())):
            yield self._fact(rule.find, position)

    def _fact(self, kind: str, position: int) -> Subject:
        """Return the subject for the fact at this position among the facts of its kind."""
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
        """Group the facts of one kind by the text in the field ``name``.

        For the field ``op``, an example is ``{"Conv": [0, 3]}``.  The numbers are the positions of the facts.
        """
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
        """Return the names that all expressions can use, with their values.

        Expressions do not name ``constants``, but functions in expressions need its value.
        """
        facts = self._facts
        build = next(iter(facts.of("build")), None)
        return {"model": facts.of("model")[0], "build": build, "constants": facts.model.constants}


def _possible(rule: Rule, subject: Subject) -> bool:
    """Return whether the condition of a rule can be true for at least one target.

    The condition is evaluated without a target. If the result of this evaluation is false, the condition
    is false for every target. There is one exception: a condition can test whether a value of the target is
    known. For such a condition, this function always returns True.
    """
    where = rule.where
    if where is None or ("target" in where.names and where.sees_unknown):
        return True
    return any(where.truth(reading.values) is not False for reading in (subject, *subject.others))
