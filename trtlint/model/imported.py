"""Determine which operators TensorRT's ONNX parser imports, and with which element types.

https://github.com/onnx/onnx-tensorrt/blob/3b9c961a4318/conditionalHelpers.cpp and
https://github.com/onnx/onnx-tensorrt/blob/3b9c961a4318/onnxProtoUtils.cpp
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trtlint.model.graph import WITH_BODIES, Graph, Node, Value
from trtlint.model.operators import QUANTIZE, SHAPE_READERS
from trtlint.model.values import Constants
from trtlint.model.walks import search

_MOST_VISITED = 500
"""Limit of values visited in a search for the sources of a value."""
_INTEGER = frozenset({"i32", "i64", "bool", "u8", "i8"})
_OF_SIZES = frozenset(
    {
        *("Constant", "ConstantOfShape", "Identity", "Cast", *SHAPE_READERS),
        *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Where", "And", "Or", "Not"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
        *("Sum", "Mean", "Xor", "IsNaN", "IsInf", "Sign", "Reciprocal", "CastLike", "Dropout", "OneHot"),
        *("Neg", "Abs", "Sqrt", "Exp", "Log", "Floor", "Ceil", "Round", "Erf", "Relu", "Clip", "Sigmoid"),
        *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh"),
        *("Elu", "Selu", "Celu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "HardSwish", "Shrink"),
        *("Softplus", "Softsign", "Mish", "Gelu", "Swish"),
        *("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "MatMul", "Gemm"),
        *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
        *("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"),
        *("BatchNormalization", "LpNormalization", "MeanVarianceNormalization"),
        *("QuantizeLinear", "DequantizeLinear"),
        *("Gather", "GatherElements", "GatherND", "Slice", "Split", "Concat", "Expand", "Tile", "Pad"),
        *("Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "DepthToSpace", "SpaceToDepth", "Trilu"),
    }
)
"""Operators that TensorRT-RTX 1.4.0 to 1.7.1 can use to compute sizes, each tested in a separate model.

