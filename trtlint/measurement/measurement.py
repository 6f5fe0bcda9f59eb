"""Result of a measurement, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, convert, to_builtins

from trtlint.errors import FileError
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.problem import shorten
from trtlint.files.regular import read_bytes
from trtlint.measurement.band import Band, BuildBand, TypeBand, Verdict, together, verdict_of, within
from trtlint.measurement.chosen import ChoiceShares, most_changed
from trtlint.measurement.formats import FORMATS, Range
from trtlint.measurement.kept import KeptNodes as KeptNodes

SCHEMA = "trtlint.measure/1"
"""Name and version of the format; the version grows with each incompatible change."""
_MOST_BYTES = 64 << 20
"""Largest size of a measurement file in bytes. This size is enough for 60,000 tensors with 1 KB each.

In memory, JSON data can be 25 times as large as the file.
"""

_OUTPUT_KEYS = {
    "error": "error_fp16",
    "unclamped": "error_unclamped",
    "finite": "finite_fp32",
    "band": "error",
}
"""The JSON key of each attribute of :class:`MeasuredOutput`."""


class UnusableMeasurementError(FileError):
    """Error: a file is not a measurement, or a measurement does not fit the model or its use."""


class InternalValue(Struct, frozen=True):
    """An internal number of an operator, such as the square in ReduceL2.

    Attributes:
        what: the name, such as ``square`` or ``sum of squares``.
        max_abs: the largest magnitude; None if it is infinite in FP32.
    """

    what: str
    max_abs: float | None


class Closer(Struct, frozen=True):
    """Further statistics of a tensor whose numbers exceed the range of the low-precision type.

    Attributes:
        smallest: the smallest nonzero magnitude; None if all elements are zero.
        beyond: share of the elements beyond the range of the low-precision type, 0 to 1.
        vanishing: share of the elements that are nonzero and round to zero, 0 to 1.
    """

    smallest: float | None
    beyond: float
    vanishing: float


class MeasuredTensor(Struct, frozen=True, rename={"fits": "fp16"}, omit_defaults=True):
    """A float tensor of the model and its range.

    Attributes:
        node: path of the node that computes the tensor; empty for an input or an initializer.
        op: operator type of the node; ``Input`` or ``Constant`` without a node.
        tensor: name of the tensor.
        max_abs: largest magnitude in FP32; None if it is infinite.
        low: smallest number.
        high: largest number.
        fits: ``ok`` if the tensor and the internal numbers of its node are in the range of the low-precision
            type, otherwise ``overflow`` or ``underflow``.
        origin: true if the overflow begins at this tensor: the tensor exceeds the range, but no input of the
            node does. A tensor without a node is then an input of the model.
        narrow: true if the tensor gets the low-precision type in a build, false if it stays in FP32.
        inside: internal numbers of the node.
        closer: further statistics, for tensors beyond the range.
    """

    node: str
    op: str
    tensor: str
    max_abs: float | None
    low: float | None
    high: float | None
    fits: Range
    origin: bool
    narrow: bool
    inside: tuple[InternalValue, ...] = ()
    closer: Closer | None = None

    @property
    def constant(self) -> bool:
        """Return whether the tensor is stored in the model."""
        return self.op == "Constant"

    @property
    def greatest(self) -> float:
        """Return the largest magnitude of the tensor and of the internal numbers of its node."""
        return max([self.max_abs or 0.0, *(each.max_abs or 0.0 for each in self.inside)])


class MeasuredOutput(Struct, frozen=True, rename=_OUTPUT_KEYS):
    """Error of a float output of the model.

    An error is the largest difference from FP32, divided by the largest magnitude in FP32.

    Attributes:
        name: name of the output.
        error: the error if every operator rounds its result; None if the error is not finite, or if nothing
            was simulated.
        unclamped: the error if constants beyond the range become infinite and are not clamped to the largest
            number; None if no constant is beyond the range.
        finite: true if the output is finite in FP32. The error of an output that is not finite is ignored.
        band: the error for each rounding scheme; None if the rounding schemes were not simulated.
        trivial: the reason why a small error is not conclusive: the output is empty, 0 or constant. The text
            is empty for an output that varies.
    """

    name: str
    error: float | None
    unclamped: float | None = None
    finite: bool = True
    band: Band | None = None
    trivial: str = ""

    def proves(self, bound: float) -> bool:
        """Return whether the error of this output is conclusive.

        If the output is empty, constant or 0, a small error does not show that the low-precision type is
        good.
        """
        small = all(within(error, bound) for error in self.errors)
        return self.finite and not (self.trivial and small)

    @property
    def errors(self) -> tuple[float | None, ...]:
        """Return the errors for all rounding schemes that were simulated."""
        return (self.error,) if self.band is None else self.band.errors


class Measurement(Struct, frozen=True):
    """Result of a measurement.

    Attributes:
        path: the file of the model, as the user named it.
        digest: hash of the graph and of samples of the weights.
        files: files of the inputs; empty for generated inputs.
        inputs: hash of the inputs.
        batches: number of batches.
        type: the low-precision type, ``fp16``, ``bf16`` or ``tf32``.
        typed: true if the model has tensors of 16-bit types. If so, the simulation rounds no other tensors.
        rehearsed: true if the outputs were computed in the low-precision type.
        bound: largest allowed error of an output.
        sites: every float tensor, in the order of the graph.
        outputs: every float output and its error, or every tensor that trtlint compares instead.
        first: the nodes where overflows begin.
        kept: nodes to keep in FP32; None without a rehearsal, or if no node needs FP32.
        limits: sentences about the limits of the measurement, such as inputs that were generated.
        build: the error of a build whose layers are known; None if no layers are known.
        types: the errors in the remaining low-precision types, if the user asked for all types.
        compared: why ``outputs`` contains other tensors than the outputs of the model: no output has a float
            type. Empty if ``outputs`` contains the outputs.
        choices: the operators such as TopK that used the choice of FP32 in the simulation.
    """

    path: str
    digest: str
    files: tuple[str, ...]
    inputs: str
    batches: int
    type: str
    typed: bool
    rehearsed: bool
    bound: float
    sites: tuple[MeasuredTensor, ...]
    outputs: tuple[MeasuredOutput, ...]
    first: tuple[str, ...]
    kept: KeptNodes | None
    limits: tuple[str, ...]
    build: BuildBand | None = None
    types: tuple[TypeBand, ...] = ()
    compared: str = ""
    choices: tuple[ChoiceShares, ...] = ()

    @property
    def changed_choice(self) -> ChoiceShares | None:
        """Return the operator whose choices change most in the low-precision type; None if none changes."""
        return most_changed(self.choices)

    @property
    def chooses_others(self) -> bool:
        """Return whether an operator such as TopK would choose other elements in the low-precision type.

        Another order of the same elements does not count.
        """
        return any(each.elements < 1 for each in self.choices)

    @property
    def on(self) -> str:
        """Describe the inputs, such as ``3 batches of calib.npz``."""
        batches = f"{self.batches:,} batch" + ("" if self.batches == 1 else "es")
        if not self.files:
            return f"{batches}, generated"
        others = len(self.files) - 1
        more = "" if not others else " and 1 more file" if others == 1 else f" and {others} more files"
        return f"{batches} of {Path(self.files[0]).name}{more}"

    @property
    def noun(self) -> str:
        """Return ``output``, or ``tensor`` if ``outputs`` contains other tensors."""
        return "tensor" if self.compared else "output"

    @property
    def fits(self) -> bool:
        """Return whether the low-precision type suits the model: at most a few nodes must stay in FP32."""
        return self.kept is None or self.kept.fits

    @property
    def judged(self) -> tuple[MeasuredOutput, ...]:
        """Return the outputs whose errors are conclusive: see :meth:`MeasuredOutput.proves`."""
        return tuple(output for output in self.outputs if output.proves(self.bound))

    @property
    def error(self) -> Band | None:
        """Return the largest error over all outputs, once for each rounding scheme.

        The result is None without a simulation.
        """
        bands = [output.band for output in self.judged]
        return together(band for band in bands if band) if bands and None not in bands else None

    @property
    def verdict(self) -> Verdict | None:
        """Return the verdict on the errors; None if the low-precision type was not simulated.

        The verdict is ``fine`` if all errors are within the limit, ``broken`` if no error is within the
        limit, and ``depends`` if only some errors are within the limit.

        If the layers of a build are known, only the error of this build is compared with the limit.
        Otherwise, the errors of all rounding schemes are compared. The verdict is not ``fine`` if an operator
        such as TopK would choose other elements.
        """
        found = self.verdict_on_errors
        return "depends" if found == "fine" and self.chooses_others else found

    @property
    def verdict_on_errors(self) -> Verdict | None:
        """Return the verdict if operators such as TopK choose the elements that they choose in FP32."""
        if not self.rehearsed or not self.judged:
            return None
        if self.build is not None:
            return self.build.verdict(self.bound)
        if self.error is not None:
            return self.error.verdict(self.bound)
        return verdict_of((output.error for output in self.judged), self.bound)

    @property
    def trivial(self) -> Mapping[str, str]:
        """Return the outputs that are empty, 0 or constant, each with the reason."""
        return {output.name: output.trivial for output in self.outputs if self.is_trivial(output)}

    def is_trivial(self, output: MeasuredOutput) -> bool:
        """Return True if an output is empty, 0 or constant. A small error is then not conclusive."""
        return bool(self.rehearsed and output.finite and not output.proves(self.bound))

    @property
    def good(self) -> bool:
        """Return whether at least one output was compared, and all errors are within the limit.

        The result is False if an operator such as TopK would choose other elements.
        """
        if not self.judged:
            return False
        if self.build is not None or self.chooses_others:
            return self.verdict == "fine"
        return all(within(error, self.bound) for output in self.judged for error in output.errors)


def to_data(found: Measurement) -> dict[str, Any]:
    """Return a measurement as JSON data."""
    kept = found.kept
    return {
        "schema": SCHEMA,
        "model": {"path": found.path, "digest": found.digest},
        "inputs": {
            "files": list(found.files),
            "digest": found.inputs,
            "batches": found.batches,
            "made_up": not found.files,
        },
        "type": found.type,
        "typed": found.typed,
        "rehearsed": found.rehearsed,
        "bound": found.bound,
        "verdict": found.verdict,
        "error": to_builtins(found.error),
        "build": to_builtins(found.build),
        "types": [
            {"type": each.type, "verdict": each.error.verdict(found.bound), "error": to_builtins(each.error)}
            for each in found.types
        ],
        "sites": list(map(to_builtins, found.sites)),
        "outputs": list(map(to_builtins, found.outputs)),
        **({"compared": found.compared} if found.compared else {}),
        **({"choices": list(map(to_builtins, found.choices))} if found.choices else {}),
        "first_not_finite": list(found.first),
        "keep_fp32": [] if kept is None else list(kept.nodes),
        "kept": None if kept is None else kept.document,
        "limits": list(found.limits),
    }


def read_measurement(path: Path) -> Measurement:
    """Read a measurement from a file that ``trtlint measure --format json`` wrote.

    Raises:
        UnusableMeasurementError: the file cannot be read, or contains no measurement.
    """
    try:
        with limit_work(path):
            return _parsed(path)
    except LimitError as error:
        raise UnusableMeasurementError(f"{path}: not a measurement: {error.message}") from None


def _parsed(path: Path) -> Measurement:
    try:
        data = msgspec.json.decode(read_bytes(path, _MOST_BYTES))
    except OSError as error:
        raise UnusableMeasurementError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableMeasurementError(f"{path}: not JSON ({error})") from error
    named = data.get("schema") if isinstance(data, dict) else None
    if named != SCHEMA:
        what = f"its schema is {shorten(repr(named))}" if isinstance(named, str) else "it names no schema"
        raise UnusableMeasurementError(f"{path}: not written by `trtlint measure --format json`: {what}")
    try:
        return from_data(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = shorten(f"{type(error).__name__}: {error}")
        raise UnusableMeasurementError(f"{path}: not a measurement ({reason})") from error


def from_data(data: Mapping[str, Any]) -> Measurement:
    """Read a measurement from JSON data.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the data have an unexpected form.
    """
    inputs, narrow = data["inputs"], data["type"]
    if narrow not in FORMATS:
        raise ValueError(f"type is {narrow!r}")
    flat = {
        **data,
        "path": data["model"]["path"],
        "digest": data["model"]["digest"],
        "files": inputs["files"],
        "inputs": inputs["digest"],
        "batches": inputs["batches"],
        "first": data["first_not_finite"],
        "kept": KeptNodes.parse(data["keep_fp32"], data["kept"]),
    }
    return convert(flat, Measurement)
