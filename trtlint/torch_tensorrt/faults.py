"""Known faults of Torch-TensorRT's converters, the affected operators, and their results in a dry run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from msgspec import Struct, convert

from trtlint.knowledge import data
from trtlint.knowledge.torchreleases import torch_release
from trtlint.torch_tensorrt.arguments import TensorType
from trtlint.torch_tensorrt.program import Program, ProgramNode
from trtlint.torch_tensorrt.result import Fallback

Stage = Literal["", "unused", "compile", "network", "build", "passed"]
"""Result of the dry run for an operator:

- empty: no result
- ``unused``: the converter is not used
- ``compile``: the compilation ends with an error
- ``network``: the creation of a network ends with an error
- ``build``: the builder rejects the network of the operator
- ``passed``: no error
"""


class ConverterFault(Struct, frozen=True):
    """One row of trtlint/knowledge/torch_converter_faults.yaml.

    Attributes:
        name: the name of the fault.
        ops: the operators with the fault, named as in a program; empty for any operator of ATen.
        since: minor number of the first release with the fault, among the releases from 2.5 on.
        fixed: minor number of the first release without the fault; 0 if no release up to 2.14 fixes the
            fault.
        when: the conditions under which the fault occurs; all must hold.
        words: the effect of the fault.
        do: the workaround in a release with the fault.
        source: public source of the fix or of the fault.
        ends: true if the compilation ends with an error, false if results are wrong.
        becomes: the operator that replaces this operator in lowering; empty if lowering keeps this operator.
    """

    name: str
    when: Mapping[str, Any]
    words: str
    do: str
    source: str
    ops: tuple[str, ...] = ()
    since: int = 5
    fixed: int = 0
    ends: bool = True
    becomes: str = ""

    def affects(self, minor: int) -> bool:
        """Return whether a release has the fault."""
        return self.since <= minor and (not self.fixed or minor < self.fixed)


@cache
def converter_faults() -> tuple[ConverterFault, ...]:
    """Return the table of faults."""
    return convert(data("torch_converter_faults"), tuple[ConverterFault, ...])


def matches(fault: ConverterFault, node: ProgramNode) -> bool:
    """Return whether an operator certainly meets all conditions under which a converter fails."""
    if fault.ops and node.op not in fault.ops:
        return False
    if not fault.ops and not node.op.startswith("aten."):
        return False
    return all(_TESTS[name](node, expected) for name, expected in fault.when.items())


def _default(node: ProgramNode, expected: Mapping[str, Any]) -> bool:
    """Return whether arguments are omitted or have their default value.

    ``expected`` has the default values by the names of the arguments. If the arguments of the node are
    unknown, the result is False.
    """
    found = [(node.argument(name), value) for name, value in expected.items()]
    return bool(node.arguments) and all(each is None or each.value == value for each, value in found)


def _values(node: ProgramNode, expected: Mapping[str, Sequence[Any]]) -> bool:
    found = [(node.argument(name), values) for name, values in expected.items()]
    return all(argument is not None and argument.value in values for argument, values in found)


def _symbolic(node: ProgramNode, names: Sequence[str]) -> bool:
    arguments = [node.argument(name) for name in names]
    return all(argument is not None and argument.symbolic for argument in arguments)


def _elements(node: ProgramNode, expected: Mapping[str, Sequence[str]]) -> bool:
    """Return whether each tensor of the arguments in ``expected`` has one of the given element types."""
    found = [(_tensors(node, name), elements) for name, elements in expected.items()]
    return all(
        tensors and all(each is not None and each.element in elements for each in tensors)
        for tensors, elements in found
    )


def _any_element(node: ProgramNode, elements: Sequence[str]) -> bool:
    return any(each.element in elements for each in _all_known(node))


def _differs(node: ProgramNode, pair: Sequence[str]) -> bool:
    """Return whether the element type in an argument differs from the element type of a tensor.

    ``pair`` names two arguments of the operator: the element type and the tensor.
    """
    argument = node.argument(pair[0])
    tensor = _tensor(node, pair[1])
    return (
        argument is not None
        and isinstance(argument.value, str)
        and tensor is not None
        and tensor.element not in ("?", argument.value)
    )


def _rank(node: ProgramNode, least: int) -> bool:
    """Return whether the first result, or any argument, has at least ``least`` axes."""
    result = node.type.count(",") + 1 if "[" in node.type else 0
    return result >= least or any(len(each.sizes) >= least for each in _all_known(node))


def _unbacked(node: ProgramNode, names: Sequence[str]) -> bool:
    return all(any(each and each.unbacked for each in _tensors(node, name)) for name in names)


def _dynamic_axis(node: ProgramNode, pair: Sequence[str]) -> bool:
    """Return whether the size of a tensor along an axis is dynamic.

    ``pair`` names two arguments of the operator: the tensor and the axis. The default axis is 0.
    """
    tensor, axis = _tensor(node, pair[0]), node.argument(pair[1])
    index = 0 if axis is None else axis.value
    if tensor is None or not isinstance(index, int) or not -len(tensor.sizes) <= index < len(tensor.sizes):
        return False
    return tensor.sizes[index] is None


def _free_dynamic(node: ProgramNode, pair: Sequence[str]) -> bool:
    """Return whether a tensor has a dynamic size along an axis that has no index.

    ``pair`` names two arguments of the operator: the tensor, and the list with one index per axis. None in
    this list means that the axis has no index.
    """
    tensor, indexes = _tensor(node, pair[0]), _tensors(node, pair[1])
    if tensor is None or not indexes:
        return False
    free = [size for size, index in zip(tensor.sizes, indexes, strict=False) if index is None]
    return None in free or None in tensor.sizes[len(indexes) :]


def _full_values(node: ProgramNode, names: Sequence[str]) -> bool:
    """Return whether an index follows a ``:``, and the values have as many axes as the tensor.

    For example, the first axis in ``x[:, index] = values`` has no index, and the second axis has one.

    Args:
        node: the operator.
        names: three argument names. The arguments are the tensor, the indexes and the values.
    """
    tensor, values = _tensor(node, names[0]), _tensor(node, names[2])
    if tensor is None or values is None or len(values.sizes) != len(tensor.sizes):
        return False
    found = _tensors(node, names[1])
    return any(each and each.sizes and None in found[:position] for position, each in enumerate(found))


def _sizes_differ(node: ProgramNode, pair: Sequence[str]) -> bool:
    first, second = (_tensor(node, name) for name in pair)
    if first is None or second is None or None in first.sizes or None in second.sizes:
        return False
    return first.sizes != second.sizes


def _static(node: ProgramNode, expected: bool) -> bool:
    """Return whether all known sizes of the arguments are static.

    If ``expected`` is False, return whether at least one known size is dynamic.
    """
    return all(None not in each.sizes for each in _all_known(node)) is expected


def _axes(node: ProgramNode, expected: Mapping[str, int]) -> bool:
    """Return whether each argument that ``expected`` names is a tensor with the given number of axes."""
    found = [(_tensor(node, name), count) for name, count in expected.items()]
    return all(tensor is not None and len(tensor.sizes) == count for tensor, count in found)


def _misaligned(node: ProgramNode, expected: Mapping[str, str]) -> bool:
    """Return whether the converter of index_put aligns the values with the wrong axes.

    The converter expects the index axis first, so it may move an axis of the values to the front. It moves
    the first axis whose size is the number of indexes.

    Args:
        node: the operator.
        expected: three keys. ``values`` is the name of the argument with the values. ``axis`` is the name of
            the argument with the index axis. ``moves`` states when the converter moves an axis: ``never``,
            ``always`` or ``last``. For ``last``, the converter moves an axis only if the index axis is
            the last of three or more axes.
    """
    argument, values = node.argument(expected["axis"]), _tensor(node, expected["values"])
    axis = None if argument is None else argument.value
    sizes = () if values is None else values.sizes
    if not isinstance(axis, int):
        return False
    axis += len(sizes) if axis < 0 else 0
    if axis < 1:
        return False
    moves = expected["moves"]
    if axis >= len(sizes):
        return moves != "always"
    if moves == "always" or (moves == "last" and axis == len(sizes) - 1 >= 2):
        if sizes[axis] is None:
            return False
        first = sizes.index(sizes[axis])
        return first < axis and any(size != 1 for size in sizes[first : axis + 1])
    return any(size != 1 for size in sizes[: axis + 1])


def _mask_rank(node: ProgramNode, expected: Mapping[str, int]) -> bool:
    """Return whether each argument in ``expected`` has a boolean mask whose rank is high enough.

    The arguments are lists of tensors.  ``expected`` maps the name of each argument to the lowest sufficient
    rank.
    """
    return all(
        any(each and each.element == "bool" and len(each.sizes) >= least for each in _tensors(node, name))
        for name, least in expected.items()
    )


def _number(node: ProgramNode, name: str) -> bool:
    argument = node.argument(name)
    value = None if argument is None else argument.value
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _tensors(node: ProgramNode, name: str) -> tuple[TensorType | None, ...]:
    """Return the types of an argument's tensors, with None for an unknown type or an empty list entry."""
    argument = node.argument(name)
    return () if argument is None else argument.tensors


