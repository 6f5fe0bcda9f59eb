"""Compute the channels and the kernel size of a convolution from the shape of its weight."""

from __future__ import annotations

from msgspec import Struct

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
    groups = max(int(node.number("group", 1)), 1)
    sizes = [] if weight is None else [dim if isinstance(dim, int) else None for dim in weight]
    if len(sizes) < 3:
        return Geometry(None, None, groups, None)
    first, second = sizes[:2]
    whole = None if second is None else second * groups
    kernel = tuple(size for size in sizes[2:] if size is not None)
    channels, filters = (first, whole) if node.op == "ConvTranspose" else (whole, first)
    return Geometry(channels, filters, groups, kernel if len(kernel) == len(sizes) - 2 else None)
