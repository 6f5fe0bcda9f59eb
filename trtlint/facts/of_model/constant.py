"""Find stored tensors of a model, and the effect of FP16 on their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
import onnx
from msgspec import Struct

from trtlint.facts.base import Fact, Step
from trtlint.facts.blocks.softmax import MaskPath, mask_paths
from trtlint.facts.facts import Facts
from trtlint.model.folding import fill_of
from trtlint.model.graph import Node, Value
from trtlint.model.protos import DTYPES, ElementType
from trtlint.model.values import Constants

_Array = np.ndarray[Any, Any]
# The type annotations of these functions differ between NumPy releases.
_FMIN: Any = np.fmin
_FMAX: Any = np.fmax
FP16_MAX = 65504.0
"""The largest finite FP16 number.  Numbers from 65520 on round to infinity."""
FP16_MIN_NORMAL = 2.0**-14
"""The smallest normal FP16 number, 6.1e-5.

Smaller numbers lose precision, and numbers up to 3e-8 become 0.
"""


class Values(Struct, frozen=True, eq=False):
    """Statistics of a stored float tensor, computed when a property is read.

    Each property is None if the tensor has no float type, or if its elements cannot be read.
    """

    _value: Value
    _constants: Constants

    def __repr__(self) -> str:
        return f"Values({self._value.name})"

    @property
    def low(self) -> float | None:
        """The smallest element, ignoring NaN."""
        return self._reduced(_FMIN)

    @property
    def high(self) -> float | None:
        """The largest element, ignoring NaN."""
        return self._reduced(_FMAX)

    @property
    def beyond_fp16(self) -> int | None:
        """Number of finite elements beyond the range of FP16."""
        return self._count(lambda values: (np.abs(values) > FP16_MAX) & np.isfinite(values))

    @property
    def subnormal_fp16(self) -> int | None:
        """Number of non-zero elements that become subnormal or zero in FP16."""
        return self._count(lambda values: (values != 0) & (np.abs(values) < FP16_MIN_NORMAL))

    @property
    def infinite(self) -> int | None:
        """Number of infinite elements."""
        return self._count(np.isinf)

    @property
    def nan(self) -> int | None:
        """Number of NaN elements."""
        return self._count(np.isnan)

    def _reduced(self, function: Any) -> float | None:
        values = self._read()
        return None if values is None or values.size == 0 else float(function.reduce(values, axis=None))

    def _count(self, condition: Callable[[_Array], _Array]) -> int | None:
        values = self._read()
        return None if values is None else int(np.count_nonzero(condition(values)))

    def _read(self) -> _Array | None:
        value, constants = self._value, self._constants
        if value.producer is not None and value.producer.op == "ConstantOfShape":
            values = fill_of(value.producer.attribute("value"))
        elif constants.stored(value) is not None:
            values = constants.payload(value)
        else:  # Constant with value_float or value_floats
            values = constants.array(value)
        if values is None or not (values.dtype.kind == "f" or values.dtype.name == "bfloat16"):
            return None
        # Compare with FP16_MAX in a type that can represent larger numbers.
        return np.asarray(values if values.dtype.itemsize >= 4 else values.astype(np.float32))


class Constant(Fact, frozen=True):
    """A stored tensor: an initializer, a ``Constant`` node, or the value of a ``ConstantOfShape``.

    ``node`` is the ``Constant`` or ``ConstantOfShape`` node. For an initializer, ``node`` is the first
    node that reads the tensor.

    Attributes:
        name: name of the tensor.
        dtype: element type; None if unknown.
        shape: dimensions; ``()`` for the value of a ``ConstantOfShape``.
        size: number of elements.
        readers: types of the operators that read the tensor, in graph order. A type can occur several times.
        softmax: number of nodes between the tensor and the nearest Softmax downstream. The tensor masks,
            fills or scales the input of this Softmax. None if there is no Softmax within eight nodes.
        added: whether the tensor is added to the scores, by an addition or subtraction on the path to the
            Softmax, or by an ``Attention`` operator.
        multiplied: whether the tensor is multiplied on the path to the Softmax. An infinite element can then
            become NaN, because 0 · inf is NaN.
        narrowed_to: the 16-bit float type of a ``Cast`` on the path to the Softmax; None if there is no such
            Cast.
        fill: whether a ``Where`` or ``ConstantOfShape`` fills a tensor with this value.
        values: statistics of the elements, which trtlint reads from the file on demand.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "constant": "the node that holds the constant or, for an initializer, its first reader",
        "path": "an operator between the constant and the Softmax",
        "cast": "the Cast to a 16-bit float type between the constant and the Softmax",
        "softmax": "the Softmax",
    }

    name: str
    dtype: ElementType | None
    shape: tuple[int, ...]
    size: int
    readers: tuple[str, ...]
    softmax: int | None
    added: bool
    multiplied: bool
    narrowed_to: Literal["f16", "bf16"] | None
    fill: bool
    values: Values


def find(facts: Facts) -> Iterator[Constant]:
    """Yield the stored tensors of a model.

    Initializers that a node reads come first, in file order.  Then come the nodes with stored tensors, in
    graph order.
    """
    graph, constants = facts.model.graph, facts.model.constants
    paths = mask_paths(graph)
    for values in graph.values.values():
        for value in values:
            if value.initializer is not None and value.uses:
                yield _fact(value, value.uses[0][0], constants, paths)
    for node in graph.of_onnx("Constant", "ConstantOfShape"):
        if node.output.uses:
            yield _fact(node.output, node, constants, paths)


def _fact(value: Value, node: Node, constants: Constants, paths: Mapping[Value, MaskPath]) -> Constant:
    path = paths.get(value)
    nodes = path.nodes if path else ()
    operators = {step.op for step in nodes}
    stored = constants.stored(value)
    fills = node.op == "ConstantOfShape" and node.output is value
    proto = node.attribute("value") if fills else stored
    dtype = DTYPES.get(proto.data_type) if isinstance(proto, onnx.TensorProto) else value.dtype
    shape = () if fills or stored is None else tuple(stored.dims)
    casts = (step for step in nodes if step.op == "Cast")
    narrowing = next((cast for cast in casts if cast.output.dtype in ("f16", "bf16")), None)
    return Constant(
        node=node,
        chain=_chain(node, path, narrowing),
        name=value.name,
        dtype=dtype,
        shape=shape,
        size=prod(shape),
        readers=tuple(reader.op for reader, _ in value.uses),
        softmax=None if path is None else len(path.nodes),
        # The operator Attention adds its mask to the scores. In older opsets, exporters write an Add instead.
        added=bool(operators & {"Add", "Sub"}) or (path is not None and path.softmax.op == "Attention"),
        multiplied="Mul" in operators,
        narrowed_to=None if narrowing is None else _narrow(narrowing.output.dtype),
        fill=fills or any(reader.op == "Where" and port > 0 for reader, port in value.uses),
        values=Values(value, constants),
    )


def _narrow(dtype: str | None) -> Literal["f16", "bf16"]:
    return "bf16" if dtype == "bf16" else "f16"


def _chain(node: Node, path: MaskPath | None, narrowing: Node | None) -> tuple[Step, ...]:
    steps = [Step(node, "constant", label="filled or read here")]
    for step in path.nodes if path else ():
        if step is narrowing:
            steps.append(Step(step, "cast", label=f"becomes {step.output.dtype}"))
        elif step is not node:
            steps.append(Step(step, "path"))
    if path is not None and path.softmax is not node:
        steps.append(Step(path.softmax, "softmax"))
    return tuple(steps)
