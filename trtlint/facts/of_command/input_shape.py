"""Compare the input shapes in a build command with the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace

from trtlint.buildcommand.shapes import Shape, ShapeSpec, shapes_of
from trtlint.facts.base import Fact
from trtlint.facts.blocks.sizes import shape_text
from trtlint.facts.facts import Facts
from trtlint.model.graph import Value
from trtlint.model.protos import Dimension

_LISTED = 2
"""Largest number of inputs in ``InputShape.unset``."""


class InputShape(Fact, frozen=True):
    """An input and its shapes in the build command.  The fact exists only if a command was given.

    There is one fact for each input in each optimization profile.  There is one more fact for each name in
    the command that is not a model input.  There is one more fact for each model input without a shape in the
    command.

    Attributes:
        name: the name of the input in the model.  If the model has no such input, the name in the command.
        is_input: whether the model has this input.
        inputs: the names of the model's inputs.
        declared: the shape of the input in the model, such as ``batchx3x224x224``.  ``?`` is a dynamic
            dimension without a name.  None if the model has no such input, or if the input has no shape.
        dynamic: whether a dimension is dynamic; None if the model has no such input.
        given: the shapes in the command, such as ``1x3x224x224``, smallest first; empty if there are none.
        option: the option that gives the shapes; empty if there are none.
        profile: index of the optimization profile; None if the command gives no shape.
        rank_fits: whether all shapes have as many dimensions as the input; None if unknown.
        fits: whether the sizes in the command equal the static sizes in the model; None if unknown.
        ordered: whether, for each dimension, the optimal size is between the smallest and the largest size.
        smallest: the smallest size of any dimension in any of the shapes; None if there is no shape.
        spread: the largest ratio between the maximum and the minimum size of a dimension.  The first
            dimension is left out.  None if unknown.
        clash: a text such as ``N is 2 in x and 3 in z``, if two inputs give a named dimension different sizes
            in one profile; empty if there is no such conflict.
        complete: whether all shapes of the command are known.
        unset: the first two dynamic inputs for which the command gives no shape, in the syntax of
            ``--optShapes``, such as ``ids:batchxseq,mask:batchxseq``.
    """

    name: str
    is_input: bool
    inputs: tuple[str, ...]
    declared: str | None
    dynamic: bool | None
    given: tuple[str, ...]
    option: str
    profile: int | None
    rank_fits: bool | None
    fits: bool | None
    ordered: bool
    smallest: int | None
    spread: float | None
    clash: str
    complete: bool
    unset: str = ""

    @property
    def place(self) -> str:
        """The location in reports: the name of the input."""
        return f"input {self.name}"


def find(facts: Facts) -> Iterator[InputShape]:
    """Yield the facts about the model's inputs in file order, then the facts about unknown names."""
    if facts.command is None or not facts.command.builds:
        return
    shapes = shapes_of(facts.command)
    inputs = facts.model.graph.inputs
    names = tuple(value.name for value in inputs)
    unset = _unset(value for value in inputs if not any(spec.means(value.name) for spec in shapes.specs))
    named: dict[tuple[int, str], list[_NamedSizes]] = {}
    for value in inputs:
        specs = [spec for spec in shapes.specs if spec.means(value.name)]
        for spec in specs:
            clash = _clash(value, spec, named)
            yield _fact(value.name, value, spec, names, shapes.complete, clash)
        if not specs:
            yield replace(_fact(value.name, value, None, names, shapes.complete), unset=unset)
    for spec in () if facts.command.served is not None else shapes.specs:
        if not any(spec.means(name) for name in names):
            yield _fact(spec.name, None, spec, names, shapes.complete)


def _unset(values: Iterable[Value]) -> str:
    dynamic = [value for value in values if not value.is_static]
    shapes = [(value.name, value.shape) for value in dynamic[:_LISTED]]
    listed = [f"{name}:{'?' if shape is None else shape_text(shape)}" for name, shape in shapes]
    return ",".join(listed) + (",..." if len(dynamic) > _LISTED else "")