def _tensor(node: ProgramNode, name: str) -> TensorType | None:
    """Return the type of an argument's first tensor, or None if the argument is omitted or unknown."""
    return next(iter(_tensors(node, name)), None)


def _all_known(node: ProgramNode) -> Iterator[TensorType]:
    """Yield the known types of the tensors in all arguments."""
    return (each for argument in node.arguments for each in argument.tensors if each is not None)


_TESTS: Mapping[str, Callable[[ProgramNode, Any], bool]] = {
    "default": _default,
    "values": _values,
    "symbolic": _symbolic,
    "elements": _elements,
    "any_element": _any_element,
    "differs": _differs,
    "rank": _rank,
    "unbacked": _unbacked,
    "dynamic_axis": _dynamic_axis,
    "free_dynamic": _free_dynamic,
    "full_values": _full_values,
    "sizes_differ": _sizes_differ,
    "axes": _axes,
    "static": _static,
    "misaligned": _misaligned,
    "mask_rank": _mask_rank,
    "number": _number,
}


class Outcome(Struct, frozen=True):
    """Result of a dry run for one operator.

    Attributes:
        stage: the result.
        said: the error; empty if there is no error.
    """

    stage: Stage = ""
    said: str = ""


def faults_of(program: Program) -> Iterator[tuple[ProgramNode, ConverterFault]]:
    """Yield the operators that a known converter fault affects, in the order of the graph.

    Each operator comes with the first fault that affects it.
    """
    minor = torch_release(program.release).minor
    faults = [fault for fault in converter_faults() if fault.affects(minor)]
    for node in program.nodes:
        fault = next((each for each in faults if matches(each, node)), None)
        if fault is not None:
            yield node, fault


