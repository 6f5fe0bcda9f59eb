"""Unroll a ``Loop``. If this is impossible, add the inputs that TensorRT's parser requires.

A carried value is a value that the loop passes from one iteration to the next. After unrolling, no condition
remains, and carried values can have a different shape in each iteration. If a Loop cannot be unrolled, the
rewrite adds a missing initial condition. If such a Loop also has no trip count, the rewrite adds a carried
value that counts the iterations.

https://onnx.ai/onnx/operators/onnx__Loop.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy

import numpy as np
import onnx
from msgspec import Struct
from onnx import helper

from trtlint.facts.base import Fact
from trtlint.fixes.edit import needs
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.fixes.reference import part_of
from trtlint.fixes.rewrites._bodies import copy, hangs_on_sizes, store
from trtlint.fixes.rewrites._computing import known
from trtlint.fixes.rewrites._forms import Forms
from trtlint.model.graph import Body, Node
from trtlint.model.load import Model
from trtlint.model.payload import Array
from trtlint.model.protos import text
from trtlint.model.walks import behind
from trtlint.process.fork import ComputationError, compute

_MOST_TIMES = 64
"""Maximum number of iterations of a Loop that the rewrite unrolls."""
_MOST_NODES = 2000
"""Maximum number of operators that a patch inserts."""
_COUNTLESS = 2**31 - 1
"""Smallest trip count that the parser treats as unlimited."""
_MOST_CARRIED = 4096
"""Maximum number of elements of each carried value on which the condition depends."""
_GROWING = frozenset({"ConstantOfShape", "Expand", "Tile", "Range", "Pad", "Resize"})
"""Operators with an operand that sets the size of the output."""
_AT_RUN_TIME = "the number of iterations is known only at run time"


class _EndlessError(NotApplicable):
    """Error: the Loop never ends."""


class _LoopBody(Struct, frozen=True):
    """A Loop and its body.

    Attributes:
        node: the operator.
        proto: the body as stored in the file.
        body: the inputs and outputs of the body.
        most: the trip count; None if it is missing or unknown.
        fed: True if the Loop has a trip count, but this count is known only at run time.
    """

    node: Node
    proto: onnx.GraphProto
    body: Body
    most: int | None
    fed: bool

    @property
    def carried(self) -> int:
        return len(self.body.inputs) - 2

    @property
    def goes_on(self) -> bool:
        """True if the body returns the input condition unchanged."""
        return behind(self.body.outputs[0], {"Identity"}) is self.body.inputs[1]


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that unrolls one Loop. If this is impossible, the patch adds missing inputs."""
    loop = _loop(operator_of(fact, model, "Loop"), model)
    try:
        times = _times(loop, model)
    except _EndlessError:
        raise
    except NotApplicable:
        if completed := _with_condition_and_counter(loop, model):
            return completed
        raise
    return _unrolled(loop, model, times)


def _loop(node: Node, model: Model) -> _LoopBody:
    body = model.graph.bodies(node).get("body")
    proto = node.attributes["body"].g if "body" in node.attributes else None
    if body is None or proto is None or len(body.inputs) < 2 or not body.outputs:
        raise NotApplicable("the body of the Loop does not have the inputs and outputs that ONNX requires")
    if proto.sparse_initializer:
        raise NotApplicable("the body stores a sparse tensor")
    most = model.constants.scalar(node.input(0))
    fed = node.input(0) is not None and most is None
    return _LoopBody(node, proto, body, None if most is None else int(most), fed)


def _times(loop: _LoopBody, model: Model) -> int:
    """Return the number of iterations of a Loop.

    Raises:
        NotApplicable: the number is known only at run time, or the Loop is too large to unroll.
    """
    first = loop.node.input(1)
    started = True if first is None else model.constants.scalar(first)
    if started is None or loop.fed:
        raise NotApplicable(_AT_RUN_TIME)
    again = model.constants.scalar(loop.body.outputs[0])
    if started and hangs_on_sizes(loop.body.outputs[0]):
        raise NotApplicable(_AT_RUN_TIME)
    if not started:
        times: int | None = 0
    elif loop.goes_on or again:
        times = loop.most
    elif first is None:
        raise NotApplicable(
            "the Loop has no initial condition, and runtimes treat a missing condition differently"
        )
    elif again is not None:
        times = 1 if loop.most is None else min(loop.most, 1)
    else:
        times = _times_by_condition(loop, model)
    if times is None or times >= _COUNTLESS:
        raise _EndlessError("the loop never ends")
    if times > _MOST_TIMES or times * len(loop.proto.node) > _MOST_NODES:
        raise NotApplicable("the loop has too many iterations to unroll")
    return max(times, 0)


