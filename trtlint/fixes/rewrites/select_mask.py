"""Replace a finite mask value by a selection that gives the same probabilities in every type.

Models mask scores by ``Where(keep, scores, -1e9)``, or by ``scores + mask`` with a mask of 0 and -3.4e38. The
numbers -1e9 and -3.4e38 are outside the FP16 range. Softmax gives a masked key the probability 0. The mask
value -inf gives the same probability, in FP16 too. A fully masked row is the exception: all scores of the row
become the same number, so all probabilities are equal. In such a row, 0 also gives equal probabilities, but
-inf would give NaN. So the rewrite replaces masked scores by -inf, and by 0 in fully masked rows. The new
operators compute this fill value from the mask, which is small compared with the scores. Each scores tensor
still needs only one ``Where``.

The results are the same if no score is as low as the mask value. For ``Where``, scores must be above half of
the mask value. For an added mask, the magnitude of the scores must be at most 1e13. The proof names these
bounds. The rewrite does not apply to scores that another mask may set to -inf, because both masks together
could mask all keys of a row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from trtlint.facts.base import Fact
from trtlint.facts.blocks.softmax import mask_paths
from trtlint.facts.of_model.constant import FP16_MAX, Constant
from trtlint.fixes.patch import MOST_ELEMENTS, Bound, Draft, NotApplicable, Patch, onnx_type, opset_of
from trtlint.fixes.rewrites._forms import Forms
from trtlint.fixes.rewrites._fractions import DEEPEST, MOVES, is_coarse
from trtlint.fixes.rewrites.clamp_mask import value_named
from trtlint.model.folding import fill_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES

_LOWEST_SELECTED = -1e8
"""Highest fill value with which a Where masks scores. Models compute no scores below half of this number."""
_LOWEST_ADDED = -1e30
"""Highest mask value of an added mask. Even in FP64, the sum of a score and such a value equals the value."""
_FARTHEST_ADDED = 1e13
"""Largest magnitude of scores. The sum of such a score and a masked element equals the element.

In FP32, this is also true for an element that is only 2^-24 times the mask value.
"""
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "Min", "Max", "Neg", "Clip"})
_FINITE = frozenset({"MatMul", "Gemm", "Einsum", "Conv", "Tanh", "Sigmoid"})
"""Operators that return no -inf for finite inputs."""
_ENDS = frozenset({"Softmax", "LogSoftmax", "Attention"})
_MOST_NODES = 200
"""Maximum number of values in one search, downstream of the constant or upstream of the scores."""
_EQUAL_SINCE = 11
"""First opset in which Equal compares floats: https://onnx.ai/onnx/operators/onnx__Equal.html"""
_ONE_AXIS = 13
"""First opset with Softmax over one axis: https://onnx.ai/onnx/operators/onnx__Softmax.html"""


