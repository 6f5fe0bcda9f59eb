"""Find pooling operators, and whether ``ceil_mode`` adds a last window that begins after the input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.geometry import Window, windows
from trtlint.facts.facts import Facts

_POOLS = ("MaxPool", "AveragePool", "LpPool")


class Pooling(Fact, frozen=True):
    """A ``MaxPool``, ``AveragePool`` or ``LpPool`` node.

    Attributes:
        op: operator type.
        ceil_mode: whether the node rounds up the sizes of its output.
        beyond: whether rounding up adds, on at least one axis, a last window that begins in the end padding.
            ONNX ignores such a window.  False if ``ceil_mode`` is False; None if unknown.
        sizes: the sizes of the output along the spatial axes, as ONNX defines them; empty if unknown.
        rounded: the output sizes that a program computes if it does not ignore this last window (see
            ``beyond``); empty if unknown.
    """

    roles: ClassVar[Mapping[str, str]] = {"pool": "the operator"}

    op: str
    ceil_mode: bool
    beyond: bool | None
    sizes: tuple[int, ...]
    rounded: tuple[int, ...]


def find(facts: Facts) -> Iterator[Pooling]:
    """Yield the pooling operators of a model, in graph order."""
    for node in facts.model.graph.of_onnx(*_POOLS):
        ceil = node.number("ceil_mode", 0) == 1
        automatic = str(node.attribute("auto_pad") or "NOTSET") in ("SAME_UPPER", "SAME_LOWER")
        along = windows(node) if ceil and not automatic else None
        sizes = () if along is None else tuple(_defined(window) for window in along)
        rounded = () if along is None else tuple(_rounded(window) for window in along)
        yield Pooling(
            node=node,
            chain=(Step(node, "pool"),),
            op=node.op,
            ceil_mode=ceil,
            beyond=sizes != rounded if along is not None else None if ceil and not automatic else False,
            sizes=sizes,
            rounded=rounded,
        )


def _rounded(window: Window) -> int:
    padded = window.size + window.begin + window.end - window.reach
    return -(-padded // window.stride) + 1


def _defined(window: Window) -> int:
    """Return the output size along one axis according to ONNX.

    ONNX ignores a window that begins in the padding at the end:
    https://onnx.ai/onnx/operators/onnx__MaxPool.html.
    """
    count = _rounded(window)
    return count - 1 if (count - 1) * window.stride >= window.size + window.begin else count
