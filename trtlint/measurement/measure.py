"""Measure a model in a separate process: tensor ranges in FP32, and output errors in a low-precision type."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from trtlint.errors import ExperimentError
from trtlint.knowledge.extras import how_to_install
from trtlint.measurement.fusion import FusedLayers
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.measurement.measurement import Measurement, from_data
from trtlint.process.spawn import Limits, machine_memory, run

if TYPE_CHECKING:
    from trtlint.model.load import Model

ALL = "all"
"""The value of ``--type`` for all types.

Tensor ranges are measured for FP16, or for the type of a 16-bit file. For the remaining types, trtlint
computes only output errors.
"""
_WORK = "trtlint.measurement.measuring"
_SECONDS = 600.0
"""Default limit of wall time in seconds.  A time that depends on the size of the weights is added.

The limit is generous, because the time to compute the activations is unknown.
"""
_SECONDS_PER_BYTE = 0.25 / (1 << 20)
_MEMORY = 8 << 30
"""Default limit of memory in bytes.  The memory for the weights is added."""
_MEMORY_PER_BYTE = 8
"""Bytes of memory that each byte of weights adds to the limit.

The memory is for the weights in FP32, copies of the largest weight, and activations.
"""
_MOST_BYTES = 64 << 30
"""Size of a model, in bytes, up to which the limits grow with the size.

This cap is needed, because a sparse file can claim any size.
"""
_TAIL = 400


class FailedMeasurementError(ExperimentError):
    """Error: the measurement of a model failed.  The message is the reason."""


class MissingRuntimeError(FailedMeasurementError):
    """Error: ONNX Runtime is not installed."""


class MeasurementRequest(Struct, frozen=True):
    """Request to measure a model.

    Attributes:
        model: the file.
        name: the file as the user named it.
        inputs: the input files.
        type: ``fp16``, ``bf16``, ``tf32`` or ``all``.  For a file with 16-bit types, ``fp16`` and ``bf16``
            both mean the type of the file.
        rehearse: true to simulate the model in the low-precision type.
        batches: largest number of batches; for generated inputs, the number of batches.
        bound: largest allowed error of an output.
        thorough: true to raise the limits of runs and time for the search for nodes to keep in FP32.
        layers: the layers of a build of the model; None if they are unknown.
    """

    model: str
    name: str
    inputs: Inputs = Inputs()
    type: str = "fp16"
    rehearse: bool = True
    batches: int | None = None
    bound: float = 1e-2
    thorough: bool = False
    layers: FusedLayers | None = None

    @property
    def document(self) -> dict[str, Any]:
        """Return the request with absolute paths, as JSON data for a process in another folder."""
        model = os.path.abspath(self.model)  # noqa: PTH100 - links stay
        data: dict[str, Any] = to_builtins(replace(self, inputs=self.inputs.absolute, model=model))
        return data


def usual_limits(size: int) -> Limits:
    """Return the default limits of time and memory for a measurement.

    Args:
        size: size of the model in bytes, including its external data.
    """
    counted = min(size, _MOST_BYTES)
    memory = min(_MEMORY + _MEMORY_PER_BYTE * counted, machine_memory() * 3 // 4)
    return Limits(_SECONDS + _SECONDS_PER_BYTE * counted, memory)


def limits_for(model: Model, seconds: float | None = None, memory: int | None = None) -> Limits:
    """Return the limits of time and memory for a measurement.

    Args:
        model: the model. Its size decides each limit that the caller does not set.
        seconds: the limit of time; None for the default.
        memory: the limit of memory in bytes; None for the default.
    """
    tensors = model.tensors
    files = (tensors.file_of(location) for location in tensors.locations)
    usual = usual_limits(tensors.size + sum(size for _, size in filter(None, files)))
    return Limits(seconds or usual.seconds, memory or usual.memory)


def measure(
    request: MeasurementRequest,
    limits: Limits | None = None,
    progress: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> Measurement:
    """Measure a model in a separate process.

    Args:
        request: the model and settings.  Paths are relative to the current folder.
        limits: time and memory of the process; by default the limits for a model without weights.
        progress: function that receives the current step under the key ``doing``. In a search, the key
            ``run`` has the number of the current run, and ``most`` has the largest number of runs.

    Raises:
        MissingRuntimeError: ONNX Runtime is not installed.
        InputsError: the inputs cannot be used.
        FailedMeasurementError: the model cannot be measured.
    """
    if find_spec("onnxruntime") is None:
        raise MissingRuntimeError(f"measuring needs ONNX Runtime: {how_to_install('measure')}")

    inputs = request.inputs
    found = from_data(run_model(_WORK, request.document, limits or usual_limits(0), inputs, progress))
    return replace(found, files=tuple(map(inputs.named, found.files)))


def run_model(
    module: str,
    request: Any,
    limits: Limits,
    inputs: Inputs,
    progress: Callable[[Mapping[str, Any]], None],
) -> Any:
    """Run a model in a separate process, and return the result of the process as JSON data.

    Args:
        module: full name of the module that runs the model. It sends its result with
            :func:`trtlint.measurement.measuring.send_result`.
        request: JSON data for the module, with absolute paths.
        limits: time and memory of the process.
        inputs: the inputs as the user named them. Error messages use these names.
        progress: function that receives the current step under the key ``doing``.

    Raises:
        InputsError: the inputs cannot be used.
        FailedMeasurementError: there is no result. If a limit was too low, the message names the option that
            raises it.
    """

    def hear(answer: Any) -> None:
        if "doing" in answer:
            progress(answer)

    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        log = Path(folder, "log")
        ended = run(module, request, limits, log=log, listen=hear)
        last = ended.answers[-1] if ended.answers else {}
        if "result" in last:
            return last["result"]
        if last.get("error") == "inputs":
            raise InputsError(inputs.named(last["text"]))
        if "error" in last:
            raise FailedMeasurementError(last["text"])
        lines = log.read_bytes()[-_TAIL:].decode("utf-8", "replace").strip().splitlines()
    if ended.cause == "time":
        limit = f"the time limit of {limits.seconds:.4g} s"
        raise FailedMeasurementError(f"measuring exceeded {limit}; raise it with --seconds")
    if ended.cause == "memory":
        limit = f"the memory limit of {limits.memory / (1 << 30):.2g} GB"
        raise FailedMeasurementError(f"measuring exceeded {limit}; raise it with --memory")
    reason = f": {lines[-1].strip()}" if lines and ended.cause == "failed" else ""
    raise FailedMeasurementError(f"the process that ran the model gave no result: it {ended.words}{reason}")
