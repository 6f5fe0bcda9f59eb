"""Write messages about a dry build for users."""

from __future__ import annotations

from collections.abc import Iterator

from trtlint.dry_build.agreement import Agreement
from trtlint.dry_build.result import DryBuildResult
from trtlint.files.problem import first_few
from trtlint.target.parsing import sm_words

_LONGEST = 300
"""Maximum length of a quoted builder error, in characters."""
_SHOWN = 4
"""Maximum number of shapes in a message."""


def notes(result: DryBuildResult) -> tuple[str, ...]:
    """Return sentences about the end of a dry build: success, errors, a crash or a limit."""
    return tuple(_notes(result))


def _notes(result: DryBuildResult) -> Iterator[str]:
    yield f"{result.label}: {_unfit(result) if result.unfit else _outcome(result) + _shapes(result)}"
    if result.asked_sm is not None and result.asked_sm != result.sm:
        yield (
            f"TensorRT-RTX {result.version} cannot build for {sm_words(result.asked_sm)} without a "
            f"GPU of this SM; the dry build uses {sm_words(result.sm)}, the nearest supported SM"
        )
    if result.network is not None:
        yield f"comparison with ONNX, TensorRT-RTX {result.network.release}: {_agreement(result.network)}"
    if result.zeros:
        yield f"{result.label}: zeros replace the weights in {', '.join(result.zeros)}"


def _agreement(found: Agreement) -> str:
    if found.reason:
        return f"nothing was compared: {found.reason}"
    count = len(found.differences)
    first = f"{count} {'tensor differs' if count == 1 else 'tensors differ'}" if count else ""
    parts = [first or ("no tensor differs" if found.compared else "nothing was compared"), _compared(found)]
    parts += [f"not computed: {each.reason} ({each.tensors})" for each in found.reasons[:_SHOWN]]
    if found.unclear:
        named = ", ".join(f"{each.op} {each.tensor}" for each in found.unclear[:_SHOWN])
        parts.append(
            f"the ONNX specification is unclear for {named}: ONNX Runtime and ONNX's "
            "reference evaluator compute different results"
        )
    parts += [f"documented deviation: {each}" for each in found.deviations]
    if found.widened:
        parts.append("ONNX Runtime computed the 16-bit operators in FP32")
    return "; ".join(parts)


def _compared(found: Agreement) -> str:
    """Describe how many tensors were compared, such as ``compared 113 of 150 tensors by name; ...``."""
    words = f"compared {found.compared} of {found.tensors} tensors by name"
    if found.unnamed:
        words += f"; {found.unnamed} {'has' if found.unnamed == 1 else 'have'} no name in the network"
    if found.uncomputed:
        words += f"; {found.uncomputed} not computed"
    sets = "set" if found.sets == 1 else "sets"
    kind = {"made": "random ", "probe": "probing "}.get(found.inputs, "")
    return f"{words} ({found.sets} {sets} of {kind}inputs)"


def _unfit(result: DryBuildResult) -> str:
    """Describe a build that failed with all input sizes: its first error, and the option that sets sizes."""
    chosen = [shape for shape in result.shapes if shape.chosen]
    options = " ".join(f"--shapes {shape.name}:..." for shape in chosen[:_SHOWN])
    first = ", ".join(shape.words for shape in chosen[:_SHOWN])
    quoted = result.unfit if len(result.unfit) <= _LONGEST else f"{result.unfit[: _LONGEST - 3]}..."
    return (
        f"the parser accepts the model, but the builder rejects all {result.tried} choices of input "
        f"sizes that trtlint tried (first choice: {first}; error: {quoted}); to test valid "
        f"sizes, use {options}"
    )


def _outcome(result: DryBuildResult) -> str:
    where = {"load": "before the parser", "parse": "in the parser", "build": "in the builder"}[result.stage]
    if result.cause == "crashed":
        return f"crashed {where} ({result.signal})"
    if result.cause == "time":
        return f"stopped {where} after {result.seconds:.0f} s"
    if result.cause == "memory":
        return f"stopped {where} at the memory limit"
    if result.cause == "failed":
        return f"the process ended {where} without a result"
    if result.parsed is False:
        return "the parser rejects the model"
    if result.built is None:
        return "the parser accepts the model"
    return "built" if result.built else "the builder rejects the model"


def _shapes(result: DryBuildResult) -> str:
    if not result.shapes:
        return ""
    named = first_few([shape.words for shape in result.shapes], _SHOWN)
    if not any(shape.chosen for shape in result.shapes):
        return f", for {named}"
    other = "the builder may fuse other layers" if result.built else "the result may differ"
    return f", for {named} (default input shapes; with other shapes, {other})"
