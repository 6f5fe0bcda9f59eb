"""Infer dimensions that ONNX's shape inference does not find, by following the computation of shapes.

An example is a ``Reshape`` to ``[b, 2, n, -1]``, whose shape input is computed by ``Shape``, ``Slice`` and
``Concat``.  ONNX's inference does not find the last size if ``b`` and ``n`` are names.  This module
propagates the names of dynamic dimensions, and cancels equal names to compute the last size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from trtlint.model.folding import Array, ma
from trtlint.model.graph import Node, Value
from trtlint.model.protos import Dimension
from trtlint.model.sizes import (
    Dimensions,
    broadcast_shape,
    concat_shape,
    matmul_shape,
    merge_shapes,
    pad_shape,
    quotient,
    slice_shape,
    tile_shape,
    unsqueeze_shape,
)

_DEEPEST = 24
"""Depth limit of arithmetic on sizes.  The arithmetic that exporters write is at most half as deep."""
_MOST_DIMENSIONS = 16
_ELEMENTWISE = frozenset(
    {
        *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Where", "And", "Or", "Xor"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
    }
)
_BROADCAST = _ELEMENTWISE | {"Sum", "Mean"}
_OF_ALL = _ELEMENTWISE | {"Concat", "MatMul", "Gemm"}
_SAME_SHAPE = frozenset(
    {
        *("Identity", "Cast", "Neg", "Not", "Relu", "Abs", "Sqrt", "Exp", "Log", "Cos", "Sin", "Erf", "Clip"),
        *("Reciprocal", "Sigmoid", "Tanh", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Softplus"),
        *("BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization"),
        *("RMSNormalization", "Softmax", "LogSoftmax", "QuantizeLinear", "DequantizeLinear", "Trilu"),
    }
)
_GLOBAL_POOLS = frozenset({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
_WINDOWS = frozenset({"Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"})
_DYNAMIC_LIKE_INPUT = _SAME_SHAPE | {
    *("Elu", "Selu", "Celu", "Mish", "PRelu", "ThresholdedRelu", "Softsign", "Dropout", "LRN"),
    *("Floor", "Ceil", "Round", "Sign", "Pad", "Slice"),
}
"""Operators whose output has a dynamic dimension at least where the first input has one.  Measured with the
parsers of TensorRT-RTX 1.4 to 1.7: a slice of a dynamic dimension is dynamic, even for stored bounds."""


class SymbolicShapes:
    """The shapes of the values of a graph, computed on request.

    The results do not depend on the order of requests.  Each request passes a function that returns the
    elements of a value.  This object does not keep the function after the request, because the function is a
    method of the object's owner.  A stored function would make a reference cycle.  Only the garbage collector
    frees cycles, and the garbage collector is disabled during a lint.
    """

    _array: Callable[[Value], Array | None]

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Store the nodes of a graph, in topological order."""
        self._nodes = nodes
        self._at = 0
        self._shapes: dict[Value, Dimensions | None] = {}
        self._computed: dict[Value, frozenset[int]] = {}
        self._known: dict[Value, Dimensions | None] = {}

    def dimensions(self, value: Value, array: Callable[[Value], Array | None]) -> Dimensions | None:
        """Return the shape of a value, or None if the rank is unknown.

        Each unknown dimension in the shape is None.

        Args:
            value: a value of the graph.
            array: function that returns the elements of a value, masked where unknown.
        """
        shape, node = value.shape, value.producer
        if node is None or (shape is not None and None not in shape):
            return shape
        self._reach(node, array)
        return self._shape(value)

    def dynamic(self, value: Value, axis: int, array: Callable[[Value], Array | None]) -> bool | None:
        """Return whether a dimension is dynamic for TensorRT, or None if unknown.

        A named or unknown dimension of a model input is dynamic. A dimension that an operator computes from
        such a dimension is dynamic, too. Exporters also write names for dimensions that they cannot compute,
        but TensorRT computes some of these dimensions. So only the names of input dimensions count.

        Args:
            value: a value of the graph.
            axis: the position of the dimension, which may be negative.
            array: function that returns the elements of a value, masked where unknown.
        """
        dims = self.dimensions(value, array)
        if dims is None or not -len(dims) <= axis < len(dims):
            return None
        if isinstance(dims[axis], int):
            return False
        if value.producer is not None:
            self._reach(value.producer, array)
        return self._is_dynamic(value, axis % len(dims)) or None

    def _reach(self, node: Node, array: Callable[[Value], Array | None]) -> None:
        """Compute the shapes of all nodes up to ``node``, unless they are known."""
        if self._at <= node.index:
            self._array = array
            try:
                self._walk(node.index)
            finally:
                del self._array

    def _is_dynamic(self, value: Value | None, axis: int) -> bool:
        """Return whether a dimension is certainly dynamic.  ``axis`` is not negative."""
        dims = self._shape(value)
        if value is None or dims is None or axis >= len(dims) or isinstance(dims[axis], int):
            return False
        return value.is_input or self._is_of_input(dims[axis]) or axis in self._computed.get(value, ())

    def _is_of_input(self, dim: Dimension) -> bool:
        """Return whether a dimension is a product of numbers and of named dimensions of the model inputs."""
        return isinstance(dim, str) and all(
            part.isdecimal() or part in self._names for part in dim.split("*")
        )

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of the dimensions of the model inputs."""
        inputs = {value for node in self._nodes for value in node.inputs if value and value.is_input}
        sizes = (size for value in inputs for size in value.shape or ())
        return frozenset(size for size in sizes if isinstance(size, str))

    def _is_computed(self, node: Node, axis: int, rank: int) -> bool:
        """Return whether an operator computes a dimension of its output from a dynamic dimension."""
        if node.op in _WINDOWS:
            return axis > 1 and self._is_dynamic(node.input(0), axis)
        if node.op in _DYNAMIC_LIKE_INPUT or (node.op in ("Resize", "Upsample") and node.input(3) is None):
            return self._is_dynamic(node.input(0), axis)
        if node.op == "Reshape":
            return self._is_remainder(node, axis)
        if node.op == "Concat":
            parts = [self._is_dynamic(value, axis) for value in node.inputs]
            return any(parts) if axis == node.integer("axis", 0) % rank else all(parts)
        return node.op in _BROADCAST and self._is_broadcast(node, axis - rank)

    def _is_remainder(self, node: Node, axis: int) -> bool:
        """Return whether a dimension is the size -1 of a ``Reshape``, and comes from a dynamic dimension.

        All other sizes of the ``Reshape`` must be stored; a size 0 keeps a dimension of the data.
        """
        data, target = self._shape(node.input(0)), self._elements(node.input(1))
        if data is None or target is None or target[axis] != -1 or node.integer("allowzero", 0):
            return False
        rest = (index for index in range(len(data)) if index >= len(target) or target[index] != 0)
        stored = all(isinstance(size, int) for size in target)
        return stored and any(self._is_dynamic(node.input(0), index) for index in rest)

    def _is_broadcast(self, node: Node, axis: int) -> bool:
        """Return whether each input has a dynamic dimension or the size 1 at ``axis``, which is negative."""
        sizes: list[bool] = []
        for value in node.inputs:
            dims = self._shape(value)
            if dims is None:
                return False
            if len(dims) >= -axis and dims[axis] != 1:
                sizes.append(self._is_dynamic(value, axis + len(dims)))
        return bool(sizes) and all(sizes)

    def _walk(self, last: int) -> None:
        """Compute the shapes of all nodes up to the index ``last``."""
        while self._at <= last:
            node = self._nodes[self._at]
            self._at += 1
            self._visit(node)

    def _visit(self, node: Node) -> None:
        inferred: Dimensions | None = None
        unknown = [value for value in node.outputs if value.shape is None or None in value.shape]
        if unknown and not node.domain:
            inferred = self._shape_of(node)
        parts = self._parts(node, inferred) if inferred is not None and node.op == "Split" else ()
        for value in unknown:
            like = inferred if value is node.output else None
            if parts:
                like = parts[node.outputs.index(value)]
            self._shapes[value] = merge_shapes(value.shape, like)
        shape = self._shape(node.outputs[0]) if node.outputs and not node.domain else None
        if shape is not None and not all(isinstance(dim, int) or self._is_of_input(dim) for dim in shape):
            axes = (axis for axis, dim in enumerate(shape) if not isinstance(dim, int))
            computed = frozenset(axis for axis in axes if self._is_computed(node, axis, len(shape)))
            self._computed[node.outputs[0]] = computed

    def _parts(self, node: Node, data: Dimensions) -> list[Dimensions]:
        """Return the output shapes of ``Split``.  If the sizes are not given, the parts are equal."""
        count = len(node.outputs)
        axis = node.integer("axis", 0) % len(data)
        sizes: Sequence[Dimension] | None = node.attribute("split") or self._elements(node.input(1))
        whole = data[axis]
        equal = node.input(1) is None
        if sizes is None and equal and isinstance(whole, int) and whole % count == 0:
            sizes = [whole // count] * count
        if sizes is None or len(sizes) != count:
            sizes = [None] * count
        return [(*data[:axis], size, *data[axis + 1 :]) for size in sizes]

    def _shape(self, value: Value | None) -> Dimensions | None:
        """Return the shape that this object computed for a value, or else the shape from ONNX's inference."""
        return None if value is None else self._shapes.get(value, value.shape)

    def _elements(self, value: Value | None, depth: int = 0) -> Dimensions | None:
        """Return the elements of an integer tensor that holds sizes, or None if they cannot be computed.

        Each element is a number, the name of a dynamic dimension, or None.
        """
        if value is None:
            return None
        if value not in self._known:
            array = self._array(value)
            found: Dimensions | None = None
            if array is not None and not ma.is_masked(array):
                found = tuple(int(x) for x in array.ravel()) if array.dtype.kind in "iu" else None
            elif value.producer is not None and not value.producer.domain and depth < _DEEPEST:
                found = self._elements_of(value.producer, depth + 1)
            if found is None and array is not None and value.dtype in ("i64", "i32"):
                masked = ma.getmaskarray(array).ravel()
                numbers = ma.getdata(array).ravel()
                found = tuple(None if gone else int(x) for gone, x in zip(masked, numbers, strict=True))
            self._known[value] = found
        return self._known[value]

    def _shape_of(self, node: Node) -> Dimensions | None:
        data = self._shape(node.input(0))
        if node.op == "ConstantOfShape":
            return self._sizes(node.input(0))
        if node.op == "Range":
            return self._counted(node)
        if node.op == "Reshape":
            return (None if data is None else self._reshaped(node, data)) or self._sizes(
                node.input(1), known=False
            )
        if node.op == "Conv":
            return self._convolved(node, data)
        if data is None or node.op in _SAME_SHAPE:
            return data
        if node.op in _GLOBAL_POOLS:
            return (*data[:2], *(1 for _ in data[2:]))
        if node.op in _OF_ALL:
            parts = [self._shape(value) for value in node.inputs]
            found = [part for part in parts if part is not None]
            return _together(node, found) if len(found) == len(parts) else None
        if node.op == "Transpose":
            order = node.attribute("perm") or range(len(data))[::-1]
            return tuple(data[axis] for axis in order) if sorted(order) == [*range(len(data))] else None
        return self._rearranged(node, data)

    def _convolved(self, node: Node, data: Dimensions | None) -> Dimensions | None:
        """Return the batch size, channels and rank of the output of ``Conv``.

        The weights determine the channels and the rank, even if the rank of ``data`` is unknown.
        """
        weights = self._shape(node.input(1))
        return None if not weights else (data[0] if data else None, weights[0], *(None for _ in weights[2:]))

    def _rearranged(self, node: Node, data: Dimensions) -> Dimensions | None:
        """Return the output shape of an operator, such as ``Slice``, that depends on several inputs."""
        if node.op == "Gather":
            picked, axis = self._shape(node.input(1)), node.attribute("axis", 0)
            if picked is None or not -len(data) <= axis < len(data):
                return None
            return data[: axis % len(data)] + picked + data[axis % len(data) + 1 :]
        if node.op == "Split" and data:
            return data
        known = self._elements(node.input(1))
        if node.op == "Unsqueeze":
            axes = node.attribute("axes") or known
            numbers = [axis for axis in axes or () if isinstance(axis, int)]
            return None if axes is None else unsqueeze_shape(data, numbers)
        if node.op == "Pad":
            pads = node.attribute("pads") or known
            return None if pads is None or node.input(3) is not None else pad_shape(data, pads)
        if node.op == "Slice":
            return slice_shape(data, [self._elements(value) for value in node.inputs[1:]])
        if known is None or any(isinstance(size, int) and size < 0 for size in known):
            return None
        if node.op == "Expand":
            return broadcast_shape([data, known])
        return tile_shape(data, known) if node.op == "Tile" else None

    def _counted(self, node: Node) -> Dimensions | None:
        """Return the output shape of a ``Range`` from 0 with step 1: the value of its input ``limit``."""
        first, end, step = (self._elements(node.input(i)) for i in range(3))
        if first != (0,) or step != (1,) or end is None or len(end) != 1:
            return None
        return None if isinstance(end[0], int) and end[0] < 0 else end

    def _sizes(self, shape: Value | None, *, known: bool = True) -> Dimensions | None:
        """Return the shape that the elements of ``shape`` describe, or None if even the rank is unknown.

        If ``known`` is False, or if the elements are unknown, the result has only the rank: each dimension is
        None.
        """
        sizes = self._elements(shape) if known else None
        if sizes is not None:
            return sizes
        dims = self._shape(shape)
        count = dims[0] if dims is not None and len(dims) == 1 else None
        return (None,) * count if isinstance(count, int) and count <= _MOST_DIMENSIONS else None

    def _reshaped(self, node: Node, data: Dimensions) -> Dimensions | None:
        target = self._elements(node.input(1))
        if target is None or 0 in target or target.count(-1) > 1:
            return None
        if None in target:  # an unknown size may also be -1
            return tuple(None if dim == -1 else dim for dim in target)
        if -1 not in target:
            return target
        size = quotient(data, [dim for dim in target if dim != -1])
        return tuple(size if dim == -1 else dim for dim in target)

    def _elements_of(self, node: Node, depth: int) -> Dimensions | None:
        if node.op == "Shape":
            data = self._shape(node.input(0))
            return None if data is None else data[slice(node.attribute("start", 0), node.attribute("end"))]
        parts = [self._elements(value, depth) for value in node.inputs]
        if not parts or parts[0] is None:
            return None
        if node.op in ("Identity", "Cast", "Unsqueeze", "Squeeze"):
            return parts[0]
        if node.op == "Concat":
            return tuple(dim for part in parts for dim in part or ()) if None not in parts else None
        if node.op == "Gather":
            return _gather(parts[0], parts[1])
        return _slice(parts[0], parts[1:]) if node.op == "Slice" else None


