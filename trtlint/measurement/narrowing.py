"""Settings of a run that simulates FP16, BF16 or TF32, and records of the tensors that a run measures."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from trtlint.measurement.formats import Format

STATISTICS = "trtlint/statistics"
"""Name of the model output with the statistics of all measured tensors."""
EXTREMES = ("ReduceMax", "ReduceMin", "ReduceL1")
"""Operators for the statistics of a tensor in FP32.

ReduceMax and ReduceMin can skip a NaN. ReduceL1 never skips a NaN.
"""
CLOSER = ("beyond", "vanishing", "smallest")
"""Names of the additional statistics of a tensor beyond the range.

These are two shares of elements, and the smallest nonzero magnitude.
"""
SOUNDNESS = ("ReduceL1",)
"""Operator for the statistic of a tensor in a low-precision type.

The statistic is the sum of magnitudes, which is finite only if all numbers are finite.
"""


class Probe(Struct, frozen=True):
    """A tensor that a run measures, or an internal number of an operator, such as a square.

    Attributes:
        node: path of the node; empty for an input or an initializer.
        op: operator type of the node; ``Input`` or ``Constant`` if there is no node.
        tensor: name of the tensor.
        column: index of the row of statistics. Tensors with the same elements share a row.
        narrow: true if the tensor gets the low-precision type in a build.
        inside: name of the internal number; empty for the output of the operator.
    """

    node: str
    op: str
    tensor: str
    column: int
    narrow: bool
    inside: str = ""


class Narrowing(Struct, frozen=True):
    """Settings of a run that simulates a low-precision type (FP16, BF16 or TF32).

    Attributes:
        format: the low-precision type.
        keep: paths of the nodes to compute in FP32. These nodes read unrounded weights.
        clamped: names of constants that are clamped to the range of the type. All other constants beyond the
            range become infinite.
        round_inputs: true if the nodes in ``keep`` read rounded inputs of the model, false if they read
            unrounded inputs.
        fused: true to round only the operands of products and the tensors that ``stored`` selects, false to
            round every tensor.
        stored: names of the tensors that the layers of a build write to memory. None selects the results of
            products. This field is used only if ``fused`` is true.
        accumulate: true if products accumulate in FP16.
    """

    format: Format
    keep: frozenset[str] = frozenset()
    clamped: frozenset[str] = frozenset()
    round_inputs: bool = False
    fused: bool = False
    stored: frozenset[str] | None = None
    accumulate: bool = False


class SecondLook(Struct, frozen=True):
    """Tensors whose further statistics (:class:`Closer`) are measured in another run in FP32.

    Attributes:
        tensors: names of the tensors.
        format: the low-precision type. The tensors are compared with the range of this type.
    """

    tensors: frozenset[str]
    format: Format


class RewrittenModel(Struct, frozen=True):
    """A rewritten model that also returns statistics of its tensors.

    Attributes:
        data: serialized protobuf.  Every float input and output is FP32.
        probes: the measured tensors and internal numbers.
        outputs: names of the float outputs of the model. If the model has none, the names of the tensors that
            trtlint compares instead (:class:`~trtlint.measurement.compared.ComparedTensors`).
        figures: number of statistics for each tensor.
        sums: number of products that accumulate in FP16.
        choices: names of outputs with indices that operators such as TopK choose. The values are the names
            of the tensors with the indices that the rewritten model itself would choose.
        renamed: the names of outputs in the rewritten model, if they may differ from ``outputs``.
    """

    data: bytes
    probes: tuple[Probe, ...]
    outputs: tuple[str, ...]
    figures: int
    sums: int
    choices: Mapping[str, str] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def fetched(self) -> Mapping[str, str]:
        """Return the outputs and choices that a run returns, with their names in the rewritten model."""
        return {**{name: self.renamed.get(name, name) for name in self.outputs}, **self.choices}
