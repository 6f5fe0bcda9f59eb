"""For an operator that some releases refuse, find the releases that accept the operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from trtlint.engine.finding import Finding
from trtlint.engine.subjects import Subject
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.library_plugin import LibraryPlugin
from trtlint.facts.of_model.rejection import EXTERNAL_DATA, Rejection
from trtlint.facts.refusal import Refusal
from trtlint.knowledge.parsers import lines_of
from trtlint.knowledge.releases import PRODUCTS, Product, minors
from trtlint.model.graph import Node
from trtlint.target.target import Target

_BY_PLUGIN = frozenset({"plugin", "library"})
"""Reasons for refusals that occur only if a plugin is not loaded."""
_FIRST_RUN: Mapping[Product, str] = {"tensorrt": "10.16", "tensorrt-rtx": "1.4"}
"""The first release line whose parser can be tried without a GPU.

TensorRT-RTX 1.4 has the parser of TensorRT 10.16.  If the documented refusals of a model begin with this
line, older releases may refuse the model, too.
"""


class RefusedLines:
    """Computes which release lines, such as 10.7, refuse the nodes of one model."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._by_node: dict[Product, Mapping[Node, frozenset[str]]] = {}

    def of(self, subjects: Iterable[Subject], product: Product) -> tuple[tuple[str, ...], str]:
        """Return the release lines that refuse at least one of the operators in ``subjects``.

        The result includes release lines that refuse the same node for another reason.  Such a reason does
        not count if it depends on the GPU, the typing or a plugin.

        Returns:
            The release lines, and a condition in words such as ``on every GPU``.  Both are empty if a subject
            is not about a refusal, or is about external data.
        """
        lines: set[str] = set()
        limit = ""
        for subject in subjects:
            fact = subject.fact
            if not isinstance(fact, Rejection | LibraryPlugin):
                return (), ""
            if isinstance(fact, Rejection) and fact.problem == EXTERNAL_DATA:
                return (), ""  # the data are missing or damaged, so no release can accept the model
            lines |= lines_of(product, fact.versions.get(product, "none"))
            limit = limit or _limit(fact)
            if fact.node is not None:
                lines |= self._nodes(product).get(fact.node, frozenset())
        return tuple(line for line in minors(product) if line in lines), limit

    def _nodes(self, product: Product) -> Mapping[Node, frozenset[str]]:
        if product not in self._by_node:
            found: dict[Node, frozenset[str]] = defaultdict(frozenset)
            for fact in self._facts.of("rejection"):
                if isinstance(fact, Rejection) and fact.node is not None and fact.op and not _limit(fact):
                    found[fact.node] |= lines_of(product, fact.versions.get(product, "none"))
            self._by_node[product] = found
        return self._by_node[product]


def _limit(fact: Rejection | LibraryPlugin) -> str:
    if isinstance(fact, LibraryPlugin) or fact.reason in _BY_PLUGIN:
        return "without the plugin"
    if fact.min_sm is not None:
        return "on every GPU"
    return "in a strongly typed network" if fact.typing else ""


def with_taken(finding: Finding, target: Target) -> Finding:
    """Add the nearest accepting releases to a finding about a refused operator."""
    if finding.refusal is None or not finding.refusal.lines:
        return finding
    refusal = _taken(finding.refusal, target)
    words = taken_words(refusal, target.product)
    return replace(finding, refusal=refusal, advice=(*finding.advice, words))


def _taken(refusal: Refusal, target: Target) -> Refusal:
    """Return a copy of ``refusal`` with two release lines that accept the operator.

    ``last_taken`` is the last accepting line before the target. ``first_taken`` is the first accepting line
    after the target. If the target has no version, the lines before the first refusing line and after the
    last refusing line are searched instead. If in this case the newest line refuses the operator,
    ``last_taken`` is the newest accepting line.
    """
    known = minors(target.product)
    held = [line in refusal.lines for line in known]
    first, last = len(held) - 1 - held[::-1].index(True), held.index(True)
    if target.version is not None:
        first = last = known.index(target.releases[-1].minor)
    after = next((known[i] for i in range(first + 1, len(known)) if not held[i]), None)
    if after is None and target.version is None:
        last = len(known)
    before = next((known[i] for i in range(last - 1, -1, -1) if not held[i]), None)
    if before is not None and _begins_with_runs(refusal, target.product):
        before = before if known.index(before) > known.index(_FIRST_RUN[target.product]) else None
    return replace(refusal, first_taken=after, last_taken=before)


def _begins_with_runs(refusal: Refusal, product: Product) -> bool:
    """Return whether the refusing releases begin with ``_FIRST_RUN`` only because no older parser was run."""
    known, first = minors(product), _FIRST_RUN[product]
    older = known[known.index(first) - 1]
    return refusal.known == "documented" and first in refusal.lines and older not in refusal.lines


def taken_words(refusal: Refusal, product: Product) -> str:
    """Return a text that names the nearest releases that accept the refused part of the model."""
    name = PRODUCTS[product]
    part = "this part of the model" + (f" {refusal.limit}" if refusal.limit else "")
    if refusal.first_taken is not None:
        words = f"the nearest newer release that accepts {part} is {name} {refusal.first_taken}"
        older = refusal.last_taken
        return words if older is None else f"{words}; the nearest older release is {name} {older}"
    newest = minors(product)[-1]
    if _begins_with_runs(refusal, product) and refusal.last_taken is None:
        return f"it is unknown whether releases before {name} {_FIRST_RUN[product]} accept {part}"
    if refusal.last_taken is None:
        return f"no {name} release up to {newest} accepts {part}"
    words = f"the nearest older release that accepts {part} is {name} {refusal.last_taken}"
    return f"{words}; no newer release up to {newest} does"
