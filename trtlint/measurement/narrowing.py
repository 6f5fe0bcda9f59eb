"""How a model is computed in a narrow type, and what is measured of it on the way."""

from __future__ import annotations

from trtlint.lean import dataclass
from trtlint.measurement.formats import Format

STATISTICS = "trtlint/statistics"
"""The output that holds the figures of all tensors that are measured."""
EXTREMES = ("ReduceMax", "ReduceMin", "ReduceL1")
"""The figures of a tensor in FP32.  Maximum and minimum may pass over a NaN, the sum never does."""
CLOSER = ("beyond", "vanishing", "smallest")
"""The figures of a second look: shares of elements, and the least magnitude that is not zero."""
SOUNDNESS = ("ReduceL1",)
"""The figure of a tensor in a narrow type: finite where all its numbers are."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A place where numbers are taken.

    Attributes:
        node: path of the node, empty for an input or an initializer.
        op: its operator type; ``Input`` or ``Constant`` where there is no node.
        tensor: name of the tensor.
        column: which of the groups of figures is its own.
        narrow: whether the tensor is narrow on the target.
        inside: what is measured inside of the operator, empty for its output.
    """

    node: str
    op: str
    tensor: str
    column: int
    narrow: bool
    inside: str = ""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """How a model is computed in a narrow type.

    Attributes:
        format: the type.
        keep: paths of the nodes that stay in FP32; they read weights and inputs as they are.
        clamped: names of constants that become the type's largest number where they are beyond its range;
            others become infinite.
        round_inputs: whether the model's inputs are rounded also where a node that is kept reads them.
        fused: whether only operands of products and stored tensors are rounded, not every tensor.
        stored: names of the tensors that a fused build stores; None for the results of products.
        accumulate: whether products accumulate in FP16.
    """

    format: Format
    keep: frozenset[str] = frozenset()
    clamped: frozenset[str] = frozenset()
    round_inputs: bool = False
    fused: bool = False
    stored: frozenset[str] | None = None
    accumulate: bool = False


@dataclass(frozen=True, slots=True)
class SecondLook:
    """What is looked at a second time, in FP32.

    Attributes:
        tensors: their names.
        format: the narrow type that decides what leaves the range and what vanishes.
    """

    tensors: frozenset[str]
    format: Format


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A model that can be run.

    Attributes:
        data: as serialized protobuf, every float input and output FP32.
        probes: what the statistics are of, in their order.
        outputs: the names of the model's float outputs.
        figures: how many figures there are of each tensor.
        sums: number of products that accumulate in FP16.
    """

    data: bytes
    probes: tuple[Probe, ...]
    outputs: tuple[str, ...]
    figures: int
    sums: int = 0