class _Site(Struct, frozen=True):
    """One operator that masks attention scores: a Where or an Add.

    Attributes:
        node: the Where or the Add.
        scores: the masked scores.
        mask: the condition of the Where, or the added tensor.
        fill: index of the mask value among the inputs of the Where; 0 for an Add.
        source: the tensor that is multiplied by the mask value, if the added mask is such a product. The
            tensor is zero for allowed keys. None for a Where, or if the added mask is not a product.
        softmax: the Softmax operators that read the masked scores.
        axis: the negative axis of the keys in the scores.
        path: operators from the constant with the mask value to ``node``.
    """

    node: Node
    scores: Value
    mask: Value
    fill: int
    source: Value | None
    softmax: tuple[Node, ...]
    axis: int
    path: tuple[Node, ...]


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces a constant mask value in all attention blocks that use it."""
    if not isinstance(fact, Constant) or fact.node is None:
        raise NotApplicable("there is no constant at this place")
    held = value_named(fact.node, fact.name)
    if held is None:
        raise NotApplicable("there is no constant at this place")
    search = _Search(model, fact)
    sites, lowest = search.sites(held), search.lowest
    if not sites:
        raise NotApplicable("the constant masks no scores of a softmax")
    whole = _patch(model, sites, sites[0].path, lowest)
    kinds: dict[object, _Site] = {}
    for site in sites[1:]:
        kinds.setdefault(_likeness(site, model), site)
    kinds.pop(_likeness(sites[0], model), None)
    if len(sites) == 1:
        return whole
    parts = [_patch(model, sites[:1], sites[0].path, lowest)]
    parts += [_patch(model, [site], (site.node,), lowest, drawn=True) for site in kinds.values()]
    return replace(whole, parts=tuple(parts))


def _likeness(site: _Site, model: Model) -> tuple[object, ...]:
    """Return a key for a mask operator. Operators with equal keys need only one proof."""
    values = (site.scores, site.mask)
    shapes = [(value.dtype, tuple(model.constants.dimensions(value) or ("?",))) for value in values]
    return (site.node.op, site.fill, site.axis, site.source is None, *shapes)


class _Search:
    """Searches for the operators at which a constant masks scores."""

    def __init__(self, model: Model, fact: Constant) -> None:
        self.model = model
        self.constants = model.constants
        self.paths = mask_paths(model.graph)
        self.scope = "" if fact.node is None else fact.node.scope
        low, high = fact.values.low, fact.values.high
        if low is None or high is None or low >= -FP16_MAX or high > 0:
            raise NotApplicable("the constant is not a mask value, or it fits into FP16")
        self.lowest = low
        self.left = _MOST_NODES

    def sites(self, held: Value) -> list[_Site]:
        """Return the operators at which the constant ``held`` masks scores."""
        mask = self._is_mask(held)
        return list(self._follow(held, mask, (), None))

    def _follow(
        self, value: Value, mask: bool, path: tuple[Node, ...], source: Value | None
    ) -> Iterator[_Site]:
        """Yield the mask operators that depend on a value.

        Args:
            value: the constant, or a tensor computed from it.
            mask: True if ``value`` contains only zeros and the mask value.
            path: operators from the constant to ``value``.
            source: the tensor that is multiplied with the mask value; None if there is none.
        """
        self.left -= 1
        if self.left < 0:
            raise NotApplicable(f"more than {_MOST_NODES} values depend on the constant")
        for node, port in dict.fromkeys(value.uses):
            reached = [each for each in node.outputs if each in self.paths]
            if node.op in _ENDS and not node.domain:
                raise NotApplicable(f"{node.op} reads the mask values directly")
            if not reached:
                continue
            if node.scope != self.scope:
                raise NotApplicable("the mask is read in the body of an If or a loop")
            yield from self._behind(node, port, value, mask, (*path, node), source)

    def _behind(
        self, node: Node, port: int, value: Value, mask: bool, path: tuple[Node, ...], source: Value | None
    ) -> Iterator[_Site]:
        if node.op == "Where" and port and source is None:
            other = node.input(3 - port)
            if other is not None and self._is_mask(other):
                yield from self._follow(node.output, mask, path, None)
            elif not mask or self._numbers(value) == {self.lowest}:
                yield self._selected(node, port, path)
            else:
                raise NotApplicable("a Where selects between mask values and scores")
        elif source is None and port == 0 and (node.op in MOVES or self._narrows(node)):
            yield from self._follow(node.output, mask, path, None)
        elif node.op == "Mul" and self.constants.scalar(value) is not None and source is None:
            yield from self._follow(node.output, True, path, node.input(1 - port))
        elif node.op == "Add" and mask:
            yield self._added(node, port, path, source)
        else:
            raise NotApplicable(f"{node.op} is between the mask and the softmax")

    def _selected(self, node: Node, port: int, path: tuple[Node, ...]) -> _Site:
        condition, scores = node.input(0), node.input(3 - port)
        if condition is None or scores is None or self.lowest > _LOWEST_SELECTED:
            raise NotApplicable(f"the mask value {self.lowest:.3g} is not low enough: scores may be as low")
        softmax, axis = self._read_by(node, scores)
        return _Site(node, scores, condition, port, None, softmax, axis, path)

    def _added(self, node: Node, port: int, path: tuple[Node, ...], source: Value | None) -> _Site:
        mask, scores = node.input(port), node.input(1 - port)
        if mask is None or scores is None or mask is scores:
            raise NotApplicable("the mask is not added to scores")
        narrowed = any(each.op == "Cast" and each.output.dtype == "f16" for each in path)
        if self.lowest > _LOWEST_ADDED and not narrowed:
            raise NotApplicable(
                f"in a fully masked row, scores can still differ after {self.lowest:.3g} is added to them, "
                "but the rewrite makes them equal"
            )
        if opset_of(self.model) < _EQUAL_SINCE:
            raise NotApplicable(f"Equal does not support floats before opset {_EQUAL_SINCE}")
        if source is not None and not is_coarse(source, self.constants):
            raise NotApplicable(f"the mask is multiplied by {source.name}, which may contain small fractions")
        softmax, axis = self._read_by(node, scores)
        return _Site(node, scores, mask, 0, source, softmax, axis, path)

    def _read_by(self, node: Node, scores: Value) -> tuple[tuple[Node, ...], int]:
        """Return the Softmax operators that read masked scores, and the axis of the keys.

        The axis is a negative number, counted from the last axis.

        Args:
            node: the Where or Add that masks the scores.
            scores: the scores before the mask.
        """
        self._require_unmasked(scores)
        found: list[Node] = []
        axes: set[int] = set()
        for reader, _ in node.output.uses:
            if reader.op not in _ENDS and not any(each in self.paths for each in reader.outputs):
                continue
            if reader.op != "Softmax" or reader.domain:
                raise NotApplicable(f"{reader.op} reads the masked scores")
            if reader.scope != node.scope:
                raise NotApplicable("the softmax is in the body of an If or a loop")
            found.append(reader)
            axes.add(self._axis(reader, node.output))
        if len(axes) != 1:
            raise NotApplicable("no softmax reads the masked scores")
        return tuple(dict.fromkeys(found)), axes.pop()

    def _axis(self, softmax: Node, scores: Value) -> int:
        whole = opset_of(self.model) < _ONE_AXIS
        axis = softmax.integer("axis", 1 if whole else -1)
        if axis >= 0:
            if scores.rank is None:
                raise NotApplicable("the rank of the scores is not known")
            axis -= scores.rank
        if whole and axis != -1:
            raise NotApplicable("the softmax covers more than one axis")
        return axis

    def _require_unmasked(self, scores: Value) -> None:
        """Raise NotApplicable if the scores may already be masked by another mask.

        Both masks together could mask all keys of a row.
        """
        pending = [scores]
        met = {scores}
        while pending:
            value = pending.pop()
            numbers = self._numbers(value)
            if numbers is not None:
                if any(number < -FP16_MAX for number in numbers):
                    raise NotApplicable("the scores are masked more than once")
                continue
            node = value.producer
            if node is not None and not node.domain and node.op in _FINITE:
                continue
            if node is not None and node.op == "Where":
                raise NotApplicable("the scores are masked more than once")
            if node is None or node.domain or node.op not in MOVES | _ARITHMETIC | {"Cast"}:
                what = f"input {value.name}" if node is None else f"result of {node.op}"
                raise NotApplicable(f"the scores depend on the {what}, which may contain -inf from a mask")
            ports = node.inputs if node.op in _ARITHMETIC - {"Div", "Clip"} else node.inputs[:1]
            fresh = [each for each in ports if each is not None and each not in met]
            met.update(fresh)
            pending += fresh
            if len(met) > _MOST_NODES:
                raise NotApplicable(f"the scores depend on more than {_MOST_NODES} values")

    def _narrows(self, node: Node) -> bool:
        return node.op == "Cast" and node.output.dtype in FLOAT_DTYPES

    def _is_mask(self, value: Value) -> bool:
        """Return whether a tensor contains only zeros and the mask value."""
        numbers = self._numbers(value)
        return numbers is not None and numbers <= {0.0, self.lowest}

    def _numbers(self, value: Value | None, depth: int = 0) -> set[float] | None:
        """Return the distinct numbers of a float tensor, or None if they are unknown.

        If the tensor has more than two distinct numbers, return the lowest, the highest and NaN.
        """
        if value is None or depth > DEEPEST:
            return None
        node = value.producer
        if node is not None and not node.domain:
            if node.op == "Where":
                found = [self._numbers(each, depth + 1) for each in node.inputs[1:3]]
                sets = [each for each in found if each is not None]
                return set.union(*sets) if len(sets) == len(found) == 2 else None
            if node.op in MOVES or self._narrows(node):
                return self._numbers(node.input(0), depth + 1)
            if node.op == "ConstantOfShape":
                fill = fill_of(node.attribute("value"))
                return None if fill is None else set(map(float, fill))
        tensor = self.constants.stored(value)
        if tensor is not None and int(np.prod(tensor.dims, dtype=np.float64)) > MOST_ELEMENTS:
            return None
        array = self.constants.payload(value)
        if array is None and (scalar := self.constants.scalar(value)) is not None:
            return {float(scalar)}
        if array is None or array.dtype.kind != "f" or not array.size or np.isnan(array).any():
            return None
        low, high = float(array.min()), float(array.max())
        return {low, high} if np.isin(array, (low, high)).all() else {low, high, float("nan")}


def _patch(
    model: Model, sites: list[_Site], around: tuple[Node, ...], lowest: float, *, drawn: bool = False
) -> Patch:
    """Create one patch for several mask operators.

    Args:
        model: the model.
        sites: the mask operators.
        around: operators from the constant to the first mask operator.
        lowest: the mask value.
        drawn: True if the proof sets each element of an added mask randomly to 0 or to the mask value.
    """
    draft = Draft(model, sites[0].node)
    written: dict[tuple[object, ...], tuple[str, str]] = {}
    rewire: list[tuple[Node, int, str]] = []
    for site in sites:
        key = (site.mask, site.fill, site.axis, site.scores.dtype)
        if key not in written:
            written[key] = _selection(draft, site)
        choice, fill = written[key]
        draft.node = site.node
        parts = (fill, site.scores) if site.fill == 1 else (site.scores, fill)
        masked = draft.op("Where", choice, *parts)
        rewire += [(softmax, 0, masked) for softmax in site.softmax]
    masks = {site.mask.name for site in sites if not site.fill and site.source is None}
    narrowed = any(each.op == "Cast" and each.output.dtype == "f16" for s in sites for each in s.path)
    conditions = _conditions(sites, lowest, keep_a_key=narrowed)
    return draft.patch(
        "masks with -inf, and sets fully masked rows to 0",
        [],
        rewire=rewire,
        around=around,
        folds=True,
        keeps_a_key=narrowed,
        finite=[site.scores.name for site in sites],
        holds=[(name, (0.0, lowest)) for name in sorted(masks)] if drawn else (),
        bounds=[Bound(site.scores.name, *_scores_of(site, lowest)) for site in sites],
        condition=", ".join(conditions),
    )


def _scores_of(site: _Site, lowest: float) -> tuple[float, float]:
    """Return the range of scores (low, high) in which the rewrite preserves the results."""
    return (lowest / 2, np.inf) if site.fill else (-_FARTHEST_ADDED, _FARTHEST_ADDED)


def _conditions(sites: list[_Site], lowest: float, *, keep_a_key: bool) -> Iterator[str]:
    """Yield the assumptions of the proof as text."""
    if any(site.fill for site in sites):
        yield f"scores above {lowest / 2:.2g}"
    if not all(site.fill for site in sites):
        yield f"scores of at most {_FARTHEST_ADDED:.0e} in magnitude"
    if keep_a_key:
        yield "rows with at least one allowed key"


def _selection(draft: Draft, site: _Site) -> tuple[str, str]:
    """Insert the condition and the fill value of the new Where, and return their names.

    Both tensors broadcast to the shape of the mask.
    """
    forms, dtype = Forms(draft), site.scores.dtype
    mask = site.source or site.mask
    reduces = mask.rank is None or mask.rank >= -site.axis
    zero, never = draft.like(0.0, dtype, "zero"), draft.like(-np.inf, dtype, "never")
    if site.fill:
        name: str = mask.name
        if reduces:  # whether a row has an allowed key
            numbers = draft.op("Cast", mask, to=onnx_type("f32"))
            found = forms.reduced(
                "ReduceMin" if site.fill == 1 else "ReduceMax", numbers, [site.axis], keep=True
            )
            name = draft.op("Cast", found, to=onnx_type("bool"))
        parts = (zero, never) if site.fill == 1 else (never, zero)
        return site.mask.name, draft.op("Where", name, *parts)
    best: str | Value = mask
    if reduces:
        best = forms.reduced(
            "ReduceMax" if site.source is None else "ReduceMin", mask, [site.axis], keep=True
        )
    same = draft.op("Equal", mask, best)
    live = draft.op("Equal", best, draft.like(0.0, mask, "zero"))
    return draft.op("And", same, live), draft.op("Where", same, zero, never)
