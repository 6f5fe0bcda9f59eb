"""Find stored sizes that replace dynamic dimensions, for example in Reshape, Expand and Tile.

The stored sizes often come from the example input of the export.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

from trtlint.buildcommand.shapes import shapes_of
from trtlint.facts.base import Fact, Step
from trtlint.facts.facts import Facts
from trtlint.model.folding import ma
from trtlint.model.graph import Node, Value
from trtlint.model.protos import Dimension
from trtlint.model.sizes import Dimensions

Effect = Literal["fixed", "mixed"]

_BROADCASTING = ("Add", "Sub", "Mul", "Div", "Where")
_REPEATING = frozenset({"Expand", "Tile"})


class _NamedDimension(NamedTuple):
    """A named dynamic dimension.

    ``input`` is the first input with this dimension.  ``axis`` is the axis of the dimension in this input.
    ``rank`` is the rank of the input.
    """

    input: str
    axis: int
    rank: int


class BakedShape(Fact, frozen=True):
    """A stored number that replaces a dynamic dimension of an input.

    There are two cases:

    - A ``Reshape`` or ``Expand`` has a stored target shape, which does not change with the input.
    - An operator joins (``Concat``) or broadcasts (``Add``, ``Sub``, ``Mul``, ``Div``, ``Where``) a stored
      tensor and a tensor with a dynamic dimension.  The stored tensor often comes from an ``Expand`` or
      ``Tile`` to the size of the export's example input.

    trtlint finds only named dimensions, and only where it can follow the name through the graph.

    Attributes:
        op: the operator, such as ``Reshape``.
        input: the first input of the model that has the dynamic dimension.
        axis: the position of the dimension in this input; position 0 is the batch.
        dimension: the name of the dimension.
        effect: the effect of a different size at run time.  ``fixed``: the model fails.  ``mixed``: the model
            may run, because a ``-1`` in the target absorbs the difference.  If it runs, the rows of the
            result mix elements of several images or lines.  Some models run only with multiples of ``size``.
        size: the stored number, which is the only correct size; None if it is unknown, for example because
            the target replaces several dimensions.
        target: the stored target shape of a Reshape or Expand. For other operators, the shape of the stored
            tensor.
        built: the sizes of the dimension in the build command, smallest first; empty if the command gives no
            sizes.
    """

    roles: ClassVar[Mapping[str, str]] = {
        "stored": "an Expand or Tile that repeats a stored tensor to the input size of the export",
        "operator": "the operator that combines the size stored at export with the dynamic dimension",
    }

    op: str
    input: str
    axis: int
    dimension: str
    effect: Effect
    size: int | None
    target: tuple[int, ...]
    built: tuple[int, ...]


def find(facts: Facts) -> Iterator[BakedShape]:
    """Yield, in graph order, a fact for each dynamic dimension that a stored number replaces."""
    graph, constants = facts.model.graph, facts.model.constants
    places = _places(graph.inputs)
    if not places:
        return
    found: list[tuple[Node, Value | None, str, Effect, int | None, tuple[int, ...]]] = []
    for node in graph.by_op("Reshape", "Expand"):
        target = None if node.domain else _stored_sizes(facts, node)
        data = node.input(0)
        if target is None or data is None:
            continue
        dims = constants.dimensions(data)
        if dims is None or not any(dim in places for dim in dims if isinstance(dim, str)):
            continue
        lost = _reshaped(dims, target) if node.op == "Reshape" else _expanded(dims, target)
        found.extend((node, None, name, effect, size, target) for name, effect, size in lost)
    for node in graph.by_op("Concat", *_BROADCASTING):
        if not node.domain:
            found.extend(
                (node, stored, name, "fixed", size, shape)
                for stored, name, size, shape in _joined(facts, node, places)
            )
    built = _built(facts, places)
    for node, stored, name, effect, size, target in sorted(found, key=lambda entry: entry[0].index):
        place = places.get(name)
        # An exporter can reshape a list of boxes, [n, 4], to one row, [1, -1], on purpose.
        if place is not None and not (effect == "mixed" and place.rank < 3):
            yield BakedShape(
                node=node,
                chain=_chain(node, stored, effect),
                op=node.op,
                input=place.input,
                axis=place.axis,
                dimension=name,
                effect=effect,
                size=size,
                target=target,
                built=built.get(name, ()),
            )


def _places(inputs: Sequence[Value]) -> Mapping[str, _NamedDimension]:
    places: dict[str, _NamedDimension] = {}
    for value in inputs:
        shape = value.shape or ()
        for axis, dim in enumerate(shape):
            if isinstance(dim, str):
                places.setdefault(dim, _NamedDimension(value.name, axis, len(shape)))
    return places


def _stored_sizes(facts: Facts, node: Node) -> tuple[int, ...] | None:
    """Return the stored target shape of a node, or None if the file does not store it.

    The result is also None for a Reshape with ``allowzero`` whose target contains 0.
    """
    array = facts.model.constants.array(node.input(1))
    if array is None or ma.is_masked(array) or array.dtype.kind not in "iu" or array.ndim != 1:
        return None
    sizes = tuple(int(size) for size in array)
    return None if 0 in sizes and node.attribute("allowzero") else sizes


def _reshaped(dims: Dimensions, target: tuple[int, ...]) -> list[tuple[str, Effect, int | None]]:
    """Return the dynamic dimensions that a Reshape replaces by a number.

    Each result is the name of the dimension, the effect, and the number.  An unknown number is None.
    """
    if any(size == 0 and at >= len(dims) for at, size in enumerate(target)):
        return []
    after: list[Dimension] = [dims[at] if size == 0 else size for at, size in enumerate(target)]
    lost = [dim for dim in dims if isinstance(dim, str) and dim not in after]
    if not lost:
        return []
    if -1 not in after:
        if None in dims or any(not isinstance(dim, int) for dim in after):
            return []
        size = _quotient(after, dims) if len(lost) == 1 else None
        return [(name, "fixed", size) for name in lost]
    return _with_wildcard(dims, after, lost)


def _with_wildcard(
    dims: Dimensions, after: list[Dimension], lost: list[str]
) -> list[tuple[str, Effect, int | None]]:
    """Return the dynamic dimensions that a Reshape with ``-1`` fixes to a number.

    If the size of such a dimension changes at run time, the size in place of the ``-1`` changes instead.

    For example, a Reshape from ``[n, 4, 6]`` to ``[1, 4, -1]`` or ``[1, -1]`` mixes the elements of several
    images.  A Reshape to ``[-1, 6]`` or ``[2, -1, 4, 6]`` keeps the images separate.

    Args:
        dims: the shape before the Reshape.
        after: the target shape.
        lost: the names of the dimensions in ``dims`` that are not in ``after``.
    """
    wildcard = after.index(-1)
    rest = [dim for at, dim in enumerate(after) if at != wildcard]
    if None not in dims and all(isinstance(dim, int) for dim in rest):
        more, left = _quotient(dims, rest), _quotient(rest, dims)
        if more == 1:
            return []
        if more is None and left == math.prod(_numbers(after[:wildcard])) and len(lost) == 1 and wildcard:
            # The target is, for example, [2, -1, ...]: two groups of half the batch. It mixes no elements.
            return []
        if more is None and left is not None and len(lost) == 2:
            # Example: [n, l, 768] to [-1, 128, 12, 64]. The -1 replaces n, and 128 replaces l.
            return [(lost[1] if wildcard == 0 else lost[0], "mixed", left)]
    # The lost dimension was the first dimension, and a number replaces it.
    misplaced = dims[0] == lost[0] and wildcard
    return [(lost[0], "mixed", after[0])] if misplaced and isinstance(after[0], int) else []


def _expanded(dims: Dimensions, target: tuple[int, ...]) -> list[tuple[str, Effect, int | None]]:
    """Return the dynamic dimensions that an Expand replaces by a number.

    Each result is the name of the dimension, the effect, and the number.  A 1 in the target replaces no
    dimension.
    """
    pairs = zip(reversed(dims), reversed(target), strict=False)
    return [(dim, "fixed", size) for dim, size in pairs if isinstance(dim, str) and size > 1]


def _joined(
    facts: Facts, node: Node, places: Mapping[str, _NamedDimension]
) -> Iterator[tuple[Value, str, int, tuple[int, ...]]]:
    """Yield the stored tensors that a node combines with a tensor of dynamic size.

    The node concatenates or broadcasts the two tensors.

    Each result is the stored tensor, the name of the dynamic dimension, the size of the stored tensor along
    this dimension, and the shape of the stored tensor.
    """
    values = [value for value in node.inputs if value is not None]
    shapes = [value.shape for value in values]
    names = {
        (at, dim)
        for shape in shapes
        for at, dim in enumerate(reversed(shape or ()))
        if isinstance(dim, str) and dim in places
    }
    if not names or None in shapes:
        return
    rank = max(len(shape or ()) for shape in shapes)
    along = rank - 1 - node.number("axis", 0) % rank if node.op == "Concat" else None
    for value, shape in zip(values, shapes, strict=True):
        sizes = [dim for dim in shape or () if isinstance(dim, int)]
        if len(sizes) != len(shape or ()) or not facts.model.constants.foldable(value):
            continue
        for at, name in sorted(names):
            size = sizes[-1 - at] if at < len(sizes) else 1
            if at != along and (size > 1 or (node.op == "Concat" and at < len(sizes))):
                yield value, name, size, tuple(sizes)


def _built(facts: Facts, places: Mapping[str, _NamedDimension]) -> Mapping[str, tuple[int, ...]]:
    """Return the sizes that the build command gives to each named dimension, smallest first."""
    if facts.command is None or not facts.command.builds:
        return {}
    sizes: dict[str, set[int]] = {name: set() for name in places}
    for spec in shapes_of(facts.command).specs:
        for name, (input_, axis, _) in places.items():
            if spec.means(input_):
                bounds = (shape for shape in (spec.min, spec.opt, spec.max) if shape is not None)
                sizes[name].update(shape[axis] for shape in bounds if axis < len(shape))
    return {name: tuple(sorted(found)) for name, found in sizes.items()}


def _chain(node: Node, stored: Value | None, effect: Effect) -> tuple[Step, ...]:
    label = (
        "has the traced size"
        if effect == "fixed"
        else "mixes elements from different positions of the dynamic dimension"
    )
    maker = None if stored is None else stored.producer
    if maker is None or maker.op not in _REPEATING:
        return (Step(node, "operator", label=label),)
    return (Step(maker, "stored", label=label), Step(node, "operator", label="joined here"))


def _quotient(dividend: Sequence[Dimension], divisor: Sequence[Dimension]) -> int | None:
    """Return the quotient of the element counts of two shapes, or None if it is not an integer.

    An element count is the product of the known sizes.  Dynamic dimensions are ignored.
    """
    number, through = math.prod(_numbers(dividend)), math.prod(_numbers(divisor))
    return number // through if through and number % through == 0 else None


def _numbers(dims: Sequence[Dimension]) -> list[int]:
    return [dim for dim in dims if isinstance(dim, int) and dim != -1]
