"""Measure a model in a process of its own: ranges in FP32, and what the narrow type does to the outputs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from trtlint.trials.measurement import Measurement, from_data
from trtlint.trials.process import Limits, run

INSTALL = "pip install 'trtlint[measure]'"
_WORK = "trtlint.trials.measuring"
_DAY = 86_400.0
_LEAST_MEMORY = 4 << 30
_TAIL = 400


class MeasureError(Exception):
    """A model that cannot be measured; the text says why."""


class InputsError(MeasureError):
    """Inputs that cannot be used."""


class MissingRuntimeError(MeasureError):
    """ONNX Runtime is not installed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure.

    Attributes:
        model: the file.
        name: the file as the user named it.
        files: ``.npz`` files, a batch each.
        lists: Polygraphy's JSON files.
        script: ``file.py:function``, whose code is run; None for none.
        type: ``fp16`` or ``bf16``; a file that keeps tensors in 16 bits itself says which.
        rehearse: whether to compute the outputs in the narrow type.
        batches: how many batches to use at most; of made-up inputs, how many to make.
        bound: the error that is still good.
    """

    model: str
    name: str
    files: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    script: str | None = None
    type: str = "fp16"
    rehearse: bool = True
    batches: int | None = None
    bound: float = 1e-2


def measure(
    request: Request, limits: Limits | None = None, listen: Callable[[str], None] | None = None
) -> Measurement:
    """Measure a model.

    Args:
        request: what to measure; its paths are taken from the current folder.
        limits: what the process may take; a day and the machine's memory if left out.
        listen: is told what is being done.

    Raises:
        MissingRuntimeError: ONNX Runtime is not there.
        InputsError: the inputs cannot be used.
        MeasureError: the model cannot be measured.
    """
    if find_spec("onnxruntime") is None:
        raise MissingRuntimeError(f"measuring needs ONNX Runtime: {INSTALL}")

    def hear(answer: Any) -> None:
        if listen is not None and "doing" in answer:
            listen(answer["doing"])

    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        log = Path(folder, "log")
        paths = (str(Path.cwd()),) if request.script is not None else ()
        ended = run(
            _WORK, _absolute(request), limits or Limits(_DAY, _memory()), log=log, paths=paths, listen=hear
        )
        last = ended.answers[-1] if ended.answers else {}
        if "measurement" in last:
            found = from_data(last["measurement"])
            return replace(found, files=tuple(_named(file, request) for file in found.files))
        if last.get("error") == "inputs":
            raise InputsError(_named(last["text"], request))
        if "error" in last:
            raise MeasureError(last["text"])
        said = log.read_bytes()[-_TAIL:].decode("utf-8", "replace").strip().splitlines()
    reason = f": {said[-1].strip()}" if said and ended.cause == "failed" else ""
    raise MeasureError(f"the process that ran it {ended.words}{reason}")


def _absolute(request: Request) -> dict[str, Any]:
    """The request for a process with another current folder."""

    def whole(paths: Sequence[str]) -> list[str]:
        return [os.path.abspath(path) for path in paths]  # noqa: PTH100 - links and `:function` stay

    script = None if request.script is None else whole([request.script])[0]
    found = {**asdict(request), "files": whole(request.files), "lists": whole(request.lists)}
    return {**found, "model": whole([request.model])[0], "script": script}


def _named(text: str, request: Request) -> str:
    """A text with files as the user named them."""
    given = [*request.files, *request.lists, *([] if request.script is None else [request.script])]
    for name in given:
        text = text.replace(os.path.abspath(name), name)  # noqa: PTH100
    return text


def _memory() -> int:
    """Bytes of memory of this machine."""
    try:
        return max(_LEAST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return _LEAST_MEMORY