def _together(node: Node, parts: list[Dimensions]) -> Dimensions | None:
    """Return the output shape of Concat, MatMul, Gemm, or an operator that broadcasts its inputs.

    ``parts`` are the input shapes.
    """
    if node.op == "Concat":
        return concat_shape(parts, node.attribute("axis", 0))
    if node.op == "MatMul":
        return matmul_shape(*parts) if len(parts) == 2 else None
    if node.op == "Gemm":
        rows, columns = node.attribute("transA", 0), node.attribute("transB", 0)
        fits = len(parts) > 1 and len(parts[0]) == len(parts[1]) == 2
        return (parts[0][1 if rows else 0], parts[1][0 if columns else 1]) if fits else None
    return broadcast_shape(parts)


def _gather(data: Dimensions, indices: Dimensions | None) -> Dimensions | None:
    known = [i for i in indices or () if isinstance(i, int) and -len(data) <= i < len(data)]
    return tuple(data[i] for i in known) if indices is not None and len(known) == len(indices) else None


def _slice(data: Dimensions, bounds: list[Dimensions | None]) -> Dimensions | None:
    """Return a slice of a vector; ``bounds`` are starts, ends, axes and steps."""
    numbers = [bound[0] if bound and isinstance(bound[0], int) else None for bound in bounds]
    if len(numbers) < 2 or numbers[0] is None or numbers[1] is None:
        return None
    step = numbers[3] if len(numbers) > 3 else 1
    return data[numbers[0] : numbers[1] : step] if isinstance(step, int) and step > 0 else None
