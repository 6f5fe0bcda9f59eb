"""Fingerprints: what names a place in a model when every name in the file has changed.

A site is described by what a re-export keeps: the rule, the module path from the exporter's
metadata with its numbers replaced, and the operators that lead to the site.  Names of nodes and
values, the order of nodes in the file, and values of constants play no part.  Looking only
upstream has a purpose: what is added behind a block does not change the fingerprint of the block,
so one more block at the end of a network is one more fingerprint.

Places that look the same are told apart by their number along the data flow.  The description is a
few rounds of Weisfeiler-Leman colouring (https://arxiv.org/abs/1905.12259 compares the variants),
computed only around the sites; only where descriptions are equal are colours of the whole graph
needed, to number the places independently of the file's order.
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
    """16 hex digits of a sequence of texts."""
    text = "\0".join(f"{len(part)}:{part}" for part in parts)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def finding_fingerprint(rule: str, descriptions: Iterable[str]) -> str:
    """The fingerprint of a finding: stable against how many equal places it holds at."""
    return digest(first_id(rule), *sorted(set(descriptions)))


class Fingerprints:
    """Describes and numbers the places of one model; keeps what it has computed."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._constants = model.constants
        self._upstream: dict[tuple[Node, int], str] = {}

    def describe(self, rule: str, kind: str, node: Node | None, place: str = "") -> str:
        """What is said of a place before equal ones are numbered: 16 hex digits.

        ``node`` is None for a place that no operator marks, such as an input of the graph; its name,
        if it has one, is then all that tells it from others.
        """
        rule = first_id(rule)
        if node is None:
            return digest(rule, kind, place) if place else digest(rule, kind)
        # Never a module path from the node's name, as the TorchScript exporter writes it there.
        module = _DIGITS.sub("*", origin(self._model, node).stable_module or "")
        return digest(rule, kind, module, node.scope and "body", self._operators(node, _RADIUS))

    def number(self, places: Sequence[tuple[str, Node | None]]) -> list[str]:
        """The fingerprints of all places of one rule, given as description and node.

        No two are equal.  Places with the same description are numbered along the data flow.
        """
        alike: dict[str, list[int]] = defaultdict(list)
        for index, (description, _) in enumerate(places):
            alike[description].append(index)
        fingerprints = [""] * len(places)
        for description, indexes in alike.items():
            if len(indexes) > 1:
                # Sorting is stable: what the colours cannot tell apart is alike in every respect.
                indexes.sort(key=lambda index: self._order.key(places[index][1]))
            for ordinal, index in enumerate(indexes):
                fingerprints[index] = digest(description, str(ordinal))
        return fingerprints

    def _operators(self, node: Node, radius: int) -> str:
        """The node and the operators up to ``radius`` edges upstream, with ports and element types."""
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
    """The operator that computes a value at run time.

    What depends on constants only counts as a constant: exporters and simplifiers fold more or less
    of it, and write what is left as initializers, ``Constant`` nodes, or either through ``Identity``.
    """
    return None if value is None or constants.foldable(value) else value.producer


def _source(value: Value | None, constants: Constants) -> str:
    """What feeds a port: nothing, a constant, an input, or an operator; with the element type."""
    if value is None:
        return "-"
    if constants.foldable(value):
        return f"constant {value.dtype}"
    return f"{'input' if value.producer is None else 'computed'} {value.dtype}"


class _Order:
    """An order of the nodes that follows the data flow and does not depend on names or the file.

    Its key is how many operators lie between the node and the inputs at most, then a colour of
    everything upstream, then a colour of everything downstream.  The colours are hashes of tuples of
    integers, which Python does not randomise; they decide only which of several equal places gets
    which number, never whether a fingerprint exists.
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
        """The sort key of a node; of no node, the same key for all."""
        if node is None:
            return (0, 0, 0)
        return (self._depth[node], self._above[node], self._below[node])


@cache
def _number(text: str) -> int:
    """A number for a text, the same in every process."""
    return int(digest(text), 16) & _BITS
