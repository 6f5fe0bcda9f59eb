"""Find the errors of NVIDIA's ONNX parser in a dry build."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.dry_build.result import ParserMessage
from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.facts.refusal import Refusal
from trtlint.model.graph import Node

_NAMELESS = re.compile(r"\bnode_of_(\S+)")
"""Pattern of the name that the parser gives to an unnamed node: ``node_of_`` and the node's first output."""
_AROUND = (
    re.compile(r"^In node -?\d+ with name: .*? and operator: .*? \(\w+\): \w+: "),
    re.compile(r"^Assertion failed: "),
)
"""Patterns of the texts that precede the error itself in a message of the parser."""
_FUNCTION = re.compile(r"(?:import|check)(\w+)")
"""Pattern of the names of the parser's functions that import or check one operator."""
_SHORT = 300


class ParserRefusal(Fact, frozen=True):
    """An error of NVIDIA's ONNX parser in a dry build.

    Attributes:
        label: a text that names the dry build, such as ``dry build, TensorRT-RTX 1.7.1, SM 8.9``.
        op: the refused operator; empty if the error is not about a node.
        code: the error code, such as ``UNSUPPORTED_NODE``.
        name: the name of the node in the error message.
        says: the error message on one line, without the node, cut at 300 characters.
        function: the function of the parser that reports the error, such as ``checkResize``.
    """

    roles: ClassVar[Mapping[str, str]] = {"refused": "the node that the parser refuses"}

    label: str
    op: str
    code: str
    name: str
    says: str
    function: str

    @property
    def place(self) -> str:
        """The location in reports: the path of the node, or the name in the message if no node is found."""
        return self.node.path if self.node else self.name

    @property
    def refusal(self) -> Refusal:
        """The refusal by the parser, as plain data."""
        return Refusal("parse", self.op, self.code)


def find(facts: Facts) -> Iterator[ParserRefusal]:
    """Yield the errors in the order of the parser.  Repeated messages about one node are left out."""
    if facts.dry is None:
        return
    result = facts.dry.result
    seen = set()
    for error in result.errors:
        node = _node(error, facts)
        says = _sentence(error)
        if (node, error.node, error.code, says) in seen:
            continue
        seen.add((node, error.node, error.code, says))
        yield ParserRefusal(
            node=node,
            chain=() if node is None else (Step(node, "refused", label="refused"),),
            label=result.label,
            op=error.op or ("" if node is None else node.op),
            code=error.code,
            name=error.node,
            says=says,
            function=error.function,
        )


def _node(error: ParserMessage, facts: Facts) -> Node | None:
    """Return the node of the model that an error is about, or None if no node is found.

    The function finds the node by its name, by its position, or as the only node of its operator type.
    """
    if not error.op and not error.node:
        return _by_function(error, facts)
    named = facts.names.find(error.node) if error.node else None
    nameless = _NAMELESS.search(error.text)
    if named is None and nameless is not None:
        named = facts.names.find(nameless[0]) or facts.names.computing(nameless[1])
    if named is not None:
        return named
    nodes = facts.model.graph.nodes
    main = [node for node in nodes if not node.scope]
    if 0 <= error.index < len(main) and _is(main[error.index], error):
        return main[error.index]
    alike = [node for node in nodes if _is(node, error)]
    return alike[0] if len(alike) == 1 else None


def _by_function(error: ParserMessage, facts: Facts) -> Node | None:
    """Use the name of the parser's function to find the node that an error is about.

    For example, an error in ``importScatterElements`` is about a ScatterElements.  The result is None unless
    the model has exactly one node of this operator type.
    """
    found = _FUNCTION.fullmatch(error.function)
    alike = [node for node in facts.model.graph.nodes if found is not None and node.op == found[1]]
    return alike[0] if len(alike) == 1 else None


def _is(node: Node, error: ParserMessage) -> bool:
    return node.op == error.op and (not error.node or error.node in (node.proto.name, node.path))


def _sentence(error: ParserMessage) -> str:
    text = " ".join(error.text.split())
    for pattern in _AROUND:
        text = pattern.sub("", text)
    return (text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}...") or error.code
