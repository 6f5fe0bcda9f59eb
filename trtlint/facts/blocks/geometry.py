"""Compute the channels, the kernel size and the windows of convolutions and pooling operators."""

from __future__ import annotations

from msgspec import Struct

from trtlint.facts.blocks.sizes import static_size
from trtlint.model.graph import Node
from trtlint.model.protos import Dimension


class Geometry(Struct, frozen=True):
    """The channels and the kernel size of a convolution.

    Attributes:
        channels: number of input channels; None if unknown.
        filters: number of output channels; None if unknown.
        groups: number of groups of channels; 1 for an ordinary convolution.
        kernel: kernel size along each spatial axis; None if unknown.
    """

    channels: int | None
    filters: int | None
    groups: int
    kernel: tuple[int, ...] | None


def geometry(node: Node, weight: tuple[Dimension, ...] | None) -> Geometry:
    """Return the channels and kernel size of a convolution from the shape of its weight.

    The shape of the weight is ``[M, C/group, ...]`` for ``Conv``, and ``[C, M/group, ...]`` for
    ``ConvTranspose``.
    """
    groups = max(node.integer("group", 1), 1)
    sizes = [] if weight is None else list(map(static_size, weight))
    if len(sizes) < 3:
        return Geometry(None, None, groups, None)
    first, second = sizes[:2]
    whole = None if second is None else second * groups
    kernel = tuple(size for size in sizes[2:] if size is not None)
    channels, filters = (first, whole) if node.op == "ConvTranspose" else (whole, first)
    return Geometry(channels, filters, groups, kernel if len(kernel) == len(sizes) - 2 else None)


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
