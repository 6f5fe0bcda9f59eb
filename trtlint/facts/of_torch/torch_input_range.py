"""Find shape ranges of ``torch_tensorrt.Input`` that ``torch.export`` or TensorRT rejects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from trtlint.facts.facts import Facts
from trtlint.facts.torchfact import TorchFact, line_of, origin_at
from trtlint.model.origin import Origin
from trtlint.torch_tensorrt.calls import TorchScript
from trtlint.torch_tensorrt.marks import ScriptMark

Problem = Literal["", "one", "order", "rank"]
_REASONS = {
    "one": "axis {axis} ranges from {low} to {high}, but its size in opt_shape is 1, and torch.export turns "
    "a size of 1 into a constant",
    "order": "axis {axis} ranges from {low} to {high}, but its size in opt_shape is {usual}, outside of "
    "this range",
    "rank": "min_shape, opt_shape and max_shape have different numbers of axes",
}


class TorchInputRangeFact(TorchFact, frozen=True):
    """The shapes that a ``torch_tensorrt.Input`` in a script allows for an input.

    Attributes:
        problem: the kind of the problem; empty if there is none.  ``one``: a dynamic axis has the size 1 in
            ``opt_shape``.  ``order``: ``opt_shape`` is not between ``min_shape`` and ``max_shape``.
            ``rank``: the shapes have different numbers of axes.
        reason: a text about the problem.
        axis: the first axis with the problem; 0 if no axis has a problem.
        low: the size of this axis in ``min_shape``.
        usual: the size of this axis in ``opt_shape``.
        high: the size of this axis in ``max_shape``.
        code_origin: the line of the script that creates the range.
    """

    problem: Problem
    reason: str
    axis: int
    low: int
    usual: int
    high: int
    code_origin: Origin

    @property
    def place(self) -> str:
        """The location in reports: the line of the script that creates the range."""
        return line_of(self.code_origin) or "torch_tensorrt.Input"


def find(facts: Facts) -> Iterator[TorchInputRangeFact]:
    """Yield the ranges with a problem, in the order of the script.

    A size of 1 in ``opt_shape`` is a problem only if the script passes a module, not an exported program.
    The compiler then exports the module with the shapes in ``opt_shape``, and the export turns a size of 1
    into a constant.
    """
    script = facts.data(TorchScript)
    if script is None:
        return
    kinds = {mark.kind for mark in script.marks}
    calls = any(
        call.function == "torch_tensorrt.compile" and call.route == "compile" for call in script.judged
    )
    traced = "trace" in kinds or (calls and "export" not in kinds)
    for mark in script.marks:
        if mark.kind == "range" and all(mark.shapes) and (script.judged or traced):
            problem, axis = _problem(mark, traced)
            if problem:
                low, usual, high = (shape[axis] if axis < len(shape) else 0 for shape in mark.shapes)
                reason = _REASONS[problem].format(axis=axis, low=low, usual=usual, high=high)
                origin = origin_at(mark.source, mark.line)
                yield TorchInputRangeFact(
                    script.runs.version, problem, reason, axis, low, usual, high, origin
                )


def _problem(mark: ScriptMark, traced: bool) -> tuple[Problem, int]:
    low, usual, high = mark.shapes
    if not len(low) == len(usual) == len(high):
        return "rank", 0
    sizes = list(zip(low, usual, high, strict=True))
    for axis, (least, size, most) in enumerate(sizes):
        if not least <= size <= most:
            return "order", axis
    for axis, (least, size, most) in enumerate(sizes):
        if traced and size == 1 and least != most:
            return "one", axis
    return "", 0