def _times_by_condition(loop: _LoopBody, model: Model) -> int:
    """Compute the number of iterations of a Loop whose condition depends only on constants."""
    found = _condition_operators(loop, model)
    if found is None:
        raise NotApplicable(_AT_RUN_TIME)
    nodes, outside, state = found
    inputs, outputs = loop.body.inputs, loop.body.outputs
    reads = [inputs[0].name, inputs[1].name, *(inputs[place].name for place in state), *outside]
    gives = [outputs[0].name, *(outputs[place - 1].name for place in state)]
    protos = [node.proto for node in nodes]
    proto = part_of(model, protos, dict.fromkeys(reads), dict.fromkeys(gives))
    try:
        times, reason = json.loads(
            compute(lambda: json.dumps(_times_of(proto, loop, outside, state)).encode())
        )
    except ComputationError as error:
        raise NotApplicable(f"the number of iterations cannot be computed: {error}") from error
    if times is None:
        raise NotApplicable(reason)
    return int(times)


def _times_of(
    proto: onnx.ModelProto, loop: _LoopBody, outside: Mapping[str, Array], state: dict[int, Array]
) -> tuple[int | None, str]:
    """Run the condition of a Loop in ONNX's reference evaluator until the condition is false.

    Return the number of iterations and an empty string. If the number is unknown, return None and the reason.

    Args:
        proto: a model that computes the condition and the carried values of the next iteration.
        loop: the Loop.
        outside: the constants that the model reads.
        state: the initial carried values, by input index of the body.
    """
    from onnx.reference import ReferenceEvaluator

    inputs, outputs = loop.body.inputs, loop.body.outputs
    try:
        evaluator = ReferenceEvaluator(proto)
        for times in range(_MOST_TIMES + 1):
            if loop.most is not None and times >= loop.most:
                return times, ""
            feeds = {inputs[0].name: np.array(times, np.int64), inputs[1].name: np.array(True), **outside}
            feeds |= {inputs[place].name: array for place, array in state.items()}
            results = dict(zip(evaluator.output_names, evaluator.run(None, feeds), strict=True))
            state = {place: results[outputs[place - 1].name] for place in state}
            if any(array.size > _MOST_CARRIED for array in state.values()):
                return None, "computing the number of iterations takes too long"
            if not results[outputs[0].name]:
                return times + 1, ""
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the evaluator raises various errors for missing operators
        return None, _AT_RUN_TIME
    return None, "the loop has too many iterations to unroll"


def _condition_operators(
    loop: _LoopBody, model: Model
) -> tuple[list[Node], dict[str, Array], dict[int, Array]] | None:
    """Find the operators of a Loop body that compute the condition for the next iteration.

    Returns:
        None if the condition depends on an input of the model. Otherwise:

        - the operators
        - the constants that these operators read, by name
        - the initial carried values that these operators read, by input index of the body
    """
    places = {value: place for place, value in enumerate(loop.body.inputs)}
    scope = f"{loop.node.path}/body"
    nodes: set[Node] = set()
    outside: dict[str, Array] = {}
    state: dict[int, Array] = {}
    pending = [loop.body.outputs[0]]
    while pending:
        value = pending.pop()
        place, node = places.get(value), value.producer
        if place is not None:
            begin = known(loop.node.input(place), model) if place >= 2 and place not in state else None
            if begin is not None:
                state[place] = begin
                pending.append(loop.body.outputs[place - 1])
            elif place >= 2 and place not in state:
                return None
        elif (array := known(value, model)) is not None:
            outside[value.name] = array
        elif (
            node is None
            or node.scope != scope
            or model.graph.bodies(node)
            or len(nodes) > _MOST_NODES
            or node.op in _GROWING
        ):
            return None
        elif node not in nodes:
            nodes.add(node)
            pending += [each for each in node.inputs if each is not None]
    return sorted(nodes, key=lambda node: node.index), outside, state


