"""The channels and the kernel of a convolution, read off the shape of its weight."""

from __future__ import annotations

from trtlint.lean import dataclass
from trtlint.model.graph import Node
from trtlint.model.protos import Dimension


@dataclass(frozen=True, slots=True)
class Geometry:
    """The size of a convolution.

    Attributes:
        channels: channels that it reads, None where the file does not tell.
        filters: channels that it computes, None where the file does not tell.
        groups: into how many groups the channels are cut, 1 for an ordinary convolution.
        kernel: size of the kernel along each spatial axis, None where the file does not tell.
    """

    channels: int | None
    filters: int | None
    groups: int
    kernel: tuple[int, ...] | None


def geometry(node: Node, weight: tuple[Dimension, ...] | None) -> Geometry:
    """The size of a ``Conv`` or ``ConvTranspose``, or an integer one, with a weight of this shape.

    The weight is ``[M, C/group, ...]`` for ``Conv`` and ``[C, M/group, ...]`` for ``ConvTranspose``.
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
