"""Start a process that compares an ONNX model with the network that TensorRT's parser makes from it."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from msgspec import Struct, convert, to_builtins

from trtlint.dry_build.agreement import PROBE, Agreement
from trtlint.dry_build.wheels import HIDE_GPUS, Wheels
from trtlint.files.regular import open_regular
from trtlint.knowledge.extras import how_to_install
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.process.spawn import Limits, ProcessResult, run

_WORK = "trtlint.network.child"
_MOST_FILES = 1024
_SHAPES = tuple[tuple[str, tuple[int, ...]], ...]


class CompareRequest(Struct, frozen=True):
    """The inputs of a comparison.

    Attributes:
        inputs: the ``.npz`` files of the user; empty if trtlint generates the inputs.
        probe: whether to also generate edge cases, such as zeros.
        shapes: shapes of generated inputs, by input name.
    """

    inputs: tuple[str, ...] = ()
    probe: bool = False
    shapes: _SHAPES = ()

    @property
    def kind(self) -> str:
        """Return the kind of the inputs: ``given`` by the user, ``made`` by trtlint, or :data:`PROBE`."""
        return "given" if self.inputs else PROBE if self.probe else "made"


def request_of(values: tuple[str, ...], shapes: _SHAPES = ()) -> CompareRequest:
    """Parse the arguments ``values`` of the option ``--compare``.

    ``shapes`` are the shapes of generated inputs, by input name.

    Raises:
        InputsError: a file or a folder cannot be used.
    """
    if PROBE in values and set(values) - {"", PROBE}:
        raise InputsError(f"{PROBE} generates inputs, but input files are given as well; omit one of the two")
    files: list[str] = []
    for value in (value for value in values if value not in ("", PROBE)):
        path = Path(value)
        found = sorted(map(str, path.glob("*.npz"))) if path.is_dir() else [value]
        if not found:
            raise InputsError(f"{value}: the folder has no .npz file")
        files += found
    if len(files) > _MOST_FILES:
        raise InputsError(f"a comparison takes at most {_MOST_FILES} files with inputs")
    inputs = Inputs(tuple(files))
    inputs.require()
    for file in files:
        with open_regular(Path(file)) as content:
            if not zipfile.is_zipfile(content):
                raise InputsError(f"{file}: not an .npz file of arrays")
    return CompareRequest(tuple(files), PROBE in values, shapes)


def compare_network(
    model: Path,
    request: CompareRequest,
    wheels: Wheels,
    limits: Limits,
    listen: Callable[[float], None] | None = None,
) -> Agreement:
    """Compare a model with the network that the installed parser makes from it.

    Args:
        model: the path of the model.
        request: the inputs of the comparison.
        wheels: the wheels that contain the parser.
        limits: limits for the time and memory of the process.
        listen: function that receives the finished share of the work, 0 to 1.

    Raises:
        InputsError: the inputs of the user do not match the model.
    """
    if find_spec("onnxruntime") is None:
        return Agreement(
            wheels.version, reason=f"a comparison needs ONNX Runtime: {how_to_install('verify')}"
        )
    inputs = Inputs(request.inputs)
    document = {
        "model": os.path.abspath(model),  # noqa: PTH100 - keeps symbolic links
        **to_builtins(inputs.absolute),
        "probe": request.probe,
        "shapes": dict(request.shapes),
    }

    def hear(answer: Any) -> None:
        if listen is not None and "done" in answer:
            listen(float(answer["done"]))

    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        ended = run(
            _WORK,
            document,
            limits,
            log=Path(folder, "log"),
            paths=(wheels.folder,),
            environment=HIDE_GPUS,
            listen=hear,
        )
    return _agreement(ended, request, inputs, wheels, limits)


def _agreement(
    ended: ProcessResult, request: CompareRequest, inputs: Inputs, wheels: Wheels, limits: Limits
) -> Agreement:
    last = ended.answers[-1] if ended.answers else {}
    known: dict[str, Any] = {"release": wheels.version, "inputs": request.kind, "peak": ended.peak}
    if "agreement" in last:
        return convert({**last["agreement"], **known}, Agreement)
    if "inputs" in last:
        raise InputsError(inputs.named(str(last["inputs"])))
    if "reason" in last:
        reason = inputs.named(str(last["reason"]))
    elif "memory" in last or ended.cause == "memory":
        size = f"{limits.memory / (1 << 30):.3g} GB"
        reason = f"the comparison needs more than {size}; raise the limit with --dry-build-memory"
    elif ended.cause == "time":
        reason = (
            f"the comparison needs more than {limits.seconds:.0f} s; raise the limit with --dry-build-seconds"
        )
    else:
        reason = f"the process {ended.words}"
    return Agreement(**known, reason=reason, seconds=ended.seconds)