def _unrolled(loop: _LoopBody, model: Model, times: int) -> Patch:
    """Create a patch with ``times`` copies of the body instead of the Loop."""
    node, proto, carried = loop.node, loop.proto, loop.carried
    begins = node.inputs[2:]
    if len(proto.input) != carried + 2 or len(proto.output) < carried + 1 or len(begins) != carried:
        raise NotApplicable("the body of the Loop does not have the inputs and outputs that ONNX requires")
    if any(value is None for value in begins):
        raise NotApplicable("the Loop has no initial value for a carried value")
    if {text(info.name) for info in proto.input[:2]} & {text(info.name) for info in proto.output[1:]}:
        raise NotApplicable("an output of the Loop is the unchanged iteration number or condition")
    stacked = [text(info.name) for info in proto.output[carried + 1 :]]
    if stacked and not times:
        raise NotApplicable("the loop never runs, so its stacked outputs are empty")
    draft = Draft(model, node)
    forms = Forms(draft)
    stored = store(draft, proto)
    formal = [text(info.name) for info in proto.input]
    now = [value.name for value in begins if value is not None]
    rows: list[list[str]] = [[] for _ in stacked]
    body = _without_condition(proto)
    read = {name for inner in body.node for name in needs(inner)}
    for index in range(times):
        number, true = (
            draft.constant(what, "constant") if name in read else ""
            for name, what in zip(formal, (np.array(index, np.int64), np.array(True)), strict=False)
        )
        given = {**stored, **dict(zip(formal, (number, true, *now), strict=True))}
        names = copy(draft, body, given, {}, varies=True)
        now = [names.get(text(info.name), text(info.name)) for info in proto.output[1 : carried + 1]]
        for each, name in zip(rows, stacked, strict=True):
            each.append(forms.unsqueeze(names.get(name, name), 0))
    for value, name in zip(node.outputs, now, strict=False):
        if value.name:
            draft.op("Identity", name, out=value.name)
    for value, each in zip(node.outputs[carried:], rows, strict=False):
        if value.name:
            draft.op("Concat", *each, axis=0, out=value.name)
    title = f"unrolls a Loop with {times} iterations" if times != 1 else "unrolls a Loop with 1 iteration"
    return draft.patch(title, [node], retyped=[value.name for value in node.outputs], folds=True)


def _without_condition(proto: onnx.GraphProto) -> onnx.GraphProto:
    """Return a copy of a Loop body without the operators that only compute the condition."""
    body = deepcopy(proto)
    wanted = {text(info.name) for info in proto.output[1:]}
    for index in reversed(range(len(body.node))):
        if wanted.isdisjoint(text(name) for name in body.node[index].output if name):
            del body.node[index]
        else:
            wanted.update(needs(body.node[index]))
    return body


def _with_condition_and_counter(loop: _LoopBody, model: Model) -> Patch | None:
    """Create a patch that adds a missing initial condition and an iteration counter to a Loop.

    Only a Loop without a trip count gets the counter. The result is None if the Loop needs neither a
    condition nor a counter, or if adding them would change the results.
    """
    node, inputs = loop.node, loop.body.inputs
    countless = not loop.fed and (loop.most is None or loop.most >= _COUNTLESS)
    counts = countless and bool(inputs[0].uses)
    begins = node.input(1) is None and bool(inputs[1].uses)
    if not (counts or begins) or (countless and len(node.outputs) > loop.carried):
        return None
    if begins and not (loop.goes_on or model.constants.scalar(loop.body.outputs[0])):
        return None
    draft = Draft(model, node)
    proto = draft.again(node)
    while len(proto.input) < 2:
        proto.input.append("")
    if begins:
        proto.input[1] = draft.constant(np.array(True), "condition")
    if counts:
        _add_counter(draft, proto, next(each.g for each in proto.attribute if each.name == "body"))
    does = []
    if counts:
        does.append("adds an iteration counter to the carried values of a Loop")
    if begins:
        does.append("adds an initial condition to a Loop")
    return draft.patch(" and ".join(does), [node], folds=True)


def _add_counter(draft: Draft, loop: onnx.NodeProto, body: onnx.GraphProto) -> None:
    """Add an iteration counter to a Loop, as a carried value."""
    number = body.input[0]
    number.type.tensor_type.elem_type = onnx.TensorProto.INT64
    shape = [1] * len(number.type.tensor_type.shape.dim)
    zero, one = (draft.constant(np.full(shape, start, np.int64), "number") for start in (0, 1))
    carried, unread, following = deepcopy(number), deepcopy(number), deepcopy(number)
    unread.name = draft.name("unread")
    following.name = draft.name("next")
    body.node.append(helper.make_node("Add", [number.name, one], [following.name], name=draft.name("Count")))
    formals, results = list(body.input), list(body.output)
    del body.input[:], body.output[:]
    body.input.extend([unread, *formals[1:], carried])
    body.output.extend([*results, following])
    loop.input.append(zero)
    loop.output.append(draft.name("count"))
