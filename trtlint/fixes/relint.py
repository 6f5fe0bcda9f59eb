"""Lint and check a model between rewrites, and find new findings that a rewrite causes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy

import onnx

from trtlint.case import Case
from trtlint.engine.finding import SEVERITIES, Finding, ModelReport
from trtlint.files.limits import limit_work
from trtlint.fixes.outcome import Lint, LintedModel
from trtlint.fixes.source import SourceModel
from trtlint.model.check import checker_error
from trtlint.model.infer import InferenceError, infer
from trtlint.model.inline import NOTHING_INLINED
from trtlint.model.load import interpret, undeclared
from trtlint.policy.review import Review


def linting(case: Case, source: SourceModel) -> Lint:
    """Create a function that lints rewritten versions of a model as if they were the original file.

    The rewritten versions call no model-local functions, because trtlint has inlined the functions of
    ``source``.

    Args:
        case: the model, its targets and its evidence. Evidence from builds counts only for the original
            model, not for rewritten models. The policy of the case removes suppressed findings.
        source: the model before any rewrite.
    """
    review = Review()

    def lint(proto: onnx.ModelProto) -> LintedModel:
        with limit_work(source.path):
            data, declared = undeclared(proto)
            inlined = source.inlined if proto is source.proto else NOTHING_INLINED
            model = interpret(source.path, data, source.raw.tensors, declared, inlined)
            opened = case.with_model(model).open()
            reports = opened.case.reviewed(opened.evaluated(), review)
            return LintedModel(proto, opened.facts(), reports)

    return lint


def checked(proto: onnx.ModelProto, source_error: Callable[[], str]) -> tuple[onnx.ModelProto, str]:
    """Run the ONNX checker on a rewritten model.

    If wrong declared types of intermediate values are the only errors, the function removes the declarations.
    If the original model is invalid, too, the function declares the inferred shapes of the outputs. This
    corrects outputs with a missing or wrong shape. TensorRT ignores the declared shapes of outputs.

    Args:
        proto: the rewritten model.
        source_error: function that returns the error of the checker for the model before the rewrites.

    Returns:
        The model, and the error of the checker. The error is an empty string if the model is valid.
    """
    wrong = checker_error(proto)
    if wrong and proto.graph.value_info:
        bare = deepcopy(proto)
        del bare.graph.value_info[:]
        if not checker_error(bare):
            return bare, ""
    source = source_error() if wrong else ""
    if source:
        completed = _with_output_shapes(proto)
        if completed is not None and not checker_error(completed):
            return completed, ""
        wrong, source = wrong.rstrip("."), source.rstrip(".")
        rejected = (
            f"both the fixed model and the source model: {wrong}"
            if wrong == source
            else f"the source model: {source}; and the fixed model: {wrong}"
        )
        wrong = f"the ONNX checker rejects {rejected}; correct the source model first"
    return proto, wrong


def _with_output_shapes(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Copy a model, and declare the inferred shapes of the outputs in the copy.

    ``onnx_graphsurgeon`` writes outputs without shapes
    (https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy/tests/models). TensorRT and ONNX Runtime
    accept such models, but the ONNX checker rejects them. The copy declares no types of intermediate values,
    because these types can also be wrong.

    Returns:
        The copy, or None if ONNX cannot infer the shape of an output.
    """
    copy = deepcopy(proto)
    del copy.graph.value_info[:]
    for output in copy.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.ModelProto.FromString(infer(copy.SerializeToString()))
    except InferenceError:
        return None
    for output, found, before in zip(
        copy.graph.output, inferred.graph.output, proto.graph.output, strict=True
    ):
        if not output.type.HasField("tensor_type"):
            continue
        if not found.type.tensor_type.HasField("shape"):
            return None
        shape = output.type.tensor_type.shape
        shape.CopyFrom(found.type.tensor_type.shape)
        if len(before.type.tensor_type.shape.dim) == len(shape.dim):
            for dim, old in zip(shape.dim, before.type.tensor_type.shape.dim, strict=True):
                if not (dim.HasField("dim_value") and old.HasField("dim_value")):
                    dim.CopyFrom(old)
    return copy


def harm_of(before: LintedModel, after: LintedModel, mildest: int) -> str:
    """Return a message about a finding that only the rewritten model has, or an empty string.

    Args:
        before: the model and its findings before the rewrite.
        after: the model and its findings after the rewrite.
        mildest: index in ``SEVERITIES`` of the lowest severity to consider.
    """
    old, new = _counts(before.reports, mildest), _counts(after.reports, mildest)
    if any(count > old[key] for key, count in new.items()):
        new = _counts(after.reports, mildest, _nodes_with_new_types(before, after))
    for (target, rule), count in new.items():
        if count > old[target, rule]:
            finding = next(each for each in after.reports[target].findings if each.rule == rule)
            return f"withdrawn because the rewrite causes the finding {rule}: {finding.message}"
    return ""


def _nodes_with_new_types(before: LintedModel, after: LintedModel) -> frozenset[str]:
    """Return the paths of unchanged nodes that had an input of unknown type or shape before the rewrite.

    Shape inference stops at operators outside ONNX's domain. If a rewrite replaces such an operator, trtlint
    sees the types and shapes of later tensors for the first time. So the rewrite did not cause the new
    findings at the nodes that read these tensors.
    """
    blind = {
        node.path: node.proto.SerializeToString()
        for node in before.model.graph.nodes
        if any(value is not None and (value.dtype is None or value.shape is None) for value in node.inputs)
    }
    return frozenset(
        node.path
        for node in after.model.graph.nodes
        if node.path in blind and node.proto.SerializeToString() == blind[node.path]
    )


def _counts(
    reports: Sequence[ModelReport], mildest: int, but: frozenset[str] = frozenset()
) -> Counter[tuple[int, str]]:
    """Count the affected nodes for each target and rule.  A key is the target's index and the rule.

    Args:
        reports: one report for each target.
        mildest: index in ``SEVERITIES`` of the lowest severity to count.
        but: paths of nodes to skip.
    """
    return Counter(
        (index, finding.rule)
        for index, report in enumerate(reports)
        for finding, place in places_of([report])
        if SEVERITIES.index(finding.severity) <= mildest and place not in but
    )


def places_of(reports: Iterable[ModelReport]) -> Iterator[tuple[Finding, str]]:
    """Yield pairs of a finding and the path of a node that the finding affects."""
    for report in reports:
        for finding in report.findings:
            for site in finding.sites:
                yield finding, site.node
