"""The functions that expressions in rules may call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import onnx

from trtlint.language import flowfunctions, graphfunctions, valuefunctions  # noqa: F401 (defines functions)
from trtlint.language.function import (
    DEFINED,
    MOST_VISITED,
    Function,
    Number,
    Numbers,
    Several,
    Sized,
    Text,
    Tuple,
    TypeName,
    TypeNames,
    Verdict,
    function,
)
from trtlint.model.folding import ma
from trtlint.model.graph import Value
from trtlint.model.imported import beyond_shapes
from trtlint.model.values import Constants
from trtlint.model.walks import behind, search
from trtlint.target.truth import Unknown

_COPIES = frozenset({"Identity", "Cast"})


@function(
    "const(v)",
    "the value of the constant v if all its elements are equal; unknown if they differ or v depends on "
    "inputs",
)
def _const(constants: Constants | None, value: Value) -> Number:
    return None if constants is None else constants.scalar(value)


@function("dim(v, i)", "the size of dimension i of v (-1: the last); unknown if it is dynamic")
def _dim(_: object, value: Value, index: Number) -> Number:
    shape = value.shape
    if shape is None or not isinstance(index, int) or not -len(shape) <= index < len(shape):
        return None
    return shape[index] if isinstance(shape[index], int) else None


@function("size(v)", "the number of elements of v")
def _size(_: object, value: Value) -> Number:
    shape = value.shape
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return None
    return math.prod(dim for dim in shape if isinstance(dim, int))


@function(
    "attribute(v, name)",
    "the value of an attribute of the operator that computes v; unknown if the operator lacks the attribute",
)
def _attribute(_: object, value: Value, name: Text) -> Any:
    found = None if value.producer is None else value.producer.attribute(name)
    return None if isinstance(found, onnx.TensorProto | onnx.GraphProto) else found


@function("operator(v)", "the type of the operator that computes v, such as 'Neg'; empty if there is none")
def _operator(_: object, value: Value) -> Text:
    return "" if value.producer is None else value.producer.op


@function(
    "split_heads(v)",
    "whether a Reshape and a Transpose turn a tensor of shape [batch, length, width] into v, of shape "
    "[batch, heads, length, size]",
)
def _split_heads(_: object, value: Value) -> Verdict:
    transpose = value.producer
    if transpose is None or transpose.op != "Transpose" or transpose.attribute("perm") != (0, 2, 1, 3):
        return False
    split = transpose.input(0)
    reshape = None if split is None else split.producer
    data = None if reshape is None or reshape.op != "Reshape" else reshape.input(0)
    if data is None:
        return False
    return None if data.rank is None else data.rank == 3


@function("initializer(v)", "whether v is stored in the file, as an initializer or by a Constant operator")
def _initializer(constants: Constants | None, value: Value) -> Verdict:
    if value.initializer is not None:
        return True
    node = value.producer
    if node is None or node.op != "Constant" or node.domain:
        return False
    return constants is None or constants.stored(value) is not None or constants.array(value) is not None


@function("constant(v)", "whether v depends only on stored tensors and static shapes")
def _constant(constants: Constants | None, value: Value) -> Verdict:
    if constants is None:
        return None
    array = constants.array(value)
    return constants.foldable(value) or (array is not None and not ma.is_masked(array))


@function(
    "stored(v)",
    "whether v is a tensor stored in the file, or the result of Identity or Cast on such a tensor",
)
def _stored(constants: Constants | None, value: Value) -> Verdict:
    return _initializer(constants, behind(value, _COPIES))


@function(
    "fed(v)",
    "the element types of the model inputs whose elements affect v; an input is left out if only its shape "
    "affects v",
)
def _fed(_: object, value: Value) -> TypeNames:
    found: dict[str, None] = {}
    for number, (source, _) in enumerate(search(value, beyond_shapes, MOST_VISITED + 1)):
        if number > MOST_VISITED:
            return None
        if source.is_input and source.dtype is not None:
            found[source.dtype] = None
    return tuple(found)


@function(
    "broadcasts(v, w, ignore=0)",
    "whether the shapes of v and w can be broadcast, according to the sizes in the file; ignore=n skips the "
    "last n dimensions",
)
def _broadcasts(constants: Constants | None, a: Value, b: Value, ignore: Number = 0) -> Verdict:
    if constants is None or not isinstance(ignore, int) or ignore < 0:
        return None
    left, right = constants.dimensions(a), constants.dimensions(b)
    if left is None or right is None:
        return None
    pairs = list(zip(reversed(left), reversed(right), strict=False))[ignore:]
    sizes = ((m, n) for m, n in pairs if isinstance(m, int) and isinstance(n, int))
    return all(m == n or m == 1 or n == 1 for m, n in sizes)


@function(
    "elements(v)",
    "the elements of a constant tensor v, as a flat tuple of numbers; unknown if v depends on model inputs "
    "or is large",
)
def _elements(constants: Constants | None, value: Value) -> Numbers:
    array = None if constants is None else constants.array(value)
    if array is None or array.dtype.kind not in "fiub":
        return None
    # Reading a masked array takes several times as long as reading a plain array. Few arrays have masked
    # elements.
    known = array if array.mask.any() else array.data
    return tuple(known.reshape(-1).tolist())


@function(
    "repeated(axes, rank)",
    "whether a tuple of axes has an axis twice; for example, -1 and 3 are the same axis if rank is 4",
)
def _repeated(_: object, axes: Tuple, rank: Number) -> Verdict:
    if not isinstance(rank, int) or rank < 1 or not all(type(axis) is int for axis in axes):
        return None
    return len({axis % rank for axis in axes if -rank <= axis < rank}) < sum(
        -rank <= axis < rank for axis in axes
    )


@function("dtypes(vs)", "the element types of several values, such as inputs")
def _dtypes(_: object, values: Tuple) -> TypeNames:
    return tuple(value.dtype for value in values if isinstance(value, Value))


def _extreme(choose: Callable[[list[float]], float], xs: tuple[Any, ...]) -> object:
    """Apply ``min`` or ``max`` to several numbers, or to the numbers of one tuple."""
    flat = list(xs[0]) if len(xs) == 1 and isinstance(xs[0], tuple | list | frozenset) else list(xs)
    good = all(isinstance(x, int | float) and not isinstance(x, bool) for x in flat)
    return choose(flat) if flat and good else None


@function("round(x, digits=0)", "x rounded to the given number of decimals")
def _round(_: object, x: Number, digits: Number = 0) -> Number:
    if not math.isfinite(x) or not isinstance(digits, int) or abs(digits) > 20:
        return None
    return round(x, digits) if digits else round(x)


@function(
    "uses(v)", "the number of operator inputs that read v, plus 1 if v is an output of the graph or of a body"
)
def _uses(_: object, v: Value) -> Number:
    return len(v.uses) + v.is_output + v.leaves_body


@function("dtype(v)", "the element type of v, such as 'f16'")
def _dtype(_: object, v: Value) -> TypeName:
    return v.dtype


@function("rank(v)", "the number of dimensions of v")
def _rank(_: object, v: Value) -> Number:
    return v.rank


@function("static(v)", "whether v has a static shape: the file gives a number for every dimension")
def _static(_: object, v: Value) -> Verdict:
    return v.is_static


@function(
    "default(x, otherwise)",
    "x if x is known, else the second argument; for example, for an attribute x that may be missing",
    sees_unknown=True,
)
def _default(_: object, x: Any, otherwise: Any) -> Any:
    return otherwise if isinstance(x, Unknown) else x


@function("lower(x)", "the text x in lower case")
def _lower(_: object, x: Text) -> Text:
    return x.lower()


@function("known(x)", "whether x is known", sees_unknown=True)
def _known(_: object, x: Any) -> Verdict:
    return not isinstance(x, Unknown)


@function("given(x)", "whether x is known and true; false if x is unknown", sees_unknown=True)
def _given(_: object, x: Verdict) -> Verdict:
    return x is True


@function("abs(x)", "the absolute value of x")
def _abs(_: object, x: Number) -> Number:
    return abs(x)


@function("min(a, b, ...)", "the smallest of several numbers, or of a tuple")
def _min(_: object, *xs: Several) -> Number:
    return _extreme(min, xs)


@function("max(a, b, ...)", "the largest of several numbers, or of a tuple")
def _max(_: object, *xs: Several) -> Number:
    return _extreme(max, xs)


@function("len(x)", "the number of elements or characters of x")
def _len(_: object, x: Sized) -> Number:
    return len(x)


FUNCTIONS: Mapping[str, Function] = DEFINED
"""All functions by name, including the functions of the imported modules."""
