"""What was measured of a model, as plain data that can be written to a file and read again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from trtlint.errors import FileError
from trtlint.files.limits import LimitError, limited
from trtlint.files.problem import shortened
from trtlint.files.regular import read_bytes
from trtlint.lean import dataclass

SCHEMA = "trtlint.measure/1"
"""Name and version of the format; the number grows when a reader of the old one would break."""
_MOST_BYTES = 64 << 20
"""Bytes of such a file, a kilobyte for each of 60,000 tensors; JSON can take 25 times its size in memory."""
_FEW = 12
"""Number of nodes that can be kept in FP32 in any model."""
_UNCOUNTED = 1 << 30
"""Stands for the number of nodes where a file does not tell it."""
_SHARE = 1 / 3
"""Largest share of the nodes, and of the products, to keep in FP32.  With more of them, little of the speed
of the narrow type is left, and each Cast between the types costs time."""

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
        error: the greatest difference to FP32 over the greatest magnitude in FP32; None where it is not
            finite, or was not rehearsed.
        unclamped: the same where constants beyond the range become infinite; None as well where there
            are none.
        finite: whether it is finite in FP32; nothing can be said of one that is not.
    """

    name: str
    error: float | None
    unclamped: float | None = None
    finite: bool = True


@dataclass(frozen=True, slots=True)
class Kept:
    """The least set of nodes found that must stay in FP32.

    Attributes:
        nodes: their paths, in the order of the graph.
        error: the greatest error of the outputs with them, None where it is not finite.
        runs: how many sets were tried.
        verified: whether the error with them is under the bound.
        computing: number of nodes of the main graph that compute in the narrow type.
        products: number of matrix products and convolutions among these.
        kept_products: number of products among ``nodes``.
    """

    nodes: tuple[str, ...] = ()
    error: float | None = None
    runs: int = 0
    verified: bool = False
    computing: int = 0
    products: int = 0
    kept_products: int = 0

    @property
    def fits(self) -> bool:
        """Whether the narrow type is of use to the model: few nodes are kept, or a small share of all."""
        if len(self.nodes) <= _FEW:
            return True
        return (
            max(len(self.nodes) / (self.computing or 1), self.kept_products / (self.products or 1)) <= _SHARE
        )


@dataclass(frozen=True, slots=True)
class Measurement:
    """What was measured of a model.

    Attributes:
        path: the model's file, as it was named.
        digest: what tells the model from others.
        files: the files that the inputs are from; empty for made-up ones.
        inputs: what tells the inputs from others.
        batches: how many batches there were.
        type: the narrow type, ``fp16`` or ``bf16``.
        typed: whether the file itself keeps tensors in 16 bits; then those are narrow, and no others.
        rehearsed: whether the outputs were computed in the narrow type.
        bound: the error that is still good.
        sites: every float tensor, in the order of the graph.
        outputs: every float output.
        first: the nodes that stop being finite first.
        kept: what to keep in FP32; None where nothing was rehearsed, or nothing need be kept.
        limits: what this says nothing of.
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
    def good(self) -> bool:
        """Whether the narrow type leaves the outputs good; of outputs infinite in FP32 nothing is said."""
        judged = [output for output in self.outputs if output.finite]
        return all(output.error is not None and output.error <= self.bound for output in judged)


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
        "sites": [_site_data(site) for site in found.sites],
        "outputs": [
            {
                "name": output.name,
                "error_fp16": output.error,
                "error_unclamped": output.unclamped,
                "finite_fp32": output.finite,
            }
            for output in found.outputs
        ],
        "first_not_finite": list(found.first),
        "keep_fp32": [] if kept is None else list(kept.nodes),
        "kept": None
        if kept is None
        else {
            "error_fp16": kept.error,
            "runs": kept.runs,
            "verified": kept.verified,
            "fits": kept.fits,
            "nodes": {"kept": len(kept.nodes), "all": kept.computing},
            "products": {"kept": kept.kept_products, "all": kept.products},
        },
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
        with limited(path):
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
        what = f"its schema is {shortened(named)!r}" if isinstance(named, str) else "it names no schema"
        raise MeasurementError(f"{path}: not written by `trtlint measure --format json`: {what}")
    try:
        return from_data(data)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = shortened(f"{type(error).__name__}: {error}")
        raise MeasurementError(f"{path}: not a measurement ({reason})") from error


def from_data(data: Mapping[str, Any]) -> Measurement:
    """The measurement that JSON data tell of.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, OverflowError: they are not as :func:`to_data` makes
            them.
    """
    inputs, kept, narrow = data["inputs"], data["kept"], data["type"]
    if narrow not in ("fp16", "bf16"):
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
                _number(entry["error_fp16"]),
                _number(entry["error_unclamped"]),
                bool(entry["finite_fp32"]),
            )
            for entry in data["outputs"]
        ),
        first=tuple(map(str, data["first_not_finite"])),
        kept=None
        if kept is None
        else Kept(
            tuple(map(str, data["keep_fp32"])),
            _number(kept["error_fp16"]),
            int(kept["runs"]),
            bool(kept["verified"]),
            # Measurements of earlier releases do not have these.
            int(kept.get("nodes", {}).get("all", 0)) or _UNCOUNTED,
            int(kept.get("products", {}).get("all", 0)),
            int(kept.get("products", {}).get("kept", 0)),
        ),
        limits=tuple(map(str, data["limits"])),
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
        max_abs=_number(entry["max_abs"]),
        low=_number(entry["low"]),
        high=_number(entry["high"]),
        fits=fits,
        origin=bool(entry["origin"]),
        inside=tuple(Inside(str(each["what"]), _number(each["max_abs"])) for each in entry.get("inside", ())),
        narrow=bool(entry["narrow"]),
        closer=None
        if closer is None
        else Closer(_number(closer["smallest"]), float(closer["beyond"]), float(closer["vanishing"])),
    )


def _number(value: object) -> float | None:
    if value is None:
        return None
    number = float(value)  # type: ignore[arg-type]
    if not math.isfinite(number):
        raise ValueError(f"{value} is no finite number")
    return number