TensorRT-RTX cannot compute sizes with Conv, LSTM, ArgMax, TopK, Softmax, Resize, MaxPool, Einsum, CumSum,
PRelu, ScatterElements, GridSample and LayerNormalization.
"""


def imported_nodes(graph: Graph, constants: Constants) -> tuple[Node, ...]:
    """Return, in graph order, the operators that the parser imports.

    If the condition of an ``If`` is a constant in the file, the parser imports only the selected branch.
    """
    return _alive(graph.nodes, _untaken(graph, constants, is_stored))


def _untaken(graph: Graph, constants: Constants, decided: Callable[[Value], bool | None]) -> tuple[str, ...]:
    """Return the scopes of the ``If`` branches that never run, because the condition is known.

    ``decided`` is a function that returns whether the parser or builder knows a condition.
    """
    dead: list[str] = []
    for node in graph.by_op("If"):
        condition = node.input(0)
        if not node.domain and condition is not None and decided(condition):
            taken = constants.scalar(condition)
            if taken is not None:
                dead.append(f"{node.path}/{'else_branch' if taken else 'then_branch'}/")
    return tuple(dead)


def _alive(nodes: tuple[Node, ...], dead: tuple[str, ...]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if not f"{node.scope}/".startswith(dead)) if dead else nodes


def decided_if(node: Node | None, graph: Graph, constants: Constants) -> tuple[Node, bool] | None:
    """Return the innermost ``If`` with a known condition around a node, and the value of the condition.

    The node itself can be this ``If``.  The result is None if all conditions are unknown.
    """
    for each in () if node is None else (node, *graph.owners(node.scope)):
        if each.op == "If" and not each.domain:
            taken = constants.scalar(each.input(0))
            if taken is not None:
                return each, bool(taken)
    return None


def needed_nodes(graph: Graph, constants: Constants, imported: tuple[Node, ...]) -> frozenset[Node]:
    """Return the nodes in ``imported`` that affect an output of the model.

    Nodes in branches that never run are excluded.  A node is also excluded if two conditions hold: its result
    has a static shape, and only ``Shape`` and ``Size`` read its result.
    """
    left = [value.producer for value in graph.outputs if value.producer is not None]
    allowed = frozenset(_alive(imported, _untaken(graph, constants, known_at_build)))
    found = set(left)
    while left:
        node = left.pop()
        if node.op in SHAPE_READERS and _is_fixed(node):
            continue
        for before in graph.predecessors(node):
            if before not in found and before in allowed:
                found.add(before)
                left.append(before)
    return frozenset(found)


def _is_fixed(node: Node) -> bool:
    """Return whether a ``Shape`` or ``Size`` has a constant result, because its input has a static shape."""
    value = node.input(0)
    return value is not None and value.is_static


def owners_within(graph: Graph, node: Node) -> tuple[str, ...]:
    """Return the types of the operators whose bodies contain a node, the innermost first.

    An ``If`` is left out if the builder knows its condition.  The builder replaces such an
    ``If`` by one of its branches.
    """
    found: list[str] = []
    for owner in graph.owners(node.scope):
        condition = owner.input(0)
        if owner.op != "If" or condition is None or not (is_stored(condition) or known_at_build(condition)):
            found.append(owner.op)
    return tuple(found)


def known_at_build(value: Value) -> bool | None:
    """Return whether the builder can compute an integer or boolean value before it builds the engine.

    The result is None if the answer depends on dynamic shapes, or if the search takes too long.
    """
    open_ = False
    for number, (made, _) in enumerate(search(value, beyond_shapes, _MOST_VISITED + 2)):
        if number > _MOST_VISITED:
            return None
        node = made.producer
        if made.is_input or made.dtype not in _INTEGER or (node is None and made.initializer is None):
            return False
        if node is None or node.op == "Constant":
            continue
        if node.op in SHAPE_READERS:
            open_ |= not _is_fixed(node)
        elif not node.inputs or node.op in WITH_BODIES:
            return False
    return None if open_ else True


def beyond_shapes(node: Node) -> Sequence[Value | None]:
    """Return the inputs whose elements a node reads.

    ``Shape`` and ``Size`` read no elements; all other nodes read the elements of all inputs.
    """
    return () if node.op in SHAPE_READERS else node.inputs


def sized_by(value: Value) -> frozenset[str | None]:
    """Return the element types of the model inputs from which the builder computes a size.

    The builder cannot use some operators for sizes, such as a convolution.  It treats their results as data.
    So an input does not count if the size depends on the input only through such an operator.

    Values that a loop passes to its body do not count either.
    """
    return frozenset(source.dtype for source in _sources(value, _operands_of_size) if source.is_input)


def is_handed(value: Value) -> bool:
    """Return whether a size depends on values that a loop passes to its body."""
    return any(not source.is_input for source in _sources(value, beyond_shapes))


def _sources(value: Value, before: Callable[[Node], Sequence[Value | None]]) -> list[Value]:
    """Return the model inputs and body inputs on which a size depends.

    Args:
        value: the size.
        before: function that returns those operands of a node that determine the result of the node.

    Returns:
        The inputs.  The list is empty if the search visits too many values.
    """
    found: list[Value] = []
    for number, (made, _) in enumerate(search(value, before, _MOST_VISITED + 2)):
        if number > _MOST_VISITED:
            return []
        if made.initializer is None and made.producer is None:
            found.append(made)
    return found


def _operands_of_size(node: Node) -> Sequence[Value | None]:
    return beyond_shapes(node) if not node.domain and node.op in _OF_SIZES else ()


def is_stored(value: Value) -> bool:
    """Return whether a value is an initializer or the output of a Constant."""
    node = value.producer
    return value.initializer is not None or (node is not None and node.op == "Constant" and not node.domain)


def imported_rank(scalar: Value) -> int:
    """Return how many dimensions a scalar has after the parser imported it.

    The number is 1 if the scalar is computed from a quantized scalar, else 0.
    """
    made = (value.producer for value, _ in search(scalar, _scalars, _MOST_VISITED))
    return int(any(node is not None and node.op in QUANTIZE and not node.domain for node in made))


def _scalars(node: Node) -> Sequence[Value | None]:
    return () if node.domain else [value for value in node.inputs if value is not None and value.shape == ()]


def imported_type(value: Value) -> str | None:
    """Return the element type that the parser gives a value, as a short name.

    The parser imports ``double`` as FP32, a stored uint8 tensor as INT32, and the uint8 result of a
    QuantizeLinear as INT8. If an operator other than Cast computes uint8 from uint8, the parser gives the
    result the type of the input.
    """
    dtype = value.dtype
    if dtype == "f64":
        return "f32"
    if dtype != "u8":
        return dtype
    for _ in range(_MOST_VISITED):
        if is_stored(value):
            return "i32"
        node = value.producer
        if node is not None and node.op == "QuantizeLinear":
            return "i8"
        if node is None or node.domain or node.op == "Cast":
            return "u8"
        before = next((x for x in node.inputs if x is not None and x.dtype == "u8"), None)
        if before is None:
            return "u8"
        value = before
    return "u8"
