"""Run Torch-TensorRT on a program in a separate process with limits."""

from __future__ import annotations

import tempfile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from trtlint.knowledge.rtx import nearest_first
from trtlint.knowledge.torchreleases import torch_release
from trtlint.process.spawn import Limits, run
from trtlint.torch_tensorrt.options import RunOptions
from trtlint.torch_tensorrt.result import DryRun, result_of

UNTRUSTED = (
    "no dry run of Torch-TensorRT: torch.export.load can run code from the program file; if you "
    "trust the file, use --trust-pickle"
)
OLDEST = 6
"""Minor number of the first Torch-TensorRT release whose networks TensorRT-RTX supports."""
USUAL = Limits(seconds=600.0, memory=16 << 30)


class TorchRequest(Struct, frozen=True):
    """Settings of a dry run of Torch-TensorRT.

    Attributes:
        release: the release of Torch-TensorRT.
        sm: compute capability of the GPU, times ten; None if unspecified. If the installed TensorRT-RTX
            cannot build for this GPU, it builds for the nearest supported GPU.
        python: the Python interpreter to run; None for this interpreter.
        wheel: the folder with an unpacked wheel; None for the installed wheel.
        options: keyword arguments of the compiler.
        build: true to build the networks.
        trusted: true if the user allows ``torch.export.load``. This function can run code from the program.
        limits: limits of the process.
    """

    release: str
    sm: int | None = None
    python: str | None = None
    wheel: str | None = None
    options: RunOptions = RunOptions({})
    build: bool = True
    trusted: bool = False
    limits: Limits = USUAL


def ask(program: Path, request: TorchRequest) -> DryRun:
    """Run Torch-TensorRT on a program, and return the result, which includes any error."""
    if not request.trusted:
        return DryRun(unasked=UNTRUSTED)
    release = torch_release(request.release)
    if release.minor < OLDEST:
        return DryRun(unasked=f"trtlint cannot run Torch-TensorRT {release.line}; use 2.{OLDEST} or newer")
    order = {
        "program": str(program.absolute()),
        "release": release.version,
        "tensorrt": release.tensorrt,
        "sms": nearest_first(request.sm),
        "wheel": request.wheel,
        "options": dict(request.options.values),
        "build": request.build,
    }
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as scratch:
        log = Path(scratch, "torch.log")
        try:
            ended = run(
                "trtlint.torch_tensorrt._dryrun", order, request.limits, log=log, executable=request.python
            )
        except OSError as error:
            return DryRun(unasked=f"{request.python} cannot be run: {error.strerror or error}")
        words = "" if ended.cause == "done" else ended.words
        if words and not ended.answers:
            words += _last_line(log)
    found = result_of(ended.answers, words, ended.seconds, ended.peak)
    return replace(found, dropped=request.options.dropped)


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    said = [line.strip() for line in lines if line.strip()]
    return f" ({said[-1][:200]})" if said else ""
