"""Find the tensors that overflow in a low-precision type, and the nodes where the overflows begin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from trtlint.measurement.folding import Folding
from trtlint.measurement.formats import Format, Range
from trtlint.measurement.keeping import merged
from trtlint.measurement.measurement import InternalValue, MeasuredTensor
from trtlint.measurement.narrowing import Probe
from trtlint.measurement.trial import RangeRun
from trtlint.model.graph import Node, Value
from trtlint.model.operators import SHAPE_READERS

_UNFOLDED = Folding()
_NOT_COMPUTING = SHAPE_READERS | {"Constant"}
"""Operators that do not compute with float elements. The low-precision type has no effect on them."""


class Findings(Struct):
    """The tensors and nodes with numbers beyond the range of the low-precision type (FP16, BF16 or TF32).

    Attributes:
        beyond: names of the tensors that exceed the range of the low-precision type, except constants.
        constants: names of the constants that exceed the range.
        inside: paths of the nodes that compute an internal number beyond the range, such as a square.
    """

    beyond: frozenset[str]
    constants: frozenset[str]
    inside: frozenset[str]


def findings(ranged: RangeRun, format_: Format) -> Findings:
    """Find the tensors and nodes whose FP32 numbers exceed the range of a low-precision type."""
    beyond, constants, inside = set(), set(), set()
    for probe in ranged.probes:
        greatest = ranged.greatest(probe)
        if greatest is None or greatest < format_.infinite_from or not probe.narrow:
            continue
        if probe.inside:
            inside.add(probe.node)
        elif probe.op == "Constant":
            constants.add(probe.tensor)
        else:
            beyond.add(probe.tensor)
    return Findings(frozenset(beyond), frozenset(constants), frozenset(inside))


def overflowing_inputs(inputs: Iterable[Value], found: Findings) -> frozenset[str]:
    """Return the inputs of a model that exceed the range and whose elements an operator reads."""
    return frozenset(
        value.name
        for value in inputs
        if value.name in found.beyond and any(node.op not in SHAPE_READERS for node, _ in value.uses)
    )


def origins(
    nodes: Iterable[Node],
    found: Findings,
    ranged: RangeRun,
    unsound: frozenset[str] | None,
    folding: Folding = _UNFOLDED,
    inputs: frozenset[str] = frozenset(),
) -> list[Node]:
    """Return the nodes where overflows begin: an output exceeds the range, but no input does.

    Args:
        nodes: the nodes of the main graph, in graph order.
        found: the tensors and nodes beyond the range.
        ranged: the run in FP32. Tensors that are not finite in this run are ignored.
        unsound: the tensors that are not finite in a run in the low-precision type. If ``unsound`` is None,
            tensors beyond the range in the FP32 run are used.
        folding: the operators that TensorRT folds into weights.
        inputs: the inputs of the model that exceed the range. Operators round inputs when they read them, so
            ``unsound`` contains no inputs.
    """
    infinite = {probe.tensor for probe in ranged.probes if not probe.inside and not ranged.finite(probe)}
    lost = found.beyond | infinite if unsound is None else unsound | inputs
    begun = []
    for node in nodes:
        names = {value.name for value in node.outputs if value.name}
        leaves = bool(names & lost) or (unsound is None and node.path in found.inside)
        if leaves and not names & infinite and not _names(_read_by(node, folding)) & lost:
            begun.append(node)
    return begun


def _read_by(node: Node, folding: Folding) -> Sequence[Value | None]:
    """Return the inputs of a node.

    For a node that TensorRT folds into a convolution, the result includes the inputs of the convolution.
    """
    affine = folding.affine.get(node.path)
    if affine is None or affine.convolution is None:
        return node.inputs
    return [*node.inputs, *affine.convolution.inputs]


def _names(values: Iterable[Value | None]) -> set[str]:
    return {value.name for value in values if value is not None}


def regions(
    nodes: Sequence[Node], found: Findings, *, constants: bool, folding: Folding = _UNFOLDED
) -> list[frozenset[str]]:
    """Group nodes that read or write tensors beyond the range.

    Nodes that share a tensor beyond the range are in the same group, unless the tensor is a constant.

    Args:
        nodes: the nodes of the main graph, in graph order.
        found: the tensors and nodes beyond the range.
        constants: true to include nodes whose only tensors beyond the range are constants.
        folding: the operators that TensorRT folds into weights. A convolution and the node that is folded
            into it are in the same group.

    Returns:
        The paths of the nodes of each group. The groups are in the order of their first nodes.
    """
    lost = found.beyond | found.constants if constants else found.beyond
    order: list[str] = []
    holders: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if (node.op in _NOT_COMPUTING and not node.domain) or node.path in folding.constants:
            continue
        touched = (_names(node.inputs) | _names(node.outputs)) & lost
        if not touched and node.path not in found.inside:
            continue
        order.append(node.path)
        for name in touched - found.constants:
            holders[name].append(node.path)
    own = set(order)
    layers = (layer for path in order if (layer := folding.together(path)) <= own)
    groups = merged([*((path,) for path in order), *holders.values(), *layers])
    return [frozenset().union(*map(folding.together, group)) for group in groups]


def sites(
    ranged: RangeRun,
    begun: Iterable[Node],
    unsound: frozenset[str],
    format_: Format,
    inputs: frozenset[str] = frozenset(),
) -> list[MeasuredTensor]:
    """Return the range of every float tensor, except initializers that fit the low-precision type.

    Args:
        ranged: the run in FP32.
        begun: the nodes where overflows begin.
        unsound: names of tensors that are not finite in a run in the low-precision type.
        format_: the low-precision type.
        inputs: the inputs of the model where overflows begin.
    """
    origin = {node.path for node in begun}
    outputs = {(probe.node, probe.tensor): probe for probe in ranged.probes if not probe.inside}
    waiting: dict[str, list[InternalValue]] = defaultdict(list)
    for probe in ranged.probes:
        if probe.inside:
            waiting[probe.node].append(InternalValue(probe.inside, ranged.greatest(probe)))
    listed = []
    for probe in outputs.values():
        inside = tuple(waiting.pop(probe.node, ()))  # for the first output of the node
        fits = _fits(ranged, probe, inside, format_)
        if probe.node in origin and probe.tensor in unsound:
            fits = "overflow"
        if not (probe.node or probe.op == "Input" or fits != "ok"):
            continue
        low, high = ranged.extremes(probe) or (None, None)
        listed.append(
            MeasuredTensor(
                probe.node,
                probe.op,
                probe.tensor,
                ranged.greatest(probe),
                low,
                high,
                fits,
                fits == "overflow" and (probe.node in origin or (not probe.node and probe.tensor in inputs)),
                probe.narrow,
                inside,
            )
        )
    return listed


def _fits(ranged: RangeRun, probe: Probe, inside: Sequence[InternalValue], format_: Format) -> Range:
    """Return ``ok`` if a tensor and the internal numbers of its node fit the range of a low-precision type.

    Otherwise, return ``overflow`` or ``underflow``.
    """
    if not probe.narrow:
        return "ok"
    overflows = any(format_.fits(each.max_abs or 0.0) == "overflow" for each in inside)
    return "overflow" if overflows else format_.fits(ranged.greatest(probe) or 0.0)
