"""Check a converted model with ONNX's checker, and with TensorRT's parser and builder."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from pathlib import Path

import onnx
from msgspec import Struct

from trtlint.conversion.result import ConversionCheck, Verdict
from trtlint.dry_build.drybuild import dry_build
from trtlint.dry_build.errors import WheelError
from trtlint.dry_build.result import DryBuild, ParserMessage
from trtlint.errors import TrtlintError
from trtlint.facts.of_build.layer import is_attention
from trtlint.model.check import checker_error

_MOST_LAYERS_RATIO = 1.02
"""Largest allowed ratio of the layers in the converted engine to the layers in the source engine."""
_NORM_WARNING = "norm_overflow"
"""Name of the message pattern for the builder's warning about a normalization in 16 bits."""
_SPARE_LAYERS = 2
"""Number of additional layers that are always allowed: the Casts of one input and one output."""
_NORM = re.compile(r"Mean.*Sqrt|Gnor")
"""Pattern of the names of generated kernels that compute a whole normalization.

Such a name lists the operators that the kernel computes.
"""


class EngineCounts(Struct, frozen=True):
    """The numbers that the checks compare: counts of kernels, layers and warnings in one build.

    Attributes:
        attention: fused attention kernels.
        norms: kernels that compute a whole normalization.
        layers: all layers.
        warnings: warnings about a normalization that computes in 16 bits.
    """

    attention: int = 0
    norms: int = 0
    layers: int = 0
    warnings: int = 0


def check(proto: onnx.ModelProto, source: onnx.ModelProto) -> ConversionCheck:
    """Run ONNX's checker on a converted model."""
    found = checker_error(proto)
    if not found:
        return ConversionCheck("checker", "proven", "the ONNX checker accepts the model")
    if checker_error(source):
        text = f"the ONNX checker rejects both the converted model and the source model: {found}"
        return ConversionCheck("checker", "unproven", text)
    return ConversionCheck("checker", "failed", found)


def parse(converted: Path, source: Path) -> tuple[ConversionCheck | None, tuple[str, ...]]:
    """Run TensorRT's parser on a converted model.

    Returns:
        The result of the check, and the names of the nodes that the parser rejects. Without TensorRT-RTX, the
        result of the check is None.
    """
    check = partial(ConversionCheck, "parser")
    try:
        found = dry_build(converted, level="parse")
    except WheelError:
        return None, ()
    except TrtlintError as error:
        return check("unproven", str(error)), ()
    version = found.result.version
    if found.result.parsed:
        return check("proven", f"the parser of TensorRT-RTX {version} accepts the model"), ()
    errors = found.result.errors
    text = (
        _located(errors[0])
        if errors
        else f"the parser stopped without a result: {found.result.cause} {found.result.signal}".strip()
    )
    rejected = f"TensorRT-RTX {version} rejects the converted model: {text}"
    try:
        before = dry_build(source, level="parse")
    except TrtlintError as error:
        return check("unproven", f"{rejected}; trtlint could not parse the source model: {error}"), ()
    if not before.result.parsed:
        text = f"TensorRT-RTX {version} rejects both the converted model and the source model: {text}"
        return check("unproven", text), ()
    nodes = tuple(error.node for error in errors if error.node)
    return check("failed", rejected), nodes


def _located(error: ParserMessage) -> str:
    """Return an error's message and its node, because some messages of the parser are only ``false``."""
    place = f"{error.op} at {error.node}" if error.node else error.op
    return f"{error.text} ({place})" if error.op else error.text


def build(converted: Path, source: Path, narrow: Path | None, sm: int | None) -> ConversionCheck:
    """Build a converted model and its source with TensorRT-RTX, and compare their fused layers.

    Args:
        converted: the converted model.
        source: the FP32 model.
        narrow: the result of a conversion that ignores the measurement and keeps fewer operators in FP32;
            None if this result would equal ``converted``.
        sm: the compute capability times ten.
    """
    check = partial(ConversionCheck, "builder")
    found: dict[str, DryBuild] = {}
    try:
        before = found["fp32"] = dry_build(source, sm=sm)
        result = found["result"] = dry_build(converted, sm=sm)
    except TrtlintError as error:
        built = "converted" if "fp32" in found else "source"
        return check("unproven", f"trtlint could not build the {built} model: {error}")
    if narrow is not None:
        with suppress(TrtlintError):  # this build is only a comparison
            found["narrow"] = dry_build(narrow, sm=sm)
    version = result.result.version
    if not result.result.built:
        if before.result.built:
            text = f"TensorRT-RTX {version} builds the source model, but not the converted model"
            return check("failed", text)
        text = f"TensorRT-RTX {version} builds neither the source model nor the converted model"
        return check("unproven", text)
    counted = {name: counts(each) for name, each in found.items() if each.result.built}
    figures = {
        "fused_attention": {name: each.attention for name, each in counted.items()},
        "fused_norms": {name: each.norms for name, each in counted.items()},
        "layers": {name: each.layers for name, each in counted.items()},
        "norm_warnings": {name: each.warnings for name, each in counted.items()},
    }
    own = counted.pop("result")
    best = max(each.attention for each in (own, *counted.values()))
    text = (
        f"TensorRT-RTX {version} builds the converted model: {own.layers} layers, "
        f"{own.attention} of them fused attention"
    )
    if own.attention < best:
        verdict: Verdict = "failed" if narrow is None else "unproven"
        why = "" if narrow is None else " if more operators are in 16 bits; some operators must stay in FP32"
        return check(verdict, f"{text}, but {best}{why or ' in the source model'}", figures)
    norms = max((each.norms for each in counted.values()), default=0)
    if own.norms < norms:
        text += f", {own.norms} fused normalizations, but {norms} in one of the builds for comparison"
        return check("unproven", text, figures)
    most = max((each.layers for each in counted.values()), default=0)
    if most and own.layers > most * _MOST_LAYERS_RATIO + _SPARE_LAYERS:
        return check("unproven", f"{text}; the builds for comparison have at most {most} layers", figures)
    before_warnings = counted["fp32"].warnings if "fp32" in counted else 0
    if own.warnings > before_warnings:
        return check("unproven", f"{text}; the build warns of a normalization in 16 bits", figures)
    return check("proven", text, figures)


def counts(found: DryBuild) -> EngineCounts:
    """Count the kernels, layers and warnings of a build."""
    record = found.record
    if record is None or record.layers is None:
        return EngineCounts()
    layers = record.layers.layers
    return EngineCounts(
        attention=sum(map(is_attention, layers)),
        norms=sum(_NORM.search(layer.name) is not None for layer in layers),
        layers=len(layers),
        warnings=0 if record.log is None else record.log.counts.get(_NORM_WARNING, 0),
    )
