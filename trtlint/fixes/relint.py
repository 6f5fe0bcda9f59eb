"""Lint and check a model between rewrites."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import onnx

from trtlint.case import Case
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
