"""Functions of the rule language for types and origins of values after the import by TensorRT's parser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trtlint.language.function import MOST_VISITED, Number, Texts, Tuple, TypeName, Verdict, function
from trtlint.language.operations import UNKNOWN
from trtlint.model.graph import Value
from trtlint.model.imported import (
    imported_rank,
    imported_type,
    is_handed,
    is_stored,
    known_at_build,
    sized_by,
)
from trtlint.model.protos import MOST_DIMENSIONS
from trtlint.model.values import Constants
from trtlint.model.walks import behind
from trtlint.target.truth import Truth, both

_COUNTS = frozenset({"i32", "i64"})
"""Types that the parser accepts for a model input from which a size is computed."""
_QUANTIZED = frozenset({"i8", "f8e4m3fn", "i4", "f4e2m1"})
_MOVES = frozenset({"Transpose", "Reshape", "Identity", "Squeeze", "Unsqueeze"})
_KEEPS_WEIGHTS = frozenset({"Flatten", "Dropout"})
"""Operators that the parser evaluates on stored tensors.  The results are stored tensors, too."""


def _values(values: Sequence[object]) -> list[Value]:
    return [value for value in values if isinstance(value, Value)]


@function(
    "internal(vs, type)",
    "whether one of several values is internal (no output of the graph or of a body) and has the given type,"
    " both in the file and after the import",
)
def _internal(_: object, values: Tuple, dtype: TypeName) -> Verdict:
    inner = (value for value in _values(values) if not value.is_output and not value.leaves_body)
    return any(value.dtype == dtype and imported_type(value) == dtype for value in inner)


@function("quantized(vs)", "whether one of several values is stored in a quantized type, such as int8")
def _quantized(_: object, values: Tuple) -> Verdict:
    return any(value.dtype in _QUANTIZED and _is_weights(value) for value in _values(values))


def _read_by(value: Value, op: str, port: int = 0) -> Value | None:
    """Return input ``port`` of the nearest ``op`` node upstream. Skip nodes that only move elements."""
    node = behind(value, _MOVES).producer
    return node.input(port) if node is not None and node.op == op else None


@function(
    "cast_from(v)",
    "the element type before the Cast that gave v its type (operators that only move elements may follow "
    "it); unknown if there is no such Cast",
)
def _cast_from(_: object, value: Value) -> TypeName:
    read = _read_by(value, "Cast")
    return None if read is None else read.dtype


@function(
    "dequantized(v)",
    "the element type from which v was dequantized, such as 'i8' (operators that only move elements may "
    "follow); unknown if v was not dequantized",
)
def _dequantized(_: object, value: Value) -> TypeName:
    read = _read_by(value, "DequantizeLinear")
    return None if read is None else read.dtype


@function("one_scale(v)", "whether v was dequantized with one scale for all its elements")
def _one_scale(_: object, value: Value) -> Verdict:
    scale = _read_by(value, "DequantizeLinear", 1)
    return None if scale is None or scale.shape is None else all(dim == 1 for dim in scale.shape)


@function("scale_rank(v)", "the number of dimensions of the scale with which v was dequantized")
def _scale_rank(_: object, value: Value) -> Number:
    return None if (scale := _read_by(value, "DequantizeLinear", 1)) is None else scale.rank


def _is_weights(value: Value) -> bool:
    return is_stored(behind(value, _KEEPS_WEIGHTS))


@function(
    "computed_by(vs)",
    "the types of all operators upstream of several values, in the same graph or body as these values",
)
def _computed_by(_: object, values: Tuple) -> Texts:
    left = [value.producer for value in _values(values) if value.producer is not None]
    scope, seen = left[0].scope if left else "", set(left)
    while left:
        for before in left.pop().inputs:
            node = None if before is None else before.producer
            if node is not None and node.scope == scope and node not in seen:
                if len(seen) > MOST_VISITED:
                    return None
                seen.add(node)
                left.append(node)
    return tuple(sorted({node.op for node in seen}))


@function(
    "same_ranks(vs, ws)",
    "whether each value in vs has as many dimensions as the value at the same position in ws",
)
def _same_ranks(constants: Constants | None, left: Tuple, right: Tuple) -> Verdict:
    if constants is None:
        return None
    return both(*(_equal(_rank(a, constants), _rank(b, constants)) for a, b in _pairs(left, right)))


def _rank(value: Value, constants: Constants) -> int | None:
    dims = constants.dimensions(value)
    return None if dims is None else len(dims) or imported_rank(value)


@function(
    "same_types(vs, ws)",
    "whether each value in vs has the same imported element type as the value at the same position in ws",
)
def _same_types(_: object, left: Tuple, right: Tuple) -> Verdict:
    return both(*(_equal(imported_type(a), imported_type(b)) for a, b in _pairs(left, right)))


@function(
    "same_shapes(vs, ws)",
    "whether each value in vs has the same shape as the value at the same position in ws, according to the "
    "sizes in the file",
)
def _same_shapes(constants: Constants | None, left: Tuple, right: Tuple) -> Verdict:
    if constants is None:
        return None
    return both(
        *(_same_shape(constants.dimensions(a), constants.dimensions(b)) for a, b in _pairs(left, right))
    )


def _same_shape(left: Sequence[object] | None, right: Sequence[object] | None) -> Truth:
    if left is None or right is None:
        return UNKNOWN
    if len(left) != len(right):
        return False
    return both(*(_same_size(a, b) for a, b in zip(left, right, strict=True)))


def _same_size(left: object, right: object) -> Truth:
    if isinstance(left, str) and isinstance(right, str) and left != right:
        # A sum such as N+N differs from its term N. Two names such as N and M may be equal.
        grown = left in right.split("+") or right in left.split("+")
        return False if grown else UNKNOWN
    return _equal(left, right)


def _equal(left: object, right: object) -> Truth:
    if left is None or right is None or type(left) is not type(right):
        return UNKNOWN
    return left == right


def _pairs(left: Sequence[object], right: Sequence[object]) -> list[tuple[Value, Value]]:
    pairs = zip(left, right, strict=False)
    return [(a, b) for a, b in pairs if isinstance(a, Value) and isinstance(b, Value)]


@function(
    "concatenates(vs, axis)",
    "whether all values have equal sizes in the file, apart from the sizes along the given axis",
)
def _concatenates(constants: Constants | None, values: Tuple, axis: Number) -> Verdict:
    found = [None if constants is None else constants.dimensions(value) for value in _values(values)]
    known = [dims for dims in found if dims is not None]
    if len({len(dims) for dims in known}) > 1:
        return False
    others = zip(*known, strict=True)
    rank = len(known[0]) if known else 0
    fixed = [
        {dim for dim in dims if isinstance(dim, int)} for i, dims in enumerate(others) if i != axis % rank
    ]
    return all(len(sizes) < 2 for sizes in fixed)


@function(
    "expands(v, sizes)",
    "whether a tensor with the given sizes can be broadcast with v, according to the sizes in the file",
)
def _expands(constants: Constants | None, value: Value, sizes: Tuple) -> Verdict:
    dims = None if constants is None else constants.dimensions(value)
    if dims is None:
        return None
    pairs = zip(reversed(dims), reversed(sizes), strict=False)
    known = ((m, n) for m, n in pairs if isinstance(m, int) and isinstance(n, int))
    return all(m in (1, n) or n == 1 for m, n in known)


@function(
    "zero_point(v)",
    "whether v has readers, and every reader is a quantizer or dequantizer with the zero point v",
)
def _zero_point(_: object, value: Value) -> Verdict:
    quantizers = ("QuantizeLinear", "DequantizeLinear")
    return bool(value.uses) and all(reader.op in quantizers and port == 2 for reader, port in value.uses)


@function("ones(v, axes)", "whether v has size 1 along all given axes")
def _ones(constants: Constants | None, value: Value, axes: Tuple) -> Verdict:
    shape = value.shape if constants is None else constants.dimensions(value)
    if shape is None:
        return None
    good = [axis for axis in axes if isinstance(axis, int) and -len(shape) <= axis < len(shape)]
    return both(*(_equal(shape[axis], 1) for axis in good)) if len(good) == len(axes) else None


@function(
    "dynamic(v, i)",
    "whether dimension i of v is dynamic: it is a named or unknown dimension of a model input, or is "
    "computed from such a dimension, for example by Conv; unknown if trtlint cannot tell",
)
def _dynamic(constants: Constants | None, value: Value, index: Number) -> Verdict:
    return None if constants is None or not isinstance(index, int) else constants.dynamic(value, index)


@function(
    "unsigned(vs)",
    "whether one of several values is a uint8 tensor that is stored, or computed from a stored uint8 tensor;"
    " the parser imports such a value as int32",
)
def _unsigned(_: object, values: Tuple) -> Verdict:
    return any(value.dtype == "u8" and imported_type(value) == "i32" for value in _values(values))


@function("product(xs)", "the product of whole numbers; 1 for an empty tuple")
def _product(_: object, numbers: Tuple) -> Number:
    good = all(isinstance(n, int) and not isinstance(n, bool) for n in numbers)
    return math.prod(numbers) if good and len(numbers) <= MOST_DIMENSIONS else None


@function("halves_equal(xs)", "whether the first half of a tuple equals the second half")
def _halves_equal(_: object, many: Tuple) -> Verdict:
    middle = len(many) // 2
    return len(many) % 2 == 0 and many[:middle] == many[middle:]


@function(
    "imported(v)",
    "the element type of v after the import; for example, a stored uint8 tensor becomes 'i32', and a uint8 "
    "result of QuantizeLinear becomes 'i8'",
)
def _imported(_: object, v: Value) -> TypeName:
    return imported_type(v)


@function("rest(xs, n)", "a tuple without its first n elements")
def _rest(_: object, xs: Tuple, n: Number) -> Any:
    return tuple(xs[n:])


@function(
    "first(xs, n)",
    "the first n elements of a tuple; if n is negative, the tuple without its last -n elements",
)
def _first(_: object, xs: Tuple, n: Number) -> Any:
    return tuple(xs[:n])


@function("are_read(vs)", "whether an operator reads one of several values")
def _are_read(_: object, vs: Tuple) -> Verdict:
    return any(v.uses for v in _values(vs))


@function(
    "settled(v)",
    "whether the builder can compute v from stored tensors and shapes, using only integers and booleans",
)
def _settled(_: object, v: Value) -> Verdict:
    return known_at_build(v)


@function(
    "miscounted(vs)",
    "whether a size depends on the elements of a model input that is neither int32 nor int64",
)
def _miscounted(_: object, vs: Tuple) -> Verdict:
    return any(not sized_by(v) <= _COUNTS for v in _values(vs))


@function("handed(vs)", "whether one of several sizes depends on a value that a loop passes to its body")
def _handed(_: object, vs: Tuple) -> Verdict:
    return any(map(is_handed, _values(vs)))
