"""Compare rewritten models with their originals, in a separate process."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, field, to_builtins
from msgspec.structs import replace

from trtlint.files.limits import FOR_THE_END, FOR_THE_WHOLE, amount, current
from trtlint.knowledge.extras import how_to_install
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.process.spawn import Limits, ProcessResult, machine_memory, run

_MOST_MEMORY = 16 << 30
_SECONDS = 600.0
_PATIENCE = 4
"""Ratio of the wall-clock limit to the CPU limit of a comparison. On a busy machine, runs take longer."""

Times = tuple[tuple[float, ...], tuple[float, ...]]
"""Seconds of each run of the original model, and seconds of each run of the rewritten model."""


class Pair(Struct, frozen=True):
    """An original model, the rewritten model, and the settings of the comparison.

    Attributes:
        before: file of the original model.
        after: file of the rewritten model.
        inputs: the inputs for both models; empty to let trtlint generate random inputs.
        drawn: true if trtlint generated ``inputs``.
        wide: true to compute in FP32 instead of 16-bit types.
        ignore_nan: true if elements that are NaN in ``before`` may have any value in ``after``.
        keep_a_key: true if each row of a random attention mask must allow at least one key.
        timed: true to measure the run times of both models.
    """

    before: Path
    after: Path
    inputs: Inputs = Inputs()
    drawn: bool = False
    wide: bool = False
    ignore_nan: bool = False
    keep_a_key: bool = False
    timed: bool = False

    @property
    def request(self) -> dict[str, Any]:
        """Return the pair as JSON data with absolute paths, for a process in another folder."""
        before, after = (Path(os.path.realpath(model)) for model in (self.before, self.after))
        pair = replace(self, before=before, after=after, inputs=self.inputs.absolute)
        data: dict[str, Any] = to_builtins(pair, enc_hook=str)
        return data

    @classmethod
    def from_request(cls, request: Mapping[str, Any]) -> Pair:
        """Return the pair of a :attr:`request`."""
        return convert(request, cls, dec_hook=lambda _, path: Path(path))


class Comparison(Struct, frozen=True):
    """Result of comparing two models.

    Attributes:
        equal: true if the outputs of the rewritten model are the same or better; None if unknown.
        words: the result in words, or the reason why nothing was compared.
        sets: number of sets of inputs.
        difference: largest absolute difference of elements that are finite in both models.
        lost: number of elements that are finite only in the original model.
        gained: number of elements that are finite only in the rewritten model.
        times: run times of both models in ONNX Runtime; empty if not measured.
        blank: the outputs of the original model that are empty or 0 for all inputs, each with the reason.
            Such outputs do not show that the models are equal.
    """

    equal: bool | None
    words: str
    sets: int = 0
    difference: float = 0.0
    lost: int = 0
    gained: int = 0
    times: Times = ((), ())
    blank: Mapping[str, str] = field(default_factory=dict)


def available() -> bool:
    """Return whether the packages for a comparison are installed."""
    return importlib.util.find_spec("onnxruntime") is not None


def missing() -> str:
    """Return the message that a package is missing, with the command that installs it."""
    return f"onnxruntime is needed: {how_to_install('verify')}"


def usual_limits(*, part: bool = False) -> Limits:
    """Return the default limits of time and memory.

    Inside :func:`~trtlint.files.limits.limit_work`, the comparison gets the time and memory that are left for
    the file. Otherwise, the limits are fixed.

    Args:
        part: true if only a part of the model is compared. Then some time is reserved for comparing the
            whole model.
    """
    allowance = current()
    if allowance is None:
        return Limits(_SECONDS, min(_MOST_MEMORY, machine_memory() * 3 // 4))
    left = max(0.0, allowance.left_but(FOR_THE_WHOLE if part else FOR_THE_END))
    return Limits(min(_SECONDS, _PATIENCE * left), allowance.memory, left)


def compare(pair: Pair) -> Comparison:
    """Run two models on the same inputs and compare all outputs.

    Raises:
        InputsError: the inputs are invalid.
    """
    (found,) = compare_all([pair])
    if isinstance(found, InputsError):
        raise found
    return found


def compare_all(pairs: Sequence[Pair], limits: Limits | None = None) -> Iterator[Comparison | InputsError]:
    """Yield the result for each pair. After a crash, a new process compares the remaining pairs.

    Args:
        pairs: the models to compare.
        limits: time of all processes together, and memory of each process; by default :func:`usual_limits`.
    """
    if not available():
        yield from [Comparison(None, missing())] * len(pairs)
        return
    allowed = limits or usual_limits()
    left, rest = list(pairs), allowed
    while left and rest.seconds > 0:
        with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
            ended, rest = _run(left, folder, rest)
            for pair, answer in zip(left, ended.answers, strict=False):
                yield _comparison(answer, pair, folder)
            left = left[len(ended.answers) :]
            failed, left = left[:1], left[1:]
            if failed and ended.cause == "crashed" and not failed[0].wide and rest.seconds > 0:
                # FP16 kernels of ONNX Runtime crash on some models.
                again = replace(failed[0], wide=True)
                ended, rest = _run([again], folder, rest)
                yield from (_comparison(answer, again, folder) for answer in ended.answers)
                failed = failed[len(ended.answers) :]
            if failed:
                yield Comparison(None, _reason(ended, allowed))
    yield from [Comparison(None, _over_time(allowed))] * len(left)


def _run(pairs: Sequence[Pair], folder: str, limits: Limits) -> tuple[ProcessResult, Limits]:
    """Compare pairs in one process. Return the result of the process and the remaining limits."""
    request = {"pairs": [pair.request for pair in pairs], "folder": folder, "memory": limits.memory}
    ended = run("trtlint.compare._compare", request, limits)
    if allowance := current():
        allowance.charge(ended.processor)
    seconds, processor = limits.seconds - ended.seconds, limits.processor
    if processor:
        processor -= ended.processor
        seconds = seconds if processor > 0 else 0.0
    return ended, Limits(seconds, limits.memory, processor)


def _reason(ended: ProcessResult, allowed: Limits) -> str:
    if ended.cause == "time":
        return _over_time(allowed)
    if ended.cause == "memory":
        return f"the comparison exceeded the memory limit of {amount(allowed.memory)}"
    return f"the process that ran ONNX Runtime {ended.words}"


def _over_time(allowed: Limits) -> str:
    if allowance := current():
        return f"the comparison exceeded {allowance.words}"
    return f"the comparison exceeded the limit of {allowed.seconds:.0f} s"


def _comparison(answer: dict[str, Any], pair: Pair, folder: str) -> Comparison | InputsError:
    """Convert the answer of the comparison process for one pair to a result."""
    if "inputs" in answer:
        return InputsError(pair.inputs.named(answer["inputs"]))
    # Strip the folder of the temporary copies, which no longer exists.
    messages = {
        kind: str(answer[kind]).replace(f"{folder}{os.sep}", "")
        for kind in ("error", "broken") & answer.keys()
    }
    if "error" in messages:
        return Comparison(None, messages["error"])
    if "broken" in messages:
        return Comparison(
            False, f"the source model runs, but the rewritten model fails: {messages['broken']}"
        )
    words = _figures(answer, "your" if pair.inputs.names and not pair.drawn else "random")
    if answer["reference"]:
        words += ", because ONNX Runtime does not run the source model"
    elif pair.wide:
        words += ", both in FP32"
    elif answer["widened"]:
        words += ", both in FP32, because ONNX Runtime lacks kernels for the types of the source model"
    equal, unsure = bool(answer["equal"]), int(answer["unsure"])
    if equal and unsure:
        words += (
            f"; {_elements(unsure)} changed from infinity to a finite number, and a run in "
            "FP64 does not show that they should be finite"
        )
    first, second = answer.get("times") or ((), ())
    return Comparison(
        None if equal and unsure else equal,
        words,
        int(answer["sets"]),
        float(answer["largest_difference"]),
        int(answer["lost"]),
        int(answer["gained"]),
        (tuple(first), tuple(second)),
        answer.get("blank", {}),
    )


def _figures(answer: dict[str, Any], whose: str) -> str:
    """Describe the numbers of a comparison in words.

    Args:
        answer: the answer of the comparison process.
        whose: ``your`` or ``random``, to describe the inputs.
    """
    sets = int(answer["sets"])
    where = "ONNX's reference" if answer["reference"] else "ONNX Runtime"
    words = f"largest difference {float(answer['largest_difference']):.1e} on "
    words += f"{sets} {'set' if sets == 1 else 'sets'} of {whose} inputs in {where}"
    if answer["shape"]:
        words += f", output {answer['shape']!r} is missing or has a different shape"
    if lost := int(answer["lost"]):
        words += f", {_elements(lost)} changed from finite to infinity or NaN"
    if changed := int(answer["changed"]):
        words += f", {_elements(changed)} changed, with no finite value in either model"
    if gained := int(answer["gained"]):
        words += f", {_elements(gained)} newly finite"
    return words


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count:,} elements"
