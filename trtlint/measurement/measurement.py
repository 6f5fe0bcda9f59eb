"""What was measured of a model, as plain data that can be written to a file and read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from trtlint.errors import FileError
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.problem import shorten
from trtlint.files.regular import read_bytes
from trtlint.lean import dataclass
from trtlint.measurement.band import Band, BuildError, TypeBand, Verdict, number, together, verdict_of
from trtlint.measurement.formats import FORMATS
from trtlint.measurement.kept import Kept as Kept

SCHEMA = "trtlint.measure/1"
"""Name and version of the format; the number grows when a reader of the old one would break."""
_MOST_BYTES = 64 << 20
"""Bytes of such a file, a kilobyte for each of 60,000 tensors; JSON can take 25 times its size in memory."""

Range = Literal["overflow", "underflow", "ok"]


class MeasurementError(FileError, ValueError):
    """A file that holds no measurement; the text says why."""


@dataclass(frozen=True, slots=True)
class Inside:
    """What an operator computes inside.

    Attributes:
        what: such as ``square`` or ``sum of squares``.
        max_abs: its greatest magnitude, None where it is infinite in FP32 already.
    """

    what: str
    max_abs: float | None


@dataclass(frozen=True, slots=True)
class Closer:
    """The second look at a tensor.

    Attributes:
        smallest: the least magnitude that is not zero, None where all is zero.
        beyond: the share of elements that leave the narrow type's range, 0 to 1.
        vanishing: the share of elements that are not zero and round to zero.
    """

    smallest: float | None
    beyond: float
    vanishing: float


@dataclass(frozen=True, slots=True)
class Site:
    """A float tensor of the model.

    Attributes:
        node: path of the node that computes it; empty for an input or an initializer.
        op: its operator type; ``Input`` or ``Constant`` where no node computes it.
        tensor: its name.
        max_abs: its greatest magnitude in FP32, None where it is infinite in FP32 already.
        low: its least number.
        high: its greatest number.
        fits: whether it, and what is computed inside of the node, stays in the narrow type's range.
        origin: whether it leaves the range while no input of its node does.
        inside: what is computed inside of the node.
        closer: the second look, for suspects only.
        narrow: whether it is narrow on the target; the others stay in FP32.
    """

    node: str
    op: str
    tensor: str
    max_abs: float | None
    low: float | None
    high: float | None
    fits: Range
    origin: bool
    inside: tuple[Inside, ...] = ()
    closer: Closer | None = None
    narrow: bool = True

    @property
    def constant(self) -> bool:
        """Whether it is stored in the model."""
        return self.op == "Constant"

    def fitting(self, fits: Range) -> Site:
        """The same tensor, said to stay in the range or to leave it."""
        return replace(self, fits=fits)

    @property
    def greatest(self) -> float:
        """The greatest magnitude of the tensor and of what is computed inside."""
        return max([self.max_abs or 0.0, *(each.max_abs or 0.0 for each in self.inside)])


@dataclass(frozen=True, slots=True)
class Output:
    """A float output of the model.

    Attributes:
        name: its name.
        error: the greatest difference to FP32 over the greatest magnitude in FP32, where every operator
            rounds its result; None where it is not finite, or was not rehearsed.
        unclamped: the same where constants beyond the range become infinite; None as well where there
            are none.
        finite: whether it is finite in FP32; the others have no verdict.
        band: the error in several ways; None where it was not rehearsed so.
    """

    name: str
    error: float | None
    unclamped: float | None = None
    finite: bool = True
    band: Band | None = None

    @property
    def errors(self) -> tuple[float | None, ...]:
        """The errors that were rehearsed."""
        return (self.error,) if self.band is None else self.band.errors


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured of a model.

    Attributes:
        path: the model's file, as it was named.
        digest: what tells the model from others.
        files: the files that the inputs are from; empty for made-up ones.
        inputs: what tells the inputs from others.
        batches: how many batches there were.
        type: the narrow type, ``fp16``, ``bf16`` or ``tf32``.
        typed: whether the file itself keeps tensors in 16 bits; then those are narrow, and no others.
        rehearsed: whether the outputs were computed in the narrow type.
        bound: the error that is still good.
        sites: every float tensor, in the order of the graph.
        outputs: every float output.
        first: the nodes that stop being finite first.
        kept: what to keep in FP32; None where nothing was rehearsed, or nothing need be kept.
        limits: what this says nothing of.
        build: the error of a build whose layers are known; None for none.
        types: the errors of the other types, where all were asked for.
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
    sites: tuple[Site, ...]
    outputs: tuple[Output, ...]
    first: tuple[str, ...]
    kept: Kept | None
    limits: tuple[str, ...]
    build: BuildError | None = None
    types: tuple[TypeBand, ...] = ()

    @property
    def on(self) -> str:
        """What it was measured on: ``3 batches of calib.npz``."""
        batches = f"{self.batches:,} batch" + ("" if self.batches == 1 else "es")
        more = f" and {len(self.files) - 1} more files" if len(self.files) > 1 else ""
        return f"{batches} of {Path(self.files[0]).name}{more}" if self.files else f"{batches}, made up"

    @property
    def fits(self) -> bool:
        """Whether the narrow type is of use to the model: at most a small part of it must stay in FP32."""
        return self.kept is None or self.kept.fits

    @property
    def judged(self) -> tuple[Output, ...]:
        """Return the outputs that are finite in FP32; the others have no verdict."""
        return tuple(output for output in self.outputs if output.finite)

    @property
    def error(self) -> Band | None:
        """The worst error of all outputs in each way; None where no output was rehearsed so."""
        bands = [output.band for output in self.judged]
        return together(band for band in bands if band) if bands and None not in bands else None

    @property
    def verdict(self) -> Verdict | None:
        """Whether the outputs are good in the narrow type; None where none was rehearsed.

        A build whose layers are known decides; without one, the whole band does.
        """
        if not self.rehearsed or not self.judged:
            return None
        if self.build is not None:
            return self.build.verdict(self.bound)
        if self.error is not None:
            return self.error.verdict(self.bound)
        return verdict_of((output.error for output in self.judged), self.bound)

    @property
    def good(self) -> bool:
        """Whether the narrow type leaves the outputs good in every build; true where none was judged."""
        if self.build is not None:
            return self.verdict == "fine"
        return all(
            error is not None and error <= self.bound for output in self.judged for error in output.errors
        )


def to_data(found: Measurement) -> dict[str, Any]:
    """A measurement as JSON data."""
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
        "error": None if found.error is None else found.error.document,
        "build": None if found.build is None else found.build.document,
        "types": [
            {"type": each.type, "verdict": each.error.verdict(found.bound), "error": each.error.document}
            for each in found.types
        ],
        "sites": [_site_data(site) for site in found.sites],
        "outputs": [
            {
                "name": output.name,
                "error_fp16": output.error,
                "error_unclamped": output.unclamped,
                "finite_fp32": output.finite,
                "error": None if output.band is None else output.band.document,
            }
            for output in found.outputs
        ],
        "first_not_finite": list(found.first),
        "keep_fp32": [] if kept is None else list(kept.nodes),
        "kept": None if kept is None else kept.document,
        "limits": list(found.limits),
    }


def _site_data(site: Site) -> dict[str, Any]:
    data: dict[str, Any] = {
        "node": site.node,
        "op": site.op,
        "tensor": site.tensor,
        "max_abs": site.max_abs,
        "low": site.low,
        "high": site.high,
        "fp16": site.fits,
        "origin": site.origin,
        "narrow": site.narrow,
    }
    if site.inside:
        data["inside"] = [{"what": each.what, "max_abs": each.max_abs} for each in site.inside]
    if site.closer is not None:
        closer = site.closer
        data["closer"] = {
            "smallest": closer.smallest,
            "beyond": closer.beyond,
            "vanishing": closer.vanishing,
        }
    return data


def read_measurement(path: Path) -> Measurement:
    """Read a measurement from a file that ``trtlint measure --format json`` wrote.

    Raises:
        MeasurementError: the file cannot be read, or holds none.
    """
    try:
        with limit_work(path):
            return _parsed(path)
    except LimitError as error:
        raise MeasurementError(f"{path}: not a measurement: {error.message}") from None


def _parsed(path: Path) -> Measurement:
    try:
        data = json.loads(read_bytes(path, _MOST_BYTES))
    except OSError as error:
        raise MeasurementError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise MeasurementError(f"{path}: not JSON ({error})") from error
    named = data.get("schema") if isinstance(data, dict) else None
    if named != SCHEMA:
        what = f"its schema is {shorten(named)!r}" if isinstance(named, str) else "it names no schema"
        raise MeasurementError(f"{path}: not written by `trtlint measure --format json`: {what}")
    try:
        return from_data(data)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = shorten(f"{type(error).__name__}: {error}")
        raise MeasurementError(f"{path}: not a measurement ({reason})") from error


def from_data(data: Mapping[str, Any]) -> Measurement:
    """The measurement that JSON data tell of.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, OverflowError: they are not as :func:`to_data` makes
            them.
    """
    inputs, narrow = data["inputs"], data["type"]
    if narrow not in FORMATS:
        raise ValueError(f"type is {narrow!r}")
    return Measurement(
        path=str(data["model"]["path"]),
        digest=str(data["model"]["digest"]),
        files=tuple(map(str, inputs["files"])),
        inputs=str(inputs["digest"]),
        batches=int(inputs["batches"]),
        type=narrow,
        typed=bool(data["typed"]),
        rehearsed=bool(data["rehearsed"]),
        bound=float(data["bound"]),
        sites=tuple(_site(entry) for entry in data["sites"]),
        outputs=tuple(
            Output(
                str(entry["name"]),
                number(entry["error_fp16"]),
                number(entry["error_unclamped"]),
                bool(entry["finite_fp32"]),
                None if entry.get("error") is None else Band.parse(entry["error"]),
            )
            for entry in data["outputs"]
        ),
        first=tuple(map(str, data["first_not_finite"])),
        kept=Kept.parse(data["keep_fp32"], data["kept"]),
        limits=tuple(map(str, data["limits"])),
        build=BuildError.parse(data.get("build")),
        types=tuple(map(TypeBand.parse, data.get("types", ()))),
    )


def _site(entry: Mapping[str, Any]) -> Site:
    closer = entry.get("closer")
    fits = entry["fp16"]
    if fits not in ("overflow", "underflow", "ok"):
        raise ValueError(f"fp16 is {fits!r}")
    return Site(
        node=str(entry["node"]),
        op=str(entry["op"]),
        tensor=str(entry["tensor"]),
        max_abs=number(entry["max_abs"]),
        low=number(entry["low"]),
        high=number(entry["high"]),
        fits=fits,
        origin=bool(entry["origin"]),
        inside=tuple(Inside(str(each["what"]), number(each["max_abs"])) for each in entry.get("inside", ())),
        narrow=bool(entry["narrow"]),
        closer=None
        if closer is None
        else Closer(number(closer["smallest"]), float(closer["beyond"]), float(closer["vanishing"])),
    )
