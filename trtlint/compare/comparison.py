"""Rewritten models against their sources, computed in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trtlint.files.limits import FOR_THE_END, FOR_THE_WHOLE, amount, current
from trtlint.lean import dataclass
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.process.spawn import Limits, ProcessResult, machine_memory, run

_MOST_MEMORY = 16 << 30
_SECONDS = 600.0
_PATIENCE = 4
"""How many times as long as its processor time a comparison may take on a machine that is busy."""
MISSING = "onnxruntime is needed: pip install 'trtlint[verify]'"

Times = tuple[tuple[float, ...], tuple[float, ...]]
"""Seconds that each run of a model took, and those of its rewritten form."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A model, its rewritten form, and what to run both on.

    Attributes:
        before: the model.
        after: its rewritten form.
        inputs: the user's inputs; made-up ones where there are none.
    """

    before: Path
    after: Path
    inputs: Inputs = Inputs()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing two models found.

    Attributes:
        equal: whether all outputs are the same or better; None where it could not be told.
        words: the figures, or why there are none.
        sets: how many sets of inputs were run.
        difference: the largest absolute difference of elements that are finite in both.
        lost: elements that were finite and are not.
        gained: elements that were not finite and are.
        times: the times of both in ONNX Runtime; none where they were not measured.
    """

    equal: bool | None
    words: str
    sets: int = 0
    difference: float = 0.0
    lost: int = 0
    gained: int = 0
    times: Times = ((), ())


def available() -> bool:
    """Whether what a comparison needs is installed."""
    return importlib.util.find_spec("onnxruntime") is not None


