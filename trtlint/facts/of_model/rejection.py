"""Find nodes that TensorRT's parser or builder refuses, and the versions that refuse them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.conditions import (
    INITIALIZER,
    INPUT,
    NODE,
    OUTPUT,
    Condition,
    conditions_for,
    joined,
    without,
)
from trtlint.facts.blocks.reasons import Known, Reason, Stage
from trtlint.facts.blocks.runtimeops import DYNAMIC_QUANTISATION, is_training, refused_contrib
from trtlint.facts.facts import Facts
from trtlint.facts.of_model.node import LATEST_OPSET, names_of
from trtlint.facts.refusal import Refusal
from trtlint.files.problem import first_few
from trtlint.knowledge.parsers import (
    ONNX_DOMAINS,
    bundled,
    is_contrib,
    is_listed,
    is_removed,
    lines_of,
    range_of,
    refusing,
)
from trtlint.knowledge.releases import PRODUCTS, Product
from trtlint.model.empty_names import empty_name_clashes
from trtlint.model.graph import WITH_BODIES, Node, Value
from trtlint.model.imported import decided_if, owners_within
from trtlint.model.protos import text
from trtlint.model.schemas import has_function, is_defined

_IN_DOMAIN_OF_ONNX = frozenset({"SimplifiedLayerNormalization"})
"""Operators that ONNX Runtime adds to ONNX's domain
(https://github.com/microsoft/onnxruntime/blob/main/onnxruntime/core/graph/contrib_ops/contrib_defs.cc)."""
WITHOUT_FUNCTIONS = "<9.0"
"""The releases whose parser does not support model-local functions."""
EXTERNAL_DATA = "external-data"
"""Label of problems with external data: the data are missing, too short or misplaced."""
_PARSER = "https://github.com/onnx/onnx-tensorrt/blob/main/docs/operators.md"


class Rejection(Fact, frozen=True, kw_only=True):
    """A node, model input, model output or stored tensor that at least one release refuses.

    There is one fact for each reason.  The versions that refuse the node for this reason are in ``applies``.

    Attributes:
        op: the operator type; empty for an input, an output or a stored tensor.
        stage: ``parse`` if the parser refuses the node, ``build`` if the builder does.
        code: the parser's error code, such as ``UNSUPPORTED_NODE``; empty if unknown.
        reason: the class of the reason, such as ``type`` for an unsupported element type.
        problem: a label of the problem for rules, such as ``antialias``; empty if no rule uses it.
        says: the description of the problem, a sentence without its full stop.
        way: a sentence about the remedy; empty if the description of the problem makes the remedy clear.
        plugin: the name of the missing plugin; empty if no plugin would help.
        typing: ``strong`` if TensorRT refuses the node only in strongly typed networks.
        min_sm: ten times the lowest compute capability of the GPUs that support the node; None if the
            refusal does not depend on the GPU.
        once: True if trtlint reports the reason only for the first affected operator of the model.
        has_body: whether ONNX defines the operator as a function of simpler operators. A parser may support
            these simpler operators.
        decided: for a reason about control flow, True if the node is an ``If`` with a constant condition, or
            is inside such an ``If``.
        source: URL of the page or source code that documents the refusal.
        known: how trtlint knows the refusing versions: ``measured``, ``source`` (from the parser's source
            code) or ``documented``.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "refused": "the refused operator, or the reader of the refused tensor"
    }

    op: str
    stage: Stage
    code: str
    reason: Reason
    problem: str = ""
    says: str
    way: str = ""
    plugin: str = ""
    typing: str = ""
    min_sm: int | None = None
    has_body: bool = False
    source: str
    versions: Mapping[Product, str]
    once: bool = False
    decided: bool = False
    known: Known = "documented"

    @property
    def is_whole(self) -> bool:
        """True if the refusal is about the whole model; the node of the fact is then only an example."""
        return self.once

    @property
    def applies(self) -> Mapping[Product, str]:
        """The versions that refuse the node for this reason, by product."""
        return self.versions

    @property
    def refusal(self) -> Refusal:
        """The refusal as plain data: stage, operator, error code, and the evidence for the versions."""
        return Refusal(self.stage, self.op, self.code, self.known)


def find(facts: Facts) -> Iterator[Rejection]:
    """Yield the refusals of inputs and outputs of the model, then of stored tensors, then of nodes."""
    return (rejection for _, rejection in rejections(facts))


def rejections(facts: Facts) -> Iterator[tuple[Condition | None, Rejection]]:
    """Yield each refusal and its condition in conditions.yaml.

    The condition is None if the refusal does not come from conditions.yaml.
    """
    graph, constants = facts.model.graph, facts.model.constants
    opset = facts.model.opset or LATEST_OPSET
    fixed = {"opset": opset, "constants": constants}
    for value in graph.inputs:
        yield from _of_tensor(INPUT, value, fixed)
    for value in graph.outputs:
        yield from _of_tensor(OUTPUT, value, {**fixed, "declared": facts.model.declared.get(value.name)})
    for value in (v for many in graph.values.values() for v in many if v.initializer is not None):
        yield from _of_tensor(INITIALIZER, value, fixed)
    if graph.sparse:
        imported = frozenset(facts.imported)
        read = ((v, next((n for n, _ in v.uses if n in imported), None)) for v in graph.sparse)
        yield from ((None, _of_sparse(value, node)) for value, node in read if node is not None)
    yield from _of_missing(facts)
    yield from _of_functions(facts)
    contrib = _contrib(facts.imported)
    stated: set[Condition] = set()
    present = frozenset(value.dtype for values in graph.values.values() for value in values)
    everywhere = conditions_for(NODE, present)
    possible: dict[str, tuple[tuple[Condition, ...], bool]] = {}
    clashes = empty_name_clashes(graph, facts.model.call_paths)
    for node in facts.imported:
        names = {
            **names_of(node),
            "bodies": graph.bodies(node) if node.op in WITH_BODIES else {},
            "inside": owners_within(graph, node) if node.scope else (),
            "clash": clashes.get(node, ""),
            **fixed,
        }
        own = _of_dispatch(node, contrib)
        taken: dict[Product, frozenset[str]] = {}
        if own is not None:
            yield None, own
            taken = {product: lines_of(product, text) for product, text in own.versions.items()}
        if node.op not in possible:
            # Many conditions are only about old opsets, or about names that clash.
            common = {"op": node.op, **fixed} if clashes else {"op": node.op, "clash": "", **fixed}
            listed = (*conditions_for(node.op, present), *everywhere)
            found = tuple(condition for condition in listed if not condition.excluded(common))
            possible[node.op] = found, any(condition.types for condition in found)
        conditions, typed = possible[node.op]
        operands = (*node.inputs, *node.outputs) if typed else ()
        types = {value.dtype for value in operands if value is not None}
        typed_by_own: Mapping[Product, frozenset[str]] = {}
        held: list[tuple[Condition, Mapping[Product, str]]] = []
        for condition in conditions:
            if condition in stated or (condition.types and types.isdisjoint(condition.types)):
                continue
            if condition.where.truth(names) is True and (
                condition.stage != "build" or condition.unused or node in facts.built
            ):
                if condition.once:
                    stated.add(condition)
                versions = without(condition.applies, taken)
                if _of_types(condition):
                    if condition in everywhere:  # a condition for this operator alone has a better text
                        versions = without(versions, typed_by_own)
                    else:
                        typed_by_own = joined(typed_by_own, versions)
                if versions:
                    held.append((condition, versions))
        for condition, versions in held:
            decided = condition.reason == "control" and decided_if(node, graph, constants) is not None
            yield condition, _rejection(condition, names, node.op, node, versions, decided=decided)


def _of_tensor(kind: str, value: Value, fixed: Mapping[str, Any]) -> Iterator[tuple[Condition, Rejection]]:
    names = {"op": "", "domain": "", "inputs": (), "outputs": (value,), "attributes": {}, **fixed}
    for condition in conditions_for(kind):
        if condition.where.truth(names) is True:
            node = value.producer or (value.uses[0][0] if value.uses else None)
            yield condition, _rejection(condition, names, "", node, condition.applies)


def _of_types(condition: Condition) -> bool:
    """Return whether a condition depends only on element types.

    Such a condition is about the parser, and is independent of the typing, the GPU and the loaded plugins.
    """
    whatever = not (condition.typing or condition.plugin or condition.min_sm)
    return condition.reason == "type" and condition.stage == "parse" and whatever


def _rejection(
    condition: Condition,
    names: Mapping[str, object],
    op: str,
    node: Node | None,
    versions: Mapping[Product, str],
    *,
    decided: bool = False,
) -> Rejection:
    return Rejection(
        node=node,
        chain=() if node is None else (Step(node, "refused"),),
        op=op,
        stage=condition.stage,
        code=condition.code,
        reason=condition.reason,
        problem=condition.problem.fill(names),
        says=condition.says.fill(names),
        way=condition.way.fill(names),
        plugin=condition.plugin,
        typing=condition.typing,
        min_sm=condition.min_sm,
        source=condition.source,
        versions=versions,
        once=condition.once,
        decided=decided,
        known=condition.known,
    )


def _of_sparse(value: Value, node: Node) -> Rejection:
    """Return the refusal of a sparse initializer, which the parser does not import."""
    read = f"{node.op} reads the sparse initializer {value.name}"
    says = f"{read}, and the parser does not import sparse initializers"
    way = "Store this initializer as a dense tensor."
    return _of_stored(node, node.op, says, way, "sparse-initializer")


def _of_missing(facts: Facts) -> Iterator[tuple[None, Rejection]]:
    """Yield the refusals of stored tensors whose external data the parser cannot find or read.

    Several tensors can have the same problem, such as the same missing file.  Each problem gives one refusal,
    which names the first of these tensors.
    """
    tensors = facts.model.tensors
    copy = "Put the external data file into the folder of the model, under the name that the model stores."
    save = (
        "Save the model again, with external data in one file next to the model: "
        "onnx.save_model(location=...)."
    )
    found = {
        name: (
            f"the external data file {location} is missing; it contains {name} and perhaps more tensors",
            copy,
        )
        for location, name in tensors.missing.items()
    }
    reasons: dict[str, str] = {}
    for name, reason in tensors.misplaced.items():
        reasons.setdefault(reason, name)
    for reason, name in reasons.items():
        found.setdefault(name, (f"the external data of {name} {reason}", save))
    for name, (says, way) in found.items():
        named = facts.model.graph.values.get(name, ())
        readers = (value.uses[0][0] for value in named if value.initializer is not None and value.uses)
        holders = (value.producer for value in named if value.producer is not None)
        yield None, _of_stored(next(chain(readers, holders), None), "", says, way, EXTERNAL_DATA)


def _of_functions(facts: Facts) -> Iterator[tuple[None, Rejection]]:
    """Yield one refusal for all calls of model-local functions, at the first call.

    A parser without function support looks up the function's name among its importers and the plugins
    (https://github.com/onnx/onnx-tensorrt/blob/6ba67d3428e0/ModelImporter.cpp, parseGraph).  The first parser
    that imports functions is https://github.com/onnx/onnx-tensorrt/blob/df96128368ef/ModelImporter.cpp.
    """
    without = lines_of("tensorrt", WITHOUT_FUNCTIONS)
    ranges = {call: refusing(call.name).get("tensorrt", "<0") for call in facts.model.calls}
    found = {
        call: lines for call, range_ in ranges.items() if (lines := lines_of("tensorrt", range_) & without)
    }
    if not found:
        return
    names = list(dict.fromkeys(call.name for call in found))
    first = next(iter(found))
    node = next((node for node in facts.imported if text(node.proto.name).startswith(f"{first.path}/")), None)
    versions: dict[Product, str] = {"tensorrt": range_of("tensorrt", set().union(*found.values())) or ""}
    called = first_few(names, 3)
    yield (
        None,
        Rejection(
            node=node,
            chain=() if node is None else (Step(node, "refused"),),
            op=first.name,
            stage="parse",
            code="UNSUPPORTED_NODE",
            reason="operator",
            problem="functions",
            says=f"the model calls functions of its own ({called}), but the parser does not support "
            "model-local functions",
            way="Inline the functions before the build: onnx.inliner.inline_local_functions(model).",
            plugin=first.name,
            source="https://github.com/onnx/onnx-tensorrt/blob/6ba67d3428e0/ModelImporter.cpp",
            versions=versions,
            once=True,
            known="source",
        ),
    )


def _of_stored(node: Node | None, op: str, says: str, way: str, problem: str = "") -> Rejection:
    """Return a refusal of a stored tensor.  The parser refuses the tensor in all releases.

    https://github.com/onnx/onnx-tensorrt/blob/3b9c961a4318/ModelImporter.cpp, importInitializers.
    """
    return Rejection(
        node=node,
        chain=() if node is None else (Step(node, "refused"),),
        op=op,
        stage="parse",
        code="INVALID_GRAPH",
        reason="interface",
        problem=problem,
        says=says,
        way=way,
        source="https://github.com/onnx/onnx-tensorrt/blob/3b9c961a4318/ModelImporter.cpp",
        versions=dict.fromkeys(PRODUCTS, ""),
        known="source",
    )


def _of_dispatch(node: Node, contrib: str) -> Rejection | None:
    """Return the refusal of a node, or None if the parser can import the operator of the node.

    The parser looks up its importer by the operator type and ignores the domain.  If there is no importer,
    the parser looks for a plugin that is named like the operator type
    (https://github.com/onnx/onnx-tensorrt/blob/3b9c961a4318/ModelImporter.cpp).
    """
    versions = refusing(node.op)
    if not versions:
        return None
    listed = is_listed(node.op)
    reason = _reason(node, listed)
    return Rejection(
        node=node,
        chain=(Step(node, "refused"),),
        op=node.op,
        stage="parse",
        code="UNSUPPORTED_NODE" if listed else "INVALID_NODE",
        reason=reason,
        problem="training" if reason == "contrib" and is_training(node.op) else "",
        says=contrib if reason == "contrib" else _missing(node, reason),
        plugin=node.op,
        has_body=reason == "operator" and has_function(node.op, node.domain),
        source=_PARSER,
        versions=versions,
    )


def _reason(node: Node, listed: bool) -> Reason:
    fused = is_contrib(node.domain) or (not node.domain and node.op in _IN_DOMAIN_OF_ONNX)
    if node.op in DYNAMIC_QUANTISATION or (not listed and fused):
        return "contrib"
    own = node.domain in ONNX_DOMAINS and (is_defined(node.op, node.domain) or is_removed(node.op))
    return "operator" if listed or own else "plugin"


def _missing(node: Node, reason: Reason) -> str:
    if reason == "operator":
        return f"the parser has no importer for {node.op}"
    if any(bundled(node.op, product) for product in PRODUCTS):
        return f"{node.op} needs a plugin that is not in TensorRT's plugin library"
    return (
        f"the parser imports {node.op} of the domain {node.domain or 'ai.onnx'} only if a plugin "
        f"named {node.op} is loaded"
    )


def _contrib(nodes: Iterable[Node]) -> str:
    """Return why the parser refuses a model that ONNX Runtime optimized, quantized or prepared for training.

    The text lists the operators of ONNX Runtime that the parser cannot import, with their counts.
    """
    return refused_contrib(
        Counter(n.op for n in nodes if refusing(n.op) and _reason(n, is_listed(n.op)) == "contrib")
    )
