"""Functions of the rule language for types and origins of values after the import by TensorRT's parser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from trtlint.language.fieldtypes import ANYTHING, NUMBER, TEXT, TRUTH, Kind
from trtlint.language.function import DTYPE, MOST_VISITED, TUPLE, VALUE, Function
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
_IDENTITY = frozenset({"Identity"})
_MOVES = frozenset({"Transpose", "Reshape", "Identity", "Squeeze", "Unsqueeze"})
_KEEPS_WEIGHTS = frozenset({"Flatten", "Dropout"})
"""Operators that the parser evaluates on stored tensors.  The results are stored tensors, too."""


def _values(values: Sequence[object]) -> list[Value]:
    return [value for value in values if isinstance(value, Value)]


def _internal(_: object, values: tuple[Any, ...], dtype: str) -> object:
    inner = (value for value in _values(values) if not value.is_output and not value.leaves_body)
    return any(value.dtype == dtype and imported_type(value) == dtype for value in inner)


def _quantized(_: object, values: tuple[Any, ...]) -> object:
    return any(value.dtype in _QUANTIZED and _is_weights(value) for value in _values(values))


def _read_by(value: Value, op: str, port: int = 0) -> Value | None:
    """Return input ``port`` of the nearest ``op`` node upstream. Skip nodes that only move elements."""
    node = behind(value, _MOVES).producer
    return node.input(port) if node is not None and node.op == op else None


def _cast_from(_: object, value: Value) -> object:
    read = _read_by(value, "Cast")
    return None if read is None else read.dtype


def _dequantized(_: object, value: Value) -> object:
    read = _read_by(value, "DequantizeLinear")
    return None if read is None else read.dtype


def _one_scale(_: object, value: Value) -> object:
    scale = _read_by(value, "DequantizeLinear", 1)
    return None if scale is None or scale.shape is None else all(dim == 1 for dim in scale.shape)


def _scale_rank(_: object, value: Value) -> object:
    return None if (scale := _read_by(value, "DequantizeLinear", 1)) is None else scale.rank


def _is_weights(value: Value) -> bool:
    return is_stored(behind(value, _KEEPS_WEIGHTS))


def _computed_by(_: object, values: tuple[Any, ...]) -> object:
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


def _same_ranks(constants: Constants | None, left: tuple[Any, ...], right: tuple[Any, ...]) -> object:
    if constants is None:
        return None
    return both(*(_equal(_rank(a, constants), _rank(b, constants)) for a, b in _pairs(left, right)))


def _rank(value: Value, constants: Constants) -> int | None:
    dims = constants.dimensions(value)
    return None if dims is None else len(dims) or imported_rank(value)


def _same_types(_: object, left: tuple[Any, ...], right: tuple[Any, ...]) -> object:
    return both(*(_equal(imported_type(a), imported_type(b)) for a, b in _pairs(left, right)))


def _same_shapes(constants: Constants | None, left: tuple[Any, ...], right: tuple[Any, ...]) -> object:
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


def _concatenates(constants: Constants | None, values: tuple[Any, ...], axis: int) -> object:
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


def _expands(constants: Constants | None, value: Value, sizes: tuple[Any, ...]) -> object:
    dims = None if constants is None else constants.dimensions(value)
    if dims is None:
        return None
    pairs = zip(reversed(dims), reversed(sizes), strict=False)
    known = ((m, n) for m, n in pairs if isinstance(m, int) and isinstance(n, int))
    return all(m in (1, n) or n == 1 for m, n in known)


def _zero_point(_: object, value: Value) -> object:
    quantizers = ("QuantizeLinear", "DequantizeLinear")
    return bool(value.uses) and all(reader.op in quantizers and port == 2 for reader, port in value.uses)


def _ones(constants: Constants | None, value: Value, axes: tuple[Any, ...]) -> object:
    shape = value.shape if constants is None else constants.dimensions(value)
    if shape is None:
        return None
    good = [axis for axis in axes if isinstance(axis, int) and -len(shape) <= axis < len(shape)]
    return both(*(_equal(shape[axis], 1) for axis in good)) if len(good) == len(axes) else None


def _dynamic(constants: Constants | None, value: Value, index: int) -> object:
    return None if constants is None or not isinstance(index, int) else constants.dynamic(value, index)


def _unsigned(_: object, values: tuple[Any, ...]) -> object:
    return any(value.dtype == "u8" and imported_type(value) == "i32" for value in _values(values))


def _product(_: object, numbers: tuple[Any, ...]) -> object:
    good = all(isinstance(n, int) and not isinstance(n, bool) for n in numbers)
    return math.prod(numbers) if good and len(numbers) <= MOST_DIMENSIONS else None


def _halves_equal(_: object, many: tuple[Any, ...]) -> object:
    middle = len(many) // 2
    return len(many) % 2 == 0 and many[:middle] == many[middle:]


GRAPH_FUNCTIONS: Mapping[str, Function] = {
    "imported": Function(
        "imported(v)",
        "the element type of v after the import; for example, a stored uint8 tensor becomes 'i32', and a "
        "uint8 result of QuantizeLinear becomes 'i8'",
        (VALUE,),
        DTYPE,
        lambda _, v: imported_type(v),
    ),
    "internal": Function(
        "internal(vs, type)",
        "whether one of several values is internal (no output of the graph or of a body) and has the given "
        "type, both in the file and after the import",
        (TUPLE, DTYPE),
        TRUTH,
        _internal,
    ),
    "quantized": Function(
        "quantized(vs)",
        "whether one of several values is stored in a quantized type, such as int8",
        (TUPLE,),
        TRUTH,
        _quantized,
    ),
    "dequantized": Function(
        "dequantized(v)",
        "the element type from which v was dequantized, such as 'i8' (operators that only move elements may "
        "follow); unknown if v was not dequantized",
        (VALUE,),
        DTYPE,
        _dequantized,
    ),
    "cast_from": Function(
        "cast_from(v)",
        "the element type before the Cast that gave v its type (operators that only move elements may "
        "follow it); unknown if there is no such Cast",
        (VALUE,),
        DTYPE,
        _cast_from,
    ),
    "one_scale": Function(
        "one_scale(v)",
        "whether v was dequantized with one scale for all its elements",
        (VALUE,),
        TRUTH,
        _one_scale,
    ),
    "scale_rank": Function(
        "scale_rank(v)",
        "the number of dimensions of the scale with which v was dequantized",
        (VALUE,),
        NUMBER,
        _scale_rank,
    ),
    "same": Function(
        "same(v, w)",
        "whether v and w are the same value, ignoring Identity",
        (VALUE, VALUE),
        TRUTH,
        lambda _, v, w: behind(v, _IDENTITY) is behind(w, _IDENTITY),
    ),
    "rest": Function(
        "rest(xs, n)",
        "a tuple without its first n elements",
        (TUPLE, NUMBER),
        ANYTHING,
        lambda _, xs, n: tuple(xs[n:]),
    ),
    "first": Function(
        "first(xs, n)",
        "the first n elements of a tuple; if n is negative, the tuple without its last -n elements",
        (TUPLE, NUMBER),
        ANYTHING,
        lambda _, xs, n: tuple(xs[:n]),
    ),
    "computed_by": Function(
        "computed_by(vs)",
        "the types of all operators upstream of several values, in the same graph or body as these values",
        (TUPLE,),
        (Kind("tuple", items=TEXT),),
        _computed_by,
    ),
    "are_read": Function(
        "are_read(vs)",
        "whether an operator reads one of several values",
        (TUPLE,),
        TRUTH,
        lambda _, vs: any(v.uses for v in _values(vs)),
    ),
    "same_ranks": Function(
        "same_ranks(vs, ws)",
        "whether each value in vs has as many dimensions as the value at the same position in ws",
        (TUPLE, TUPLE),
        TRUTH,
        _same_ranks,
    ),
    "same_types": Function(
        "same_types(vs, ws)",
        "whether each value in vs has the same imported element type as the value at the same position in ws",
        (TUPLE, TUPLE),
        TRUTH,
        _same_types,
    ),
    "same_shapes": Function(
        "same_shapes(vs, ws)",
        "whether each value in vs has the same shape as the value at the same position in ws, "
        "according to the sizes in the file",
        (TUPLE, TUPLE),
        TRUTH,
        _same_shapes,
    ),
    "concatenates": Function(
        "concatenates(vs, axis)",
        "whether all values have equal sizes in the file, apart from the sizes along the given axis",
        (TUPLE, NUMBER),
        TRUTH,
        _concatenates,
    ),
    "expands": Function(
        "expands(v, sizes)",
        "whether a tensor with the given sizes can be broadcast with v, according to the sizes in the file",
        (VALUE, TUPLE),
        TRUTH,
        _expands,
    ),
    "zero_point": Function(
        "zero_point(v)",
        "whether v has readers, and every reader is a quantizer or dequantizer with the zero point v",
        (VALUE,),
        TRUTH,
        _zero_point,
    ),
    "ones": Function(
        "ones(v, axes)", "whether v has size 1 along all given axes", (VALUE, TUPLE), TRUTH, _ones
    ),
    "dynamic": Function(
        "dynamic(v, i)",
        "whether dimension i of v is dynamic: it is a named or unknown dimension of a model input, or is "
        "computed from such a dimension, for example by Conv; unknown if trtlint cannot tell",
        (VALUE, NUMBER),
        TRUTH,
        _dynamic,
    ),
    "unsigned": Function(
        "unsigned(vs)",
        "whether one of several values is a uint8 tensor that is stored, or computed from a stored uint8 "
        "tensor; the parser imports such a value as int32",
        (TUPLE,),
        TRUTH,
        _unsigned,
    ),
    "product": Function(
        "product(xs)", "the product of whole numbers; 1 for an empty tuple", (TUPLE,), NUMBER, _product
    ),
    "halves_equal": Function(
        "halves_equal(xs)",
        "whether the first half of a tuple equals the second half",
        (TUPLE,),
        TRUTH,
        _halves_equal,
    ),
    "settled": Function(
        "settled(v)",
        "whether the builder can compute v from stored tensors and shapes, using only integers and booleans",
        (VALUE,),
        TRUTH,
        lambda _, v: known_at_build(v),
    ),
    "miscounted": Function(
        "miscounted(vs)",
        "whether a size depends on the elements of a model input that is neither int32 nor int64",
        (TUPLE,),
        TRUTH,
        lambda _, vs: any(not sized_by(v) <= _COUNTS for v in _values(vs)),
    ),
    "handed": Function(
        "handed(vs)",
        "whether one of several sizes depends on a value that a loop passes to its body",
        (TUPLE,),
        TRUTH,
        lambda _, vs: any(map(is_handed, _values(vs))),
    ),
}
"""The functions, by name."""
