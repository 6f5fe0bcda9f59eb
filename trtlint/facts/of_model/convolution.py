"""Find convolutions, the origin of their weights, and the bounds of their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import ClassVar

from trtlint.facts.base import Fact
from trtlint.facts.blocks.activations import Activation, activation_of, nodes_to_output
from trtlint.facts.blocks.geometry import geometry
from trtlint.facts.blocks.weights import Weight, weight_of, weighted
from trtlint.facts.facts import Facts
from trtlint.model.operators import TRANSPARENT
from trtlint.model.protos import ElementType
from trtlint.model.walks import behind

_WEIGHT_PORT: Mapping[str, int] = {"Conv": 1, "ConvTranspose": 1, "ConvInteger": 1, "QLinearConv": 3}


class Convolution(Fact, frozen=True):
    """A convolution or transposed convolution.  A deformable convolution (``DeformConv``) is left out.

    Attributes:
        op: ``Conv``, ``ConvTranspose``, ``ConvInteger`` or ``QLinearConv``.
        dtype: element type of the input data; None if unknown.
        spatial: number of spatial axes (1, 2 or 3); None if unknown.
        groups: the ``group`` attribute; 1 if absent.
        channels: number of input channels; None if unknown.
        filters: number of output channels; None if unknown.
        taps: number of kernel elements for one pair of input and output channels; None if unknown.
        fed: whether the convolution reads an input of the model, directly or through casts, views and
            quantizers.
        weight: the weight and its origin.
        activation: the first activation after the convolution. Only a few element-wise and layout operators
            may be in between. None if there is no such activation.
        to_output: number of nodes between the convolution and the nearest output of the model; None if no
            output depends on the convolution.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "weight": "a node that computes the weight",
        "convolution": "the convolution",
        "activation": "a node of the activation after the convolution",
    }

    op: str
    dtype: ElementType | None
    spatial: int | None
    groups: int
    channels: int | None
    filters: int | None
    taps: int | None
    fed: bool
    weight: Weight
    activation: Activation | None
    to_output: int | None


def find(facts: Facts) -> Iterator[Convolution]:
    """Yield the convolutions of a model, in graph order."""
    graph, constants = facts.model.graph, facts.model.constants
    nodes = graph.of_onnx(*_WEIGHT_PORT)
    distances = nodes_to_output(graph) if nodes else {}
    for node in nodes:
        weight = weight_of(node, _WEIGHT_PORT[node.op], constants)
        data = node.input(0)
        if weight is None or data is None:
            continue
        activation = activation_of(node.output, constants, distances)
        size = geometry(node, weight.shape)
        rank = data.rank if weight.shape is None else len(weight.shape)
        yield Convolution(
            node=node,
            chain=weighted(node, "convolution", weight, activation),
            op=node.op,
            dtype=data.dtype,
            spatial=None if rank is None else rank - 2,
            groups=node.integer("group", 1),
            channels=size.channels,
            filters=size.filters,
            taps=None if size.kernel is None else prod(size.kernel),
            fed=behind(data, TRANSPARENT).is_input,
            weight=weight,
            activation=activation,
            to_output=distances.get(node),
        )