def outcome_of(program: Program, node: ProgramNode, fault: ConverterFault) -> Outcome:
    """Return what the dry run found about an operator that a converter fault affects."""
    run = program.run
    if run is None or run.unasked:
        return Outcome()
    if _is_cause(node, fault, run.error, None):
        return Outcome("compile", run.error)
    for failure in run.failures:
        if _is_cause(node, fault, failure.message, failure.node):
            return Outcome("network" if failure.stage == "network" else "build", failure.message)
    if run.error or run.failures:
        return Outcome()
    in_torch = {each.name for each in run.fallbacks} | {each.op for each in run.fallbacks if each.op}
    if run.engines == 0 or node.name in in_torch or fault.becomes in in_torch:
        return Outcome("unused")
    return Outcome("passed")


def is_known(
    faults: Sequence[tuple[ProgramNode, ConverterFault]], said: str, failed: Fallback | None
) -> bool:
    """Return whether a known fault of a converter explains an error of the dry run.

    Args:
        faults: the operators with a fault, from :func:`faults_of`.
        said: the error.
        failed: the operator at which the conversion failed; None if unknown.
    """
    return any(_is_cause(node, fault, said, failed) for node, fault in faults)


def _is_cause(node: ProgramNode, fault: ConverterFault, said: str, failed: Fallback | None) -> bool:
    """Return whether an error occurs at an operator with a fault, or at a node that uses its result."""
    if not fault.ends or not said:
        return False
    if failed is not None and (
        failed.name == node.name
        or (bool(node.trace) and failed.trace == node.trace)
        or (bool(fault.becomes) and failed.op == fault.becomes)
    ):
        return True
    ops = [op for op in (node.op, fault.becomes) if op]
    if any(f"({op} in " in said or f"[aten_ops.{op.removeprefix('aten.')}]" in said for op in ops):
        return True
    return re.search(rf"%{re.escape(node.name)}\b", said) is not None
