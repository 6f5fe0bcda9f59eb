"""Describe the ranges of tensors, measured while the model runs on the user's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.facts.figures import figure
from trtlint.measurement.formats import FORMATS, TF32, Format
from trtlint.measurement.measurement import MeasuredTensor, Measurement
from trtlint.model.graph import Node, Value

_ROOTS = frozenset({"Sqrt", "Log", "Reciprocal", "Div", "Pow"})
_BEHIND = 3
"""Largest number of operators between an epsilon and the root or division that it protects."""


class TensorRange(Fact, frozen=True):
    """A float tensor and the range of its values in a measurement.

    Attributes:
        op: the operator that computes the tensor; ``Input`` or ``Constant`` if no operator computes it.
        tensor: the name of the tensor.
        max_abs: the largest magnitude in the tensor; None if it is infinite in FP32.
        low: the smallest element.
        high: the largest element.
        greatest: the largest magnitude among the elements of the tensor and among the squares and sums that
            the operator computes internally.
        words: ``greatest`` as a text, such as ``97,344``.
        inside: the internal result of the operator that reaches the magnitude ``greatest``, such as
            ``square`` or ``sum``; empty if the tensor itself reaches this magnitude.
        fits: the effect of the low-precision type (see ``type``) on the tensor, ``overflow``, ``underflow``
            or ``ok``.
        origin: True if the values first leave the range of the low-precision type at this tensor. The tensor
            is then outside the range, and every input of the operator that computes it is inside the range.
        type: the low-precision type of the measurement, ``FP16``, ``BF16`` or ``TF32``.
        largest: the largest number of the low-precision type.
        largest_words: ``largest`` as text.
        operands: the largest magnitude in the inputs of the operator; None if no input was measured, or if an
            input is infinite.
        reader: the first operator that reads the tensor; empty if no operator reads it.
        guards: True for an epsilon constant, which prevents a zero in a root, a logarithm or a divisor.
        harm: whether an output of the model becomes inaccurate in a 16-bit type. None if trtlint did not
            simulate this, or if no output can be compared. Also None if the accuracy depends on the operators
            that TensorRT fuses, or on the elements that an operator such as TopK selects.
        tf32: whether an output of the model becomes inaccurate in TF32; None if trtlint did not simulate
            TF32.
        keep: whether the operator that computes the tensor must stay in FP32.
        misfit: True if the low-precision type is unsuitable for the model, because too many operators must
            stay in FP32.
        origins: number of tensors in the model for which ``origin`` is True.
        on: the input data of the measurement as a text, such as ``3 batches of calib.npz``.
        made_up: True if the input data are random numbers.
    """

    roles: ClassVar[Mapping[str, str]] = {"operator": "the operator that computes the tensor"}

    op: str = ""
    tensor: str = ""
    max_abs: float | None = None
    low: float | None = None
    high: float | None = None
    greatest: float = 0.0
    words: str = ""
    inside: str = ""
    fits: Literal["overflow", "underflow", "ok"] = "ok"
    origin: bool = False
    type: str = "FP16"
    largest: float = 0.0
    largest_words: str = ""
    operands: float | None = None
    reader: str = ""
    guards: bool = False
    harm: bool | None = None
    tf32: bool | None = None
    keep: bool = False
    misfit: bool = False
    origins: int = 0
    on: str = ""
    made_up: bool = False

    @property
    def place(self) -> str:
        """The location in reports: the path of the node, or the name of the tensor if there is no node."""
        return self.node.path if self.node else self.tensor


def find(facts: Facts) -> Iterator[TensorRange]:
    """Yield the measured tensors of a model, in graph order."""
    found = facts.measurement
    if found is None:
        return
    nodes = {node.path: node for node in facts.model.graph.nodes}
    values = {value.name: value for same in facts.model.graph.values.values() for value in same[:1]}
    greatest = {site.tensor: site.max_abs for site in found.sites}
    common = _Common(found)
    for site in found.sites:
        node, value = nodes.get(site.node), values.get(site.tensor)
        if value is not None and (node is not None or not site.node):
            yield common.fact(site, node, value, greatest)


class _Common:
    """Data that is the same for all tensors of a measurement."""

    def __init__(self, found: Measurement) -> None:
        self.found = found
        self.format: Format = FORMATS[found.type]
        self.kept = frozenset(() if found.kept is None else found.kept.nodes)
        self.origins = sum(site.origin for site in found.sites)
        self.harm = _harm(found)
        self.tf32 = _tf32(found)

    def fact(
        self, site: MeasuredTensor, node: Node | None, value: Value, greatest: Mapping[str, float | None]
    ) -> TensorRange:
        larger = (each for each in site.inside if (each.max_abs or 0.0) > (site.max_abs or 0.0))
        inside = max(larger, key=lambda each: each.max_abs or 0.0, default=None)
        words = figure(site.greatest)
        what = f"up to {words}" if inside is None else f"{inside.what} inside the operator up to {words}"
        label = f"{words} here" + (f", beyond {self.format.label}" if site.fits == "overflow" else "")
        return TensorRange(
            node=node,
            chain=() if node is None else (Step(node, "operator", what, label),),
            op=site.op,
            tensor=site.tensor,
            max_abs=site.max_abs,
            low=site.low,
            high=site.high,
            greatest=site.greatest,
            words=words,
            inside="" if inside is None else inside.what,
            fits=site.fits,
            origin=site.origin,
            type=self.format.label,
            largest=self.format.largest,
            largest_words=figure(self.format.largest),
            operands=_operands(node, greatest),
            reader=value.uses[0][0].op if value.uses else "",
            guards=site.constant and _guards(value),
            harm=self.harm,
            tf32=self.tf32,
            keep=site.node in self.kept,
            misfit=not self.found.fits,
            origins=self.origins,
            on=self.found.on,
            made_up=not self.found.files,
        )


def _harm(found: Measurement) -> bool | None:
    """Return whether an output of the model becomes inaccurate in the low-precision type.

    The result is None if trtlint did not simulate this, or if no output can be compared. It is also None if
    the accuracy depends on the operators that TensorRT fuses, or on the elements that an operator such as
    TopK selects.
    """
    if FORMATS[found.type].operands_only:
        return False
    if found.verdict in (None, "depends") or (found.good and found.changed_choice is not None):
        return None
    return not found.good


def _tf32(found: Measurement) -> bool | None:
    """Return whether an output becomes inaccurate in TF32, or None if trtlint did not simulate TF32."""
    if found.type == TF32.name:
        return None if found.verdict is None else not found.good
    errors = [each.error for each in found.types if each.type == TF32.name]
    return errors[0].verdict(found.bound) != "fine" if errors else None


def _operands(node: Node | None, greatest: Mapping[str, float | None]) -> float | None:
    """Return the largest magnitude among the measured inputs of an operator, or None if it is unknown."""
    inputs = () if node is None else node.inputs
    known = [greatest[value.name] for value in inputs if value is not None and value.name in greatest]
    found = [magnitude for magnitude in known if magnitude is not None]
    return max(found) if found and len(found) == len(known) else None


def _guards(value: Value) -> bool:
    """Return whether a constant prevents a zero in a root, a logarithm or a divisor."""
    users = [user for user, _ in value.uses if user.op in ("Add", "Max", "Clip")]
    for user in users:
        layer = [user]
        for _ in range(_BEHIND):
            behind = [(after, port) for node in layer for after, port in node.output.uses]
            if any(after.op in _ROOTS and (after.op != "Div" or port == 1) for after, port in behind):
                return True
            layer = [after for after, _ in behind]
    return False
