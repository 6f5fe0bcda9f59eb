"""Find function calls that TensorRT's parser interprets differently than ONNX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.conditions import ranges_of
from trtlint.facts.facts import Facts
from trtlint.knowledge.parsers import importing
from trtlint.knowledge.releases import PRODUCTS, Product
from trtlint.model.graph import Node
from trtlint.model.misreading import Misreading, Reason
from trtlint.model.protos import text


class MisreadCall(Fact, frozen=True):
    """A function call that TensorRT's parser interprets differently than ONNX.  The function is model-local.

    In trtlint's graph, the nodes of the function replace the call.  ``node`` is the first of these nodes.

    Attributes:
        reason: the cause. ``operator``: an operator has the same name as the function, and releases that
            support this operator import it instead of the function. ``domain``: the parser uses a function
            with the same name from another domain. ``crossed``: an argument of the call has the name of a
            formal input at an earlier position. ``shadowed``: a formal input has the same name as another
            tensor of the model. ``attribute``: the parser reads an attribute of an operator in the function
            as 0.
        function: name of the function.
        domain: domain of the function.
        detail: the name that causes the problem.  If ``reason`` is ``attribute``, the operator and the
            attribute.
        value: if ``reason`` is ``attribute``, the value of the attribute according to ONNX; else empty.
    """

    roles: ClassVar[Mapping[str, str]] = {"call": "the first operator of the model-local function"}

    reason: Reason
    function: str
    domain: str
    detail: str
    value: str
    versions: Mapping[Product, str]

    @property
    def applies(self) -> Mapping[Product, str]:
        """The releases that misinterpret the call, by product."""
        return self.versions


def find(facts: Facts) -> Iterator[MisreadCall]:
    """Yield the misinterpreted calls of a model, in the order in which the parser imports them."""
    misread = facts.model.misread
    if not misread:
        return
    first = _first_nodes(facts)
    for each in misread:
        node = first.get(each.path)
        versions = _versions(each)
        if node is not None and versions:
            yield MisreadCall(
                node=node,
                chain=(Step(node, "call"),),
                reason=each.reason,
                function=each.name,
                domain=each.domain,
                detail=each.detail,
                value=each.value,
                versions=versions,
            )


def _first_nodes(facts: Facts) -> dict[str, Node]:
    """Map the path of each misinterpreted call to the first node of the call.

    The nodes of the function body replace the call.  Their names begin with the path of the call and a slash.
    The search compares the names component by component, because a comparison of all prefixes of a name would
    take quadratic time.
    """
    numbers: dict[tuple[int, str], int] = {}
    paths: dict[int, str] = {}
    for each in facts.model.misread:
        number = 0
        for part in each.path.split("/"):
            number = numbers.setdefault((number, part), len(numbers) + 1)
        paths[number] = each.path
    found: dict[str, Node] = {}
    for node in facts.imported:
        number = 0
        for part in text(node.proto.name).split("/")[:-1]:
            number = numbers.get((number, part), -1)
            if number < 0:
                break
            if number in paths:
                found.setdefault(paths[number], node)
    return found


def _versions(misreading: Misreading) -> Mapping[Product, str]:
    if misreading.reason != "operator":
        return {"tensorrt": "", "tensorrt-rtx": ""}
    return ranges_of({product: importing(misreading.name, product) for product in PRODUCTS})
