"""The functions that expressions in rules may call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import onnx

from trtlint.language.fieldtypes import ANYTHING, NUMBER, TEXT, TRUTH, Kind, Kinds
from trtlint.language.flowfunctions import FLOW_FUNCTIONS
from trtlint.language.function import DTYPE, MOST_VISITED, TUPLE, VALUE, Function
from trtlint.language.graphfunctions import GRAPH_FUNCTIONS
from trtlint.language.valuefunctions import VALUE_FUNCTIONS
from trtlint.model.folding import ma
from trtlint.model.graph import Value
from trtlint.model.imported import beyond_shapes
from trtlint.model.values import Constants
from trtlint.model.walks import behind, search
from trtlint.target.truth import Unknown

_MANY: Kinds = (Kind("tuple"), Kind("text"), Kind("mapping"))

_COPIES = frozenset({"Identity", "Cast"})


def _const(constants: Constants | None, value: Value) -> object:
    return None if constants is None else constants.scalar(value)


def _dim(_: object, value: Value, index: int) -> object:
    shape = value.shape
    if shape is None or not isinstance(index, int) or not -len(shape) <= index < len(shape):
        return None
    return shape[index] if isinstance(shape[index], int) else None


def _size(_: object, value: Value) -> object:
    shape = value.shape
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return None
    return math.prod(dim for dim in shape if isinstance(dim, int))


def _attribute(_: object, value: Value, name: str) -> object:
    found = None if value.producer is None else value.producer.attribute(name)
    return None if isinstance(found, onnx.TensorProto | onnx.GraphProto) else found


def _operator(_: object, value: Value) -> object:
    return "" if value.producer is None else value.producer.op


def _split_heads(_: object, value: Value) -> object:
    transpose = value.producer
    if transpose is None or transpose.op != "Transpose" or transpose.attribute("perm") != (0, 2, 1, 3):
        return False
    split = transpose.input(0)
    reshape = None if split is None else split.producer
    data = None if reshape is None or reshape.op != "Reshape" else reshape.input(0)
    if data is None:
        return False
    return None if data.rank is None else data.rank == 3


def _initializer(constants: Constants | None, value: Value) -> object:
    if value.initializer is not None:
        return True
    node = value.producer
    if node is None or node.op != "Constant" or node.domain:
        return False
    return constants is None or constants.stored(value) is not None or constants.array(value) is not None


def _constant(constants: Constants | None, value: Value) -> object:
    if constants is None:
        return None
    array = constants.array(value)
    return constants.foldable(value) or (array is not None and not ma.is_masked(array))


def _stored(constants: Constants | None, value: Value) -> object:
    return _initializer(constants, behind(value, _COPIES))


def _fed(_: object, value: Value) -> object:
    found: dict[str, None] = {}
    for number, (source, _) in enumerate(search(value, beyond_shapes, MOST_VISITED + 1)):
        if number > MOST_VISITED:
            return None
        if source.is_input and source.dtype is not None:
            found[source.dtype] = None
    return tuple(found)


def _broadcasts(constants: Constants | None, a: Value, b: Value, ignore: int = 0) -> object:
    if constants is None or not isinstance(ignore, int) or ignore < 0:
        return None
    left, right = constants.dimensions(a), constants.dimensions(b)
    if left is None or right is None:
        return None
    pairs = list(zip(reversed(left), reversed(right), strict=False))[ignore:]
    sizes = ((m, n) for m, n in pairs if isinstance(m, int) and isinstance(n, int))
    return all(m == n or m == 1 or n == 1 for m, n in sizes)


def _elements(constants: Constants | None, value: Value) -> object:
    array = None if constants is None else constants.array(value)
    if array is None or array.dtype.kind not in "fiub":
        return None
    # Reading a masked array takes several times as long as reading a plain array. Few arrays have masked
    # elements.
    known = array if array.mask.any() else array.data
    return tuple(known.reshape(-1).tolist())


def _repeated(_: object, axes: tuple[Any, ...], rank: object) -> object:
    if not isinstance(rank, int) or rank < 1 or not all(type(axis) is int for axis in axes):
        return None
    return len({axis % rank for axis in axes if -rank <= axis < rank}) < sum(
        -rank <= axis < rank for axis in axes
    )


def _dtypes(_: object, values: tuple[Any, ...]) -> object:
    return tuple(value.dtype for value in values if isinstance(value, Value))


def _extreme(choose: Callable[[list[float]], float], xs: tuple[Any, ...]) -> object:
    """Apply ``min`` or ``max`` to several numbers, or to the numbers of one tuple."""
    flat = list(xs[0]) if len(xs) == 1 and isinstance(xs[0], tuple | list | frozenset) else list(xs)
    good = all(isinstance(x, int | float) and not isinstance(x, bool) for x in flat)
    return choose(flat) if flat and good else None


def _round(_: object, x: float, digits: int = 0) -> object:
    if not math.isfinite(x) or not isinstance(digits, int) or abs(digits) > 20:
        return None
    return round(x, digits) if digits else round(x)


_DTYPES: Kinds = (Kind("tuple", items=DTYPE),)
_NUMBERS: Kinds = (Kind("tuple", items=NUMBER),)

FUNCTIONS: Mapping[str, Function] = {
    "const": Function(
        "const(v)",
        "the value of the constant v if all its elements are equal; unknown if they differ or v depends on "
        "inputs",
        (VALUE,),
        NUMBER,
        _const,
    ),
    "uses": Function(
        "uses(v)",
        "the number of operator inputs that read v, plus 1 if v is an output of the graph or of a body",
        (VALUE,),
        NUMBER,
        lambda _, v: len(v.uses) + v.is_output + v.leaves_body,
    ),
    "dtype": Function(
        "dtype(v)", "the element type of v, such as 'f16'", (VALUE,), DTYPE, lambda _, v: v.dtype
    ),
    "rank": Function("rank(v)", "the number of dimensions of v", (VALUE,), NUMBER, lambda _, v: v.rank),
    "dim": Function(
        "dim(v, i)",
        "the size of dimension i of v (-1: the last); unknown if it is dynamic",
        (VALUE, NUMBER),
        NUMBER,
        _dim,
    ),
    "size": Function("size(v)", "the number of elements of v", (VALUE,), NUMBER, _size),
    "attribute": Function(
        "attribute(v, name)",
        "the value of an attribute of the operator that computes v; unknown if the operator lacks the "
        "attribute",
        (VALUE, TEXT),
        ANYTHING,
        _attribute,
    ),
    "operator": Function(
        "operator(v)",
        "the type of the operator that computes v, such as 'Neg'; empty if there is none",
        (VALUE,),
        TEXT,
        _operator,
    ),
    "split_heads": Function(
        "split_heads(v)",
        "whether a Reshape and a Transpose turn a tensor of shape [batch, length, width] into v, of shape "
        "[batch, heads, length, size]",
        (VALUE,),
        TRUTH,
        _split_heads,
    ),
    "initializer": Function(
        "initializer(v)",
        "whether v is stored in the file, as an initializer or by a Constant operator",
        (VALUE,),
        TRUTH,
        _initializer,
    ),
    "stored": Function(
        "stored(v)",
        "whether v is a tensor stored in the file, or the result of Identity or Cast on such a tensor",
        (VALUE,),
        TRUTH,
        _stored,
    ),
    "fed": Function(
        "fed(v)",
        "the element types of the model inputs whose elements affect v; an input is left out if only "
        "its shape affects v",
        (VALUE,),
        _DTYPES,
        _fed,
    ),
    "constant": Function(
        "constant(v)",
        "whether v depends only on stored tensors and static shapes",
        (VALUE,),
        TRUTH,
        _constant,
    ),
    "elements": Function(
        "elements(v)",
        "the elements of a constant tensor v, as a flat tuple of numbers; unknown if v depends on model "
        "inputs or is large",
        (VALUE,),
        _NUMBERS,
        _elements,
    ),
    "broadcasts": Function(
        "broadcasts(v, w, ignore=0)",
        "whether the shapes of v and w can be broadcast, according to the sizes in the file; ignore=n "
        "skips the last n dimensions",
        (VALUE, VALUE),
        TRUTH,
        _broadcasts,
        {"ignore": NUMBER},
    ),
    "dtypes": Function(
        "dtypes(vs)", "the element types of several values, such as inputs", (TUPLE,), _DTYPES, _dtypes
    ),
    "static": Function(
        "static(v)",
        "whether v has a static shape: the file gives a number for every dimension",
        (VALUE,),
        TRUTH,
        lambda _, v: v.is_static,
    ),
    "default": Function(
        "default(x, otherwise)",
        "x if x is known, else the second argument; for example, for an attribute x that may be missing",
        (ANYTHING, ANYTHING),
        ANYTHING,
        lambda _, x, otherwise: otherwise if isinstance(x, Unknown) else x,
        sees_unknown=True,
    ),
    "lower": Function("lower(x)", "the text x in lower case", (TEXT,), TEXT, lambda _, x: x.lower()),
    "known": Function(
        "known(x)",
        "whether x is known",
        (ANYTHING,),
        TRUTH,
        lambda _, x: not isinstance(x, Unknown),
        sees_unknown=True,
    ),
    "given": Function(
        "given(x)",
        "whether x is known and true; false if x is unknown",
        (TRUTH,),
        TRUTH,
        lambda _, x: x is True,
        sees_unknown=True,
    ),
    "abs": Function("abs(x)", "the absolute value of x", (NUMBER,), NUMBER, lambda _, x: abs(x)),
    "min": Function(
        "min(a, b, ...)",
        "the smallest of several numbers, or of a tuple",
        ((*NUMBER, *TUPLE),),
        NUMBER,
        lambda _, *xs: _extreme(min, xs),
        variadic=True,
    ),
    "max": Function(
        "max(a, b, ...)",
        "the largest of several numbers, or of a tuple",
        ((*NUMBER, *TUPLE),),
        NUMBER,
        lambda _, *xs: _extreme(max, xs),
        variadic=True,
    ),
    "repeated": Function(
        "repeated(axes, rank)",
        "whether a tuple of axes has an axis twice; for example, -1 and 3 are the same axis if rank is 4",
        (TUPLE, NUMBER),
        TRUTH,
        _repeated,
    ),
    "len": Function(
        "len(x)", "the number of elements or characters of x", (_MANY,), NUMBER, lambda _, x: len(x)
    ),
    "round": Function(
        "round(x, digits=0)",
        "x rounded to the given number of decimals",
        (NUMBER,),
        NUMBER,
        _round,
        {"digits": NUMBER},
    ),
    **GRAPH_FUNCTIONS,
    **FLOW_FUNCTIONS,
    **VALUE_FUNCTIONS,
}
"""All functions by name, in the order of the documentation."""
