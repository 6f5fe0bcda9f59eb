"""Find transposed convolutions, and the padding that their attributes require."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.geometry import windows
from trtlint.facts.facts import Facts
from trtlint.model.graph import Node, Value


class TransposedConvolution(Fact, frozen=True):
    """A ``ConvTranspose`` node.

    Attributes:
        bias: the bias; None if there is none.
        asked: the total padding that ``output_shape`` requires along each spatial axis. It is empty if the
            node has no ``output_shape`` or has ``auto_pad``, or if a size is unknown.
        uneven: whether a total in ``asked`` is odd, so that one side gets more padding than the other side.
        outgrown: whether the output needs more elements at the end of an axis than the operator computes
            without padding. This is the case if a total in ``asked`` is negative, or if ``output_padding``
            exceeds the end padding.
    """

    roles: ClassVar[Mapping[str, str]] = {"convolution": "the operator"}

    bias: Value | None
    asked: tuple[int, ...]
    uneven: bool
    outgrown: bool


def find(facts: Facts) -> Iterator[TransposedConvolution]:
    """Yield the transposed convolutions of a model, in graph order."""
    for node in facts.model.graph.of_onnx("ConvTranspose"):
        weight = node.input(1)
        shape = None if weight is None else weight.shape
        asked = () if shape is None else asked_padding(node, shape[2:])
        yield TransposedConvolution(
            node=node,
            chain=(Step(node, "convolution"),),
            bias=node.input(2),
            asked=asked,
            uneven=any(total % 2 for total in asked),
            outgrown=_outgrown(node, asked),
        )


def asked_padding(node: Node, kernel: tuple[int | str | None, ...]) -> tuple[int, ...]:
    """Return the total padding that ``output_shape`` requires along each spatial axis.

    The result is empty if the padding is unknown, or if ``output_shape`` does not determine it.  Source:
    https://onnx.ai/onnx/operators/onnx__ConvTranspose.html
    """
    shape = node.attribute("output_shape")
    along = windows(node, kernel)
    if not isinstance(shape, tuple) or along is None or len(shape) < len(along):
        return ()
    if str(node.attribute("auto_pad") or "NOTSET") != "NOTSET":
        return ()
    extra = node.attribute("output_padding") or (0,) * len(along)
    if len(extra) != len(along):
        return ()
    sizes = shape[len(shape) - len(along) :]
    return tuple(
        window.stride * (window.size - 1) + added + window.reach - size
        for window, added, size in zip(along, extra, sizes, strict=True)
    )


def _outgrown(node: Node, asked: tuple[int, ...]) -> bool:
    if asked:
        return any(total < 0 for total in asked)
    extra = node.attribute("output_padding")
    if not extra or str(node.attribute("auto_pad") or "NOTSET") != "NOTSET":
        return False
    pads = node.attribute("pads") or (0,) * (2 * len(extra))
    return len(pads) == 2 * len(extra) and any(
        added > end for added, end in zip(extra, pads[len(extra) :], strict=True)
    )
