"""Compute fingerprints. They identify a site in a model even if every name in the file has changed.

A site is described by properties that another export of the same network preserves:

- the rule
- the module path in the metadata of the exporter, with a placeholder for each number
- the operators upstream of the site

Names of nodes and values, the order of nodes in the file, and values of constants are ignored.  Operators
downstream are ignored, so that a node after a block does not change the fingerprint of the block.

Sites with equal descriptions are numbered along the data flow. The operators upstream are hashed with a few
rounds of Weisfeiler-Leman colouring (https://arxiv.org/abs/1905.12259 compares the variants). Usually, only
the operators around the sites are coloured. If two sites have equal descriptions, the whole graph is
coloured. Then the numbers of these sites do not depend on the order of nodes in the file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from hashlib import blake2b

from trtlint.knowledge.redirects import first_id
from trtlint.model.graph import Graph, Node, Value
from trtlint.model.load import Model
from trtlint.model.origin import origin
from trtlint.model.values import Constants

_RADIUS = 3
_DIGITS = re.compile(r"\d+")
_BITS = 0x1FFFFFFFFFFFFFFF


def digest(*parts: str) -> str:
    """Return a hash of several texts as 16 hex digits."""
    text = "\0".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def finding_fingerprint(rule: str, descriptions: Iterable[str]) -> str:
    """Return the fingerprint of a finding from its rule and the descriptions of its sites.

    The number of sites with equal descriptions does not affect the fingerprint.
    """
    return digest(first_id(rule), *sorted(set(descriptions)))


class Fingerprints:
    """Descriptions and fingerprints of the sites of one model, with a cache."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._constants = model.constants
        self._upstream: dict[tuple[Node, int], str] = {}

    def describe(self, rule: str, kind: str, node: Node | None, place: str = "") -> str:
        """Return the description of a site as 16 hex digits.  Similar sites have the same description.

        Args:
            rule: id of the rule.
            kind: kind of fact of the rule.
            node: the node of the site; None for a site without an operator, such as an input of the graph.
            place: name of the site, such as the name of an input; used only if ``node`` is None.
        """
        rule = first_id(rule)
        if node is None:
            return digest(rule, kind, place) if place else digest(rule, kind)
        # The TorchScript exporter writes the module path into the node's name. This path is not used.
        module = _DIGITS.sub("*", origin(self._model, node).stable_module or "")
        return digest(rule, kind, module, node.scope and "body", self._operators(node, _RADIUS))

    def number(self, places: Sequence[tuple[str, Node | None]]) -> list[str]:
        """Return the fingerprints of all sites of one rule.

        ``places`` has a description and a node for each site.  All fingerprints are different, because sites
        with the same description are numbered along the data flow.
        """
        alike: dict[str, list[int]] = defaultdict(list)
        for index, (description, _) in enumerate(places):
            alike[description].append(index)
        fingerprints = [""] * len(places)
        for description, indexes in alike.items():
            if len(indexes) > 1:
                # Places with equal colours are interchangeable, so their order does not matter.
                indexes.sort(key=lambda index: self._order.key(places[index][1]))
            for ordinal, index in enumerate(indexes):
                fingerprints[index] = digest(description, str(ordinal))
        return fingerprints

    def _operators(self, node: Node, radius: int) -> str:
        """Return a hash of a node and of the operators up to ``radius`` edges upstream.

        The hash includes the types of the values. For each edge, the hash includes the index of the output
        at which the edge starts.
        """
        known = self._upstream.get((node, radius))
        if known is None:
            parts = [node.domain, node.op, *(value.dtype or "?" for value in node.outputs)]
            for value in node.inputs:
                parts.append(_source(value, self._constants))
                producer = _producer(value, self._constants)
                if producer is not None and value is not None and radius:
                    parts += [str(value.port), self._operators(producer, radius - 1)]
            known = self._upstream[node, radius] = digest(*parts)
        return known

    @cached_property
    def _order(self) -> _Order:
        return _Order(self._model.graph, self._constants)


def _producer(value: Value | None, constants: Constants) -> Node | None:
    """Return the operator that computes a value at run time, or None for a constant or an input.

    A value that depends only on constants counts as a constant. Some exporters and simplifiers fold such a
    value to an initializer or a ``Constant`` node, but the fingerprint must not depend on this.
    """
    return None if value is None or constants.foldable(value) else value.producer


def _source(value: Value | None, constants: Constants) -> str:
    """Return the kind and the element type of a value, as text.

    The kind is ``constant``, ``input`` or ``computed``. The text is ``-`` for a missing value.
    """
    if value is None:
        return "-"
    if constants.foldable(value):
        return f"constant {value.dtype}"
    return f"{'input' if value.producer is None else 'computed'} {value.dtype}"


class _Order:
    """Sorts nodes along the data flow, independently of their names and their order in the file.

    The sort key has three parts:

    - the largest number of operators between the node and the inputs
    - a colour of all operators upstream
    - a colour of all operators downstream

    A colour is a hash of a tuple of integers.  The hash is the same in each Python process.
    """

    def __init__(self, graph: Graph, constants: Constants) -> None:
        depth: dict[Node, int] = {}
        above: dict[Node, int] = {}
        below: dict[Node, int] = {}
        for node in graph.nodes:
            deepest = 0
            colours = [_number(f"{node.domain}:{node.op}")]
            for value in node.inputs:
                colours.append(_number(_source(value, constants)))
                producer = _producer(value, constants)
                if producer is not None and value is not None:
                    deepest = max(deepest, depth[producer])
                    colours += [value.port, above[producer]]
            depth[node] = deepest + 1
            above[node] = hash(tuple(colours))
        for node in reversed(graph.nodes):
            uses = sorted(
                (value.port, port, above[user], below[user])
                for value in node.outputs
                for user, port in value.uses
            )
            below[node] = hash((sum(value.is_output for value in node.outputs), *uses))
        self._depth, self._above, self._below = depth, above, below

    def key(self, node: Node | None) -> tuple[int, int, int]:
        """Return the sort key of a node.  The key of None is the lowest."""
        if node is None:
            return (0, 0, 0)
        return (self._depth[node], self._above[node], self._below[node])


@cache
def _number(text: str) -> int:
    """Hash a text to a number that is the same in every process."""
    return int(digest(text), 16) & _BITS