class _NamedSizes(NamedTuple):
    """The sizes of a named dimension of one input in a profile.  A size is None if it is unknown."""

    input: str
    smallest: int | None
    best: int | None
    largest: int | None


def _clash(value: Value, spec: ShapeSpec, named: dict[tuple[int, str], list[_NamedSizes]]) -> str:
    """Return a text if an earlier input has a different size for a named dimension of ``value``.

    The result is an empty string if there is no such input.  Dimensions with the same name have the same size
    at run time.  So their optimal sizes must be equal, and their ranges must overlap
    (https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/python-api/infer/Graph/LayerBase.html).
    """
    found = ""
    for index, name in enumerate(value.shape or ()):
        if not isinstance(name, str):
            continue
        bounds = [
            shape[index] if shape is not None and index < len(shape) else None
            for shape in (spec.min, spec.opt, spec.max)
        ]
        own = _NamedSizes(value.name, *bounds)
        before = named.setdefault((spec.profile, name), [])
        for other in () if found else before:
            same = other.input == own.input
            first = f"in one dimension of {own.input}" if same else f"in {own.input}"
            second = "in another dimension" if same else f"in {other.input}"
            if None not in (own.best, other.best) and own.best != other.best:
                found = f"{name} is {own.best} {first} and {other.best} {second}"
            elif _apart(own, other) or _apart(other, own):
                sizes = f"from {own.smallest} to {own.largest}"
                found = f"{name} is {sizes} {first} and from {other.smallest} to {other.largest} {second}"
        before.append(own)
    return found


def _apart(low: _NamedSizes, high: _NamedSizes) -> bool:
    return low.largest is not None and high.smallest is not None and low.largest < high.smallest


def _fact(
    name: str,
    value: Value | None,
    spec: ShapeSpec | None,
    names: tuple[str, ...],
    complete: bool,
    clash: str = "",
) -> InputShape:
    declared = value.shape if value is not None else None
    bounds = [] if spec is None else [shape for shape in (spec.min, spec.opt, spec.max) if shape is not None]
    rank_fits = None if declared is None or not bounds else all(len(b) == len(declared) for b in bounds)
    sizes = [size for shape in bounds for size in shape]
    return InputShape(
        name=name,
        is_input=value is not None,
        inputs=names,
        declared=None if declared is None else shape_text(declared),
        dynamic=None if value is None else not value.is_static,
        given=tuple(dict.fromkeys(map(shape_text, bounds))),
        option="" if spec is None else spec.options[0],
        profile=None if spec is None else spec.profile,
        rank_fits=rank_fits,
        fits=None if declared is None or not rank_fits else all(_fits(declared, shape) for shape in bounds),
        ordered=all(_at_most(a, b) for a, b in pairwise(bounds)),
        smallest=min(sizes, default=None),
        spread=None if spec is None else _spread(spec.min, spec.max),
        clash=clash,
        complete=complete,
    )


def _fits(declared: tuple[Dimension, ...], shape: Shape) -> bool:
    return all(not isinstance(dim, int) or dim == size for dim, size in zip(declared, shape, strict=True))


def _spread(smallest: Shape | None, largest: Shape | None) -> float | None:
    """Return the largest ratio between the maximum and the minimum size of a dimension.

    The first dimension is left out, because it is often the batch.  The result is None if no ratio is known.
    """
    if smallest is None or largest is None or len(smallest) != len(largest):
        return None
    pairs = zip(smallest[1:], largest[1:], strict=True)
    return max((most / least for least, most in pairs if least), default=None)


def _at_most(smaller: Shape, larger: Shape) -> bool:
    """Return True if each size in ``smaller`` is at most the size of the same dimension in ``larger``.

    The result is also True if the shapes have different numbers of dimensions.
    """
    return len(smaller) != len(larger) or all(a <= b for a, b in zip(smaller, larger, strict=True))
