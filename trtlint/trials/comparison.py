"""A rewritten model against its source, computed in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

from trtlint.lean import dataclass
from trtlint.trials.inputs import Inputs, InputsError
from trtlint.trials.process import Limits, machine_memory, run

_MOST_MEMORY = 16 << 30
_NEEDED = ("polygraphy", "onnxruntime")
MISSING = "polygraphy and onnxruntime are needed: pip install 'trtlint[verify]'"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing two models found.

    Attributes:
        equal: whether all outputs agree; None where it could not be told.
        words: the figures, or why there are none.
        sets: how many sets of inputs were run.
        difference: the largest absolute difference.
    """

    equal: bool | None
    words: str
    sets: int = 0
    difference: float = 0.0


def available() -> bool:
    """Whether what a comparison needs is installed."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def compare(
    before: Path,
    after: Path,
    inputs: Inputs | None = None,
    limits: Limits | None = None,
    *,
    wide: bool = False,
    mended: bool = False,
    keyed: bool = False,
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

    Raises:
        InputsError: the inputs cannot be used.
    """
    if not available():
        return Comparison(None, MISSING)
    given = inputs or Inputs()
    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        request = {
            "before": os.path.realpath(before),
            "after": os.path.realpath(after),
            **given.request,
            "folder": folder,
            "wide": wide,
            "mended": mended,
            "keyed": keyed,
        }
        allowed = limits or Limits(600.0, min(_MOST_MEMORY, machine_memory() * 3 // 4))
        ended = run("trtlint.trials._compare", request, allowed)
        if ended.cause == "crashed" and not wide:  # its kernels for FP16 do so on some models
            ended = run("trtlint.trials._compare", request | {"wide": True}, allowed)
    answer = ended.answers[-1] if ended.answers else {}
    if "inputs" in answer:
        raise InputsError(given.named(answer["inputs"]))
    # The copies that were made for it are of no use to anyone.
    said = {
        kind: str(answer[kind]).replace(f"{folder}{os.sep}", "")
        for kind in ("error", "broken") & answer.keys()
    }
    if "error" in said:
        return Comparison(None, said["error"])
    if "broken" in said:
        return Comparison(False, f"the source runs, and the rewritten model does not: {said['broken']}")
    if "equal" not in answer:
        return Comparison(None, f"the process of ONNX Runtime {ended.words}")
    sets, difference = int(answer["sets"]), float(answer["largest_difference"])
    where = "ONNX's reference" if answer["reference"] else "ONNX Runtime"
    words = (
        f"{sets} {'set' if sets == 1 else 'sets'} of inputs in {where}, largest difference {difference:.1e}"
    )
    if answer["reference"]:
        words += ", as ONNX Runtime does not run the source"
    elif wide:
        words += ", both in FP32"
    elif answer["widened"]:
        words += ", both in FP32, as ONNX Runtime does not run the types of the source"
    return Comparison(bool(answer["equal"]), words, sets, difference)