def usual_limits(*, part: bool = False) -> Limits:
    """What comparisons may take: what is left to the work on a file, or what no comparison exceeds.

    Args:
        part: whether a single rewrite is compared, and the whole model is to be later.
    """
    allowance = current()
    if allowance is None:
        return Limits(_SECONDS, min(_MOST_MEMORY, machine_memory() * 3 // 4))
    left = max(0.0, allowance.left_but(FOR_THE_WHOLE if part else FOR_THE_END))
    return Limits(min(_SECONDS, _PATIENCE * left), allowance.memory, left)


def compare(
    before: Path,
    after: Path,
    inputs: Inputs | None = None,
    limits: Limits | None = None,
    *,
    wide: bool = False,
    mended: bool = False,
    keyed: bool = False,
    timed: bool = False,
) -> Comparison:
    """Run two models on the same inputs and compare all outputs.

    Args:
        before: the model.
        after: its rewritten form.
        inputs: what to run them on.
        limits: what the process may take.
        wide: whether both compute in FP32 what they compute in 16 bits.
        mended: whether what was NaN may be a number.
        keyed: whether they are to be the same only where a mask leaves every row a key; holds for inputs
            that are made up.
        timed: whether to measure the time of both as well.

    Raises:
        InputsError: the inputs cannot be used.
    """
    pair = Pair(before, after, inputs or Inputs())
    (found,) = compare_all([pair], limits, wide=wide, mended=mended, keyed=keyed, timed=timed)
    if isinstance(found, InputsError):
        raise found
    return found


def compare_all(
    pairs: Sequence[Pair],
    limits: Limits | None = None,
    *,
    wide: bool = False,
    mended: bool = False,
    keyed: bool = False,
    timed: bool = False,
) -> Iterator[Comparison | InputsError]:
    """Compare pair after pair, in one process as long as none ends it.

    Args:
        pairs: what to compare.
        limits: what all processes together may take, in time, and each of them, in memory; by default what
            :func:`usual_limits` says.
        wide: as of :func:`compare`; so are the others.
        mended: as well.
        keyed: as well.
        timed: as well.
    """
    if not available():
        yield from [Comparison(None, MISSING)] * len(pairs)
        return
    allowed = limits or usual_limits()
    settings = {"mended": mended, "keyed": keyed, "timed": timed, "memory": allowed.memory}
    left, rest = list(pairs), allowed
    while left and rest.seconds > 0:
        with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
            request = {**settings, "folder": folder, "wide": wide}
            ended, rest = _run(left, request, rest)
            for pair, answer in zip(left, ended.answers, strict=False):
                yield _comparison(answer, pair, folder, wide=wide)
            left = left[len(ended.answers) :]
            failed, left = left[:1], left[1:]
            if failed and ended.cause == "crashed" and not wide and rest.seconds > 0:
                # The kernels of ONNX Runtime for FP16 crash on some models.
                ended, rest = _run(failed, {**request, "wide": True}, rest)
                yield from (_comparison(answer, failed[0], folder, wide=True) for answer in ended.answers)
                failed = failed[len(ended.answers) :]
            if failed:
                yield Comparison(None, _reason(ended, allowed))
    yield from [Comparison(None, _over_time(allowed))] * len(left)


def _run(pairs: Sequence[Pair], request: dict[str, Any], limits: Limits) -> tuple[ProcessResult, Limits]:
    """Compare pairs in one process; also gives what is left of the limits."""
    named = [
        {
            "before": os.path.realpath(pair.before),
            "after": os.path.realpath(pair.after),
            **pair.inputs.request,
        }
        for pair in pairs
    ]
    ended = run("trtlint.compare._compare", {**request, "pairs": named}, limits)
    if allowance := current():
        allowance.charge(ended.processor)
    seconds, processor = limits.seconds - ended.seconds, limits.processor
    if processor:
        processor -= ended.processor
        seconds = seconds if processor > 0 else 0.0
    return ended, Limits(seconds, limits.memory, processor)


def _reason(ended: ProcessResult, allowed: Limits) -> str:
    """Why a process gave no answer."""
    if ended.cause == "time":
        return _over_time(allowed)
    if ended.cause == "memory":
        return f"comparing it exceeded the limit of {amount(allowed.memory)} of memory"
    return f"the process of ONNX Runtime {ended.words}"


def _over_time(allowed: Limits) -> str:
    if allowance := current():
        return f"comparing it exceeded {allowance.words}"
    return f"comparing it exceeded the limit of {allowed.seconds:.0f} s"


def _comparison(answer: dict[str, Any], pair: Pair, folder: str, *, wide: bool) -> Comparison | InputsError:
    """The answer of the process in words."""
    if "inputs" in answer:
        return InputsError(pair.inputs.named(answer["inputs"]))
    # The copies that were made for it are of no use to anyone.
    said = {
        kind: str(answer[kind]).replace(f"{folder}{os.sep}", "")
        for kind in ("error", "broken") & answer.keys()
    }
    if "error" in said:
        return Comparison(None, said["error"])
    if "broken" in said:
        return Comparison(False, f"the source runs, and the rewritten model does not: {said['broken']}")
    words = _figures(answer)
    if answer["reference"]:
        words += ", as ONNX Runtime does not run the source"
    elif wide:
        words += ", both in FP32"
    elif answer["widened"]:
        words += ", both in FP32, as ONNX Runtime does not run the types of the source"
    equal, unsure = bool(answer["equal"]), int(answer["unsure"])
    if equal and unsure:
        words += f"; FP64 does not show that {_elements(unsure)} should be finite"
    first, second = answer.get("times") or ((), ())
    return Comparison(
        None if equal and unsure else equal,
        words,
        int(answer["sets"]),
        float(answer["largest_difference"]),
        int(answer["lost"]),
        int(answer["gained"]),
        (tuple(first), tuple(second)),
    )


def _figures(answer: dict[str, Any]) -> str:
    """The figures of a comparison, those that make it worse first."""
    sets = int(answer["sets"])
    where = "ONNX's reference" if answer["reference"] else "ONNX Runtime"
    words = f"{sets} {'set' if sets == 1 else 'sets'} of inputs in {where}"
    if answer["shape"]:
        words += f", output {answer['shape']!r} has another shape"
    if lost := int(answer["lost"]):
        words += f", {_elements(lost)} no longer finite"
    if changed := int(answer["changed"]):
        words += f", {_elements(changed)} changed from or to infinity or NaN"
    if gained := int(answer["gained"]):
        words += f", {_elements(gained)} finite now and not before"
    return f"{words}, largest difference {float(answer['largest_difference']):.1e}"


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count:,} elements"
