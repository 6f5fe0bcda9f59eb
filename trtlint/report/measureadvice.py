"""Advice on nodes that must stay in FP32, with commands for each TensorRT version.

https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html (trtexec)
https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy (--layer-precisions)
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from trtlint.measurement.formats import FORMATS
from trtlint.measurement.measurement import KeptNodes, Measurement, UnusableMeasurementError
from trtlint.target.target import Target
from trtlint.target.truth import Unknown

_SEPARATORS = frozenset(",'")
"""Characters that layer names in trtexec options cannot contain.

trtexec splits the names at commas, and removes single quotes.

https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp (``getLayerPrecisions``)
"""
_WEAK = "<11.0"
"""Versions with precision flags. TensorRT 11 has no such flags.

https://docs.nvidia.com/deeplearning/tensorrt/latest/
"""


class MeasurementAdvice(Struct, frozen=True):
    """Advice that follows from a measurement.

    Attributes:
        text: the advice.
        command: the command line that applies the advice; empty if there is none.
    """

    text: str
    command: str = ""


STRONGLY_TYPED = MeasurementAdvice(
    "the builder respects Casts to FP32 only in a strongly typed build; with --fp16 or --bf16, FP32 "
    "nodes may run in 16 bits. Build with --stronglyTyped (TensorRT 9.0 and newer)"
)
"""https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/inference-library/precision-control.html
https://github.com/NVIDIA/TensorRT/blob/v9.3.0/samples/common/sampleOptions.cpp (``--stronglyTyped``)
"""


def advice(
    found: Measurement,
    targets: Sequence[Target],
    layers: Mapping[str, str],
    ranges: str | None = None,
    options: Sequence[str] = (),
) -> list[MeasurementAdvice]:
    """Return the advice that follows from a measurement, for some targets.

    Args:
        found: the measurement.
        targets: the targets of the build.
        layers: the names of TensorRT layers by node path, for layers whose name differs from the node name.
        ranges: the JSON file of the measurement; None if no file was written.
        options: the options of the command line that describe the targets.
    """
    if FORMATS[found.type].operands_only and found.verdict == "broken":
        return [_without_tf32(found)]
    weak = [STRONGLY_TYPED] if found.typed and any(map(_lowers_types, targets)) else []
    if found.kept is None or not found.kept.nodes or not found.kept.verified:
        return weak
    if not found.fits:
        return list(_without(found))
    constants = {site.node for site in found.sites if site.constant}
    nodes = [node for node in found.kept.nodes if node not in constants]
    before = any(_may_be(target, weak=True) for target in targets) and not found.typed
    after = any(_may_be(target, weak=False) for target in targets) or found.typed
    listed: list[MeasurementAdvice] = []
    if before:
        listed += _with_flags(found, [layers.get(node, node) for node in nodes])
    if after:
        listed += [_with_casts(found, ranges, options), *weak]
    if _may_use_brain(found):
        listed.append(_brain(found, "or use BF16 in place of FP16"))
    return listed


def applies_to(found: Measurement, nodes: Iterable[str]) -> bool:
    """Return whether the advice on a measurement keeps at least one of ``nodes`` in FP32."""
    kept = found.kept
    if kept is None or not kept.verified or not found.typed or not found.fits:
        return False
    return not frozenset(kept.nodes).isdisjoint(nodes)


def misfit(kept: KeptNodes) -> str:
    """Return the reason why FP16 or BF16 is unsuitable for a model.

    Args:
        kept: the result of the search for nodes to keep in FP32.
    """
    nodes = f"{len(kept.nodes):,} of its {kept.computing:,} nodes"
    products = f"{kept.kept_products:,} of its {kept.products:,} matrix products and convolutions"
    both = f"{nodes}, and {products}," if kept.products else nodes
    return f"{both} would have to stay in FP32"


def _without_tf32(found: Measurement) -> MeasurementAdvice:
    return MeasurementAdvice(
        "TF32 is on by default; build without it", f"trtexec --onnx={shlex.quote(found.path)} --noTF32"
    )


def _without(found: Measurement) -> Iterator[MeasurementAdvice]:
    """Yield the advice to use another type, if the measured type (FP16, BF16 or TF32) is unsuitable."""
    label = found.type.upper()
    if found.typed:
        yield MeasurementAdvice(f"export the model in FP32, because its types are {label}")
        return
    if _may_use_brain(found):
        yield _brain(found, "use BF16 in place of FP16")
    first = "or build" if _may_use_brain(found) else "build"
    yield MeasurementAdvice(f"{first} the model without {label}; TF32 stays on by default")


def _may_use_brain(found: Measurement) -> bool:
    """Return whether BF16 can replace FP16.

    The result is True if the errors of BF16 are within tolerance, or were not measured.
    """
    if found.type != "fp16" or found.typed:
        return False
    return all(each.error.verdict(found.bound) == "fine" for each in found.types if each.type == "bf16")


def _brain(found: Measurement, what: str) -> MeasurementAdvice:
    text = f"{what}: BF16 has the range of FP32 and 8 bits of precision; measure BF16 with"
    return MeasurementAdvice(text, f"{_again(found)} --type bf16")


def _may_be(target: Target, *, weak: bool) -> bool:
    """Return whether a target allows weakly or strongly typed networks.

    If ``weak`` is true, the result is about weakly typed networks, else about strongly typed networks. In a
    weakly typed network, the builder chooses the precision of layers.
    """
    if target.product != "tensorrt":
        return not weak
    older = target.matches(_WEAK, target.product)
    return True if isinstance(older, Unknown) else older is weak


def _lowers_types(target: Target) -> bool:
    """Return whether the builder may run FP32 nodes of the model file in 16 bits."""
    return bool(target.fp16 or target.bf16) and _may_be(target, weak=True)


def _with_flags(found: Measurement, nodes: Sequence[str]) -> Iterator[MeasurementAdvice]:
    flag = f"--{found.type}"
    layers = shlex.quote(",".join(f"{node}:fp32" for node in nodes))
    model = shlex.quote(found.path)
    unusable = next((node for node in nodes if not _SEPARATORS.isdisjoint(node)), None)
    if unusable is None:
        first = "or with Polygraphy"
        yield MeasurementAdvice(
            "before TensorRT 11, keep these layers in FP32 with",
            f"trtexec --onnx={model} {flag} --precisionConstraints=obey --layerPrecisions={layers}",
        )
    else:
        first = "before TensorRT 11, keep these layers in FP32 with Polygraphy"
        yield MeasurementAdvice(
            f"trtexec cannot keep the layer {unusable} in FP32: --layerPrecisions accepts no comma or single "
            "quote in a name. For TensorRT 9.0 and newer, convert the model with",
            conversion(found),
        )
    pairs = " ".join(shlex.quote(f"{node}:float32") for node in nodes)
    yield MeasurementAdvice(
        first,
        f"polygraphy convert {model} {flag} --precision-constraints obey --layer-precisions {pairs}"
        " -o model.engine",
    )


def _with_casts(found: Measurement, ranges: str | None, options: Sequence[str]) -> MeasurementAdvice:
    if found.typed:
        file = shlex.quote(ranges or "ranges.json")
        first = "" if ranges else f"{_again(found)} -o {file}; "
        text = "the model already has 16-bit types; to run these nodes in FP32"
        return MeasurementAdvice(
            text, f"{first}{shlex.join(['trtlint', 'fix', found.path, *options])} --ranges {file}"
        )
    text = (
        "TensorRT 11 uses the types in the model; trtlint convert writes a model that keeps "
        "these nodes in FP32"
    )
    return MeasurementAdvice(text, conversion(found))


def conversion(found: Measurement) -> str:
    """Return the ``trtlint convert`` command for the measured model and type."""
    return f"trtlint convert {shlex.quote(found.path)} --to {found.type}{_inputs(found)}"


def _inputs(found: Measurement) -> str:
    return "".join(f" --inputs {shlex.quote(file)}" for file in found.files if file.endswith(".npz"))


def _again(found: Measurement) -> str:
    return f"trtlint measure {shlex.quote(found.path)}{_inputs(found)}"


def to_keep(found: Measurement) -> tuple[str, ...]:
    """Return the paths of the nodes that must stay in FP32 according to a measurement.

    Raises:
        UnusableMeasurementError: no nodes must stay in FP32, or Casts cannot keep the nodes in FP32.
    """
    if FORMATS[found.type].operands_only:
        raise UnusableMeasurementError(
            "the measurement tested TF32. trtlint fix keeps nodes in FP32 by Casts, but Casts do not turn "
            "off TF32; build with --noTF32"
        )
    if not found.rehearsed:
        raise UnusableMeasurementError(
            "the measurement ran with --no-rehearse, which finds no nodes to keep; measure again "
            "without --no-rehearse"
        )
    nodes = () if found.kept is None else found.kept.nodes
    if found.kept is not None and found.kept.verified and not found.fits:
        raise UnusableMeasurementError(
            f"{found.type.upper()} is unsuitable for this model: {misfit(found.kept)}"
        )
    if not found.typed:
        how = f"to keep nodes in FP32, use {conversion(found)}"
        raise UnusableMeasurementError(f"the model is an FP32 model; {how}")
    if found.kept is not None and not found.kept.verified:
        raise UnusableMeasurementError(
            "the search found no set of nodes to keep in FP32; measure again with --thorough"
        )
    return nodes
