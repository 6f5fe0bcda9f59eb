"""Replace boolean indexing by a computation on all elements, if the final result has a fixed size.

Exporters write ``x[mask] = f(x[mask])`` as NonZero, GatherND, the operators of f, and ScatterND. Exporters
write ``x[mask].sum()`` as NonZero, GatherND and a reduction. The intermediate tensors have one row for each
true element of the mask. The rewritten model computes with all elements, and selects by the mask at the end.
So no size depends on the data.

Definitions: https://onnx.ai/onnx/operators/onnx__NonZero.html,
https://onnx.ai/onnx/operators/onnx__GatherND.html, https://onnx.ai/onnx/operators/onnx__ScatterND.html
"""

from __future__ import annotations

import heapq
import math
from typing import Literal

import numpy as np
from msgspec import Struct, field

from trtlint.facts.base import Fact
from trtlint.fixes.keep_fp32 import NARROW
from trtlint.fixes.patch import Draft, NotApplicable, Patch, numpy_type, onnx_type, operator_of
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.folding import fill_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES, Dimension

_MOST_NODES = 500
"""Maximum number of operators between NonZero and results of fixed size."""
_ALONE = frozenset(
    {"Abs", "Cast", "Ceil", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish"}
    | {"Identity", "LeakyRelu", "Log", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid"}
    | {"Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Tanh"}
)
"""Element-wise operators with one tensor operand. All further operands are scalars."""
_TOGETHER = frozenset(
    {"Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mul"}
    | {"Or", "Pow", "Sub", "Sum", "Where", "Xor"}
)
"""Element-wise operators that broadcast several operands."""
_REDUCTIONS = {"ReduceSum": 0.0, "ReduceMax": -math.inf, "ReduceMin": math.inf}
"""Supported reductions, each with the result for a mask that selects no element."""

Kind = Literal["indices", "positions", "rows", "picked", "sizes"]


class _MaskedValue(Struct, frozen=True):
    """A tensor whose size depends on the mask.

    Attributes:
        kind: what the tensor contains:

            - ``indices``: the output of NonZero, with one row for each dimension of the mask.
            - ``positions``: the transposed output of NonZero.
            - ``rows``: the positions as a vector, because the mask has one dimension.
            - ``picked``: elements of another tensor at the positions.
            - ``sizes``: a shape that begins with the number of positions.
        full: for ``picked``, the name of the tensor that contains all elements, selected or not.
        rest: for ``picked`` and ``sizes``, the dimensions of the tensor after the first dimension.
        thin: for ``picked``, True if ``full`` has one set of elements, to be broadcast to all positions.
    """

    kind: Kind
    full: str = ""
    rest: tuple[Dimension, ...] = ()
    thin: bool = False


class _Masking(Struct):
    """The rewrite of one NonZero and of all operators that depend on its result."""

    draft: Draft
    forms: Forms
    dims: tuple[Dimension, ...]
    condition: str
    parts: dict[Value, _MaskedValue] = field(default_factory=dict)
    removed: list[Node] = field(default_factory=list)

    def follow(self, node: Node) -> None:
        """Rewrite the operators that depend on NonZero, until their results have a fixed size."""
        self.parts[node.output] = _MaskedValue("indices")
        pending = [(node.index, node)]
        while pending:
            reader = heapq.heappop(pending)[1]
            if reader is not node:
                self._rewrite_reader(reader)
            self.removed.append(reader)
            if len(self.removed) > _MOST_NODES:
                raise NotApplicable(f"more than {_MOST_NODES} operators depend on NonZero")
            for value in reader.outputs:
                if value not in self.parts:
                    continue
                if value.is_output or value.leaves_body:
                    raise NotApplicable(
                        "an output of the model or of a body has a size that is known only at run time"
                    )
                for each, _ in value.uses:
                    if each.scope != node.scope:
                        raise NotApplicable("the selection is read in the body of an If or a loop")
                    if (each.index, each) not in pending:
                        heapq.heappush(pending, (each.index, each))

    def _rewrite_reader(self, node: Node) -> None:
        """Rewrite one operator that depends on NonZero.

        If the output has no fixed size, record what the output contains.
        """
        if node.domain:
            raise _refused(node)
        part = self._moved_positions(node)
        if part is None:
            part = self._selected_elements(node) or self._copied_elementwise(node)
        if part is not None:
            self.parts[node.output] = part
        elif node.op == "ScatterND":
            self._replace_scatter(node)
        elif node.op in _REDUCTIONS:
            self._replace_reduction(node)
        elif node.op == "ReduceMean":
            raise NotApplicable(
                "the mean of an empty selection is undefined, and runtimes compute different values"
            )
        else:
            raise _refused(node)

    def _part(self, node: Node, port: int) -> _MaskedValue | None:
        value = node.input(port)
        return None if value is None else self.parts.get(value)

    def _moved_positions(self, node: Node) -> _MaskedValue | None:
        """Describe the output of an operator that moves positions or returns the shape of positions.

        The result is None for any other operator.
        """
        part, single = self._part(node, 0), len(self.dims) == 1
        if part is None or part.kind == "sizes":
            return None
        if node.op == "Identity" or (node.op == "Max" and len(node.inputs) == 1):
            return part
        if node.op == "Shape" and not {"start", "end"} & node.attributes.keys() and part.kind != "indices":
            rest = {"positions": (len(self.dims),), "picked": part.rest}.get(part.kind, ())
            return _MaskedValue("sizes", rest=rest)
        if node.op == "Transpose" and part.kind == "indices" and node.attribute("perm", (1, 0)) == (1, 0):
            return _MaskedValue("positions")
        axes, sizes = self.draft.model.constants.axes(node), self._part(node, 1)
        match node.op, part.kind:
            case "Squeeze", "indices" if single and axes in ((0,), (-2,)):
                return _MaskedValue("rows")
            case "Squeeze", "positions" if single and axes in ((1,), (-1,)):
                return _MaskedValue("rows")
            case "Unsqueeze", "rows" if axes in ((1,), (-1,)):
                return _MaskedValue("positions")
            case "Expand", "rows" if sizes is not None and not sizes.rest:
                return part
            case _:
                return None

    def _selected_elements(self, node: Node) -> _MaskedValue | None:
        """Return the selected elements that a Gather, GatherND, Expand or ConstantOfShape returns.

        The result is None for any other operator.
        """
        sizes, at, first = self._part(node, 0), self._part(node, 1), node.input(0)
        number = fill_of(node.attribute("value")) if node.op == "ConstantOfShape" else None
        if number is not None and number.size == 1 and sizes is not None and sizes.kind == "sizes":
            return _MaskedValue(
                "picked", self.draft.constant(number.reshape(()), "number"), sizes.rest, thin=True
            )
        if at is None or first is None or first in self.parts:
            return None
        rest = self._dims_after_mask(first)
        match node.op, at.kind:
            case "Expand", "sizes" if self._broadcasts(first, at.rest):
                return _MaskedValue("picked", first.name, at.rest, thin=True)
            case "GatherND", "positions" if rest is not None and not node.number("batch_dims", 0):
                return _MaskedValue("picked", first.name, rest)
            case "Gather", "rows" if rest is not None and not node.number("axis", 0):
                return _MaskedValue("picked", first.name, rest)
            case _:
                return None

    def _copied_elementwise(self, node: Node) -> _MaskedValue | None:
        """Copy an element-wise operator so that the copy reads all elements, selected or not.

        The result is None if the operator is not element-wise, or if the shape of an operand does not match.
        """
        if node.op not in _ALONE | _TOGETHER or len(node.outputs) != 1:
            return None
        given = [value for value in node.inputs if value is not None]
        parts = [self.parts[value] for value in given if value in self.parts]
        if any(part.kind != "picked" for part in parts) or len({part.rest for part in parts}) != 1:
            return None
        if node.op == "Div" and node.output.dtype not in FLOAT_DTYPES:
            return None  # elements outside the selection may be divided by zero
        rest = parts[0].rest
        others = [value for value in given if value not in self.parts]
        if not all(self._broadcasts(value, rest) for value in others):
            return None
        names = [
            "" if value is None else self.parts[value].full if value in self.parts else value.name
            for value in node.inputs
        ]
        full = self.draft.name(node.op.lower())
        self.draft.again(node, names, [full])
        return _MaskedValue("picked", full, rest, thin=all(part.thin for part in parts))

    def _broadcasts(self, value: Value, rest: tuple[Dimension, ...]) -> bool:
        """Return whether a broadcast tensor has the same numbers for each selected element.

        Args:
            value: the tensor.
            rest: the dimensions after the dimensions of the mask. These dimensions are the shape of one
                selected element.
        """
        shape = value.shape
        if shape is None:
            return False
        return len(shape) <= len(rest) or (len(shape) == len(rest) + 1 and shape[0] == 1)

    def _dims_after_mask(self, data: Value) -> tuple[Dimension, ...] | None:
        """Return the dimensions of a tensor that come after the dimensions of the mask.

        The result is None if the mask does not match the tensor.
        """
        shape, depth = self.draft.model.constants.dimensions(data), len(self.dims)
        if shape is None or None in shape[:depth] or tuple(shape[:depth]) != self.dims:
            return None
        return tuple(shape[depth:])

    def _mask_of_rank(self, rest: int) -> str:
        """Return the mask with ``rest`` additional dimensions of size one at its end."""
        depth = len(self.dims)
        return self.forms.unsqueeze(self.condition, *range(depth, depth + rest)) if rest else self.condition

    def _replace_scatter(self, node: Node) -> None:
        data, at = node.input(0), self._part(node, 1)
        if data is None or data in self.parts or at is None or at.kind != "positions":
            raise _refused(node)
        if node.attribute("reduction", "none") != "none":
            raise NotApplicable("ScatterND has a reduction")
        rest, updates, new = self._dims_after_mask(data), node.input(2), self._part(node, 2)
        if rest is None:
            raise NotApplicable("trtlint cannot show that the mask has the shape of the indexed tensor")
        if new is None or updates is None or new.kind != "picked" or len(new.rest) != len(rest):
            raise NotApplicable("the updates of ScatterND are not elements that the mask selects")
        self.draft.op("Where", self._mask_of_rank(len(rest)), new.full, data, out=node.output.name)

    def _replace_reduction(self, node: Node) -> None:
        """Replace a reduction of the selected elements by a masked reduction of all elements."""
        part, dtype = self._part(node, 0), node.output.dtype
        axes = self._axes(node)
        if part is None or part.kind != "picked" or dtype not in FLOAT_DTYPES or axes is None:
            raise _refused(node)
        if part.thin and any(dim != 1 for dim in part.rest):
            raise NotApplicable(f"{node.op} also reduces a dimension that is broadcast")
        if 0 not in axes:
            raise NotApplicable(f"the result of {node.op} has one element for each true mask element")
        draft, depth, kind = self.draft, len(self.dims), "f32" if dtype in NARROW else str(dtype)
        tensor = part.full if kind == dtype else draft.op("Cast", part.full, to=onnx_type(kind))
        neutral = draft.constant(np.array(_REDUCTIONS[node.op], numpy_type(kind)), "neutral")
        only = draft.op("Where", self._mask_of_rank(len(part.rest)), tensor, neutral)
        over = [*range(depth), *(axis - 1 + depth for axis in axes if axis)]
        keeps, out = bool(node.number("keepdims", 1)), node.output.name if kind == dtype else ""
        result = self.forms.reduced(node.op, only, over, "" if keeps else out)
        if keeps:
            result = self.forms.unsqueeze(result, *axes, out=out)
        if kind != dtype:
            draft.op("Cast", result, to=onnx_type(dtype), out=node.output.name)

    def _axes(self, node: Node) -> list[int] | None:
        """Return the axes of a reduction, sorted and non-negative, or None if they are unknown."""
        part = self._part(node, 0)
        rank = 1 + len(part.rest) if part is not None else 0
        if node.input(1) is None and "axes" not in node.attributes:
            return None if node.number("noop_with_empty_axes", 0) else list(range(rank))
        axes = self.draft.model.constants.axes(node)
        return None if not axes else sorted({axis % rank for axis in axes})


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces a NonZero and all operators that depend on its result."""
    node = operator_of(fact, model, "NonZero")
    mask = node.input(0)
    dims = None if mask is None else model.constants.dimensions(mask)
    if mask is None or not dims or None in dims:
        raise NotApplicable("the shape of the mask is not known")
    draft = Draft(model, node)
    condition = mask.name if mask.dtype == "bool" else draft.op("Cast", mask, to=onnx_type("bool"))
    masking = _Masking(draft, Forms(draft), tuple(dims), condition)
    masking.follow(node)
    if len(masking.removed) == len(masking.parts):
        raise NotApplicable("every tensor that depends on NonZero has a size that is known only at run time")
    title = "computes with a mask on all elements, instead of on the selected elements"
    return draft.patch(title, masking.removed, opset=masking.forms.opset)


def _refused(node: Node) -> NotApplicable:
    return NotApplicable(
        f"{node.op} needs the selected elements as a tensor, whose size is known only at run time"
    )
