"""Compute the windows of pooling operators and convolutions along the spatial axes."""

from __future__ import annotations

from msgspec import Struct

from trtlint.model.graph import Node
from trtlint.model.protos import Dimension


class Window(Struct, frozen=True):
    """The window of a pooling operator or convolution along one spatial axis.

    Attributes:
        size: number of input elements along the axis, without padding.
        reach: number of input elements that a window spans, including the gaps that a dilation causes.
        stride: the step from one window to the next.
        begin: number of padding elements before the input.
        end: number of padding elements after the input.
    """

    size: int
    reach: int
    stride: int
    begin: int
    end: int


def windows(node: Node, kernel: tuple[Dimension, ...] | None = None) -> tuple[Window, ...] | None:
    """Return the windows of an operator along its spatial axes.

    Args:
        node: the operator; its first input is ``[N, C, ...]``.
        kernel: the size of the kernel, used if the operator has no ``kernel_shape``.

    Returns:
        One window for each spatial axis, or None if a size is unknown or the attributes contradict each
        other.
    """
    data = node.input(0)
    if data is None or data.shape is None or len(data.shape) < 3:
        return None
    sizes = data.shape[2:]
    rank = len(sizes)
    shape = _integers(node, "kernel_shape") or kernel
    strides = _integers(node, "strides") or (1,) * rank
    dilations = _integers(node, "dilations") or (1,) * rank
    pads = _integers(node, "pads") or (0,) * (2 * rank)
    if shape is None or not len(shape) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        return None
    found: list[Window] = []
    for axis, (size, taps) in enumerate(zip(sizes, shape, strict=True)):
        if not isinstance(size, int) or not isinstance(taps, int) or strides[axis] < 1:
            return None
        reach = (taps - 1) * dilations[axis] + 1
        found.append(Window(size, reach, strides[axis], pads[axis], pads[axis + rank]))
    return tuple(found)


def _integers(node: Node, name: str) -> tuple[int, ...] | None:
    value = node.attribute(name)
    if not isinstance(value, list | tuple) or not all(isinstance(number, int) for number in value):
        return None
    return tuple(value)
