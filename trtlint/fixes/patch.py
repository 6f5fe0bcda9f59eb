"""A rewrite as nodes to remove and to insert, and the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trtlint.errors import TrtlintError
from trtlint.lean import dataclass
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import DTYPES
from trtlint.model.sizes import Dimensions

MOST_ELEMENTS = 1 << 24
"""Elements of a constant that a patch may add."""

_LOWEST_BF16 = -3.3895314e38
_COMPARED = 64
"""Elements of a constant up to which one is written once, however often it is needed."""


class NotApplicable(TrtlintError):  # noqa: N818 - no error: a rewrite does not fit a place
    """Why a rewrite leaves a place alone: a clause, such as ``the scores are an output of the model``."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Numbers of one tensor for which a patch gives the same results as before.

    Attributes:
        tensor: the tensor of the model.
        low, high: its elements lie between these, and none is NaN.
    """

    tensor: str
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Patch:
    """An edit of one graph, the main one or a body.

    Values keep their names where they keep their meaning: what an inserted node computes under the
    name of a removed one's output takes its place everywhere.  A value that changes its type or shape
    gets a new name, and its readers are rewired.

    Attributes:
        title: what it does, a clause without a subject: ``writes Attention out as MatMul and Softmax``.
        remove: the nodes that go.
        insert: the nodes that come, in data-flow order.
        initializers: small tensors that come with them.
        rewire: input ports of other nodes, each with the name of the value that it reads then.
        retyped: values whose declared type no longer holds.
        opset: the opset of the default domain that the inserted nodes need at least, 0 for any.
        set_opset: the opset that the model gets, 0 for that which it has.
        folds: whether its tensors are made of the values of stored ones.
        keeps_a_key: whether the results are the same only where a mask leaves every row a key.
        altered: values between the changed nodes and those around that are others than before.
        mends: whether it is there to change results, NaN among them, so that none are compared.
        shapes: of values that it reads, the shape that they must have for the removed nodes to be valid.
        around: nodes whose results are the same where those of the changed nodes alone are not.
        finite: values that it reads which hold no -inf, as no mask has been added to them.
        holds: values that it reads, each with the only numbers that it can hold.
        parts: the patch in parts that are proven one by one, where its places lie far apart.
        bounds: numbers of tensors for which the results are the same, where they are not for all.
        condition: the bounds, and what else a proof takes for granted, in words: ``scores above -5e+08``.
    """

    title: str
    remove: tuple[Node, ...]
    insert: tuple[onnx.NodeProto, ...]
    initializers: tuple[onnx.TensorProto, ...] = ()
    rewire: tuple[tuple[Node, int, str], ...] = ()
    retyped: tuple[str, ...] = ()
    opset: int = 0
    around: tuple[Node, ...] = ()
    set_opset: int = 0
    folds: bool = False
    keeps_a_key: bool = False
    altered: tuple[str, ...] = ()
    mends: bool = False
    shapes: tuple[tuple[Value, Dimensions], ...] = ()
    finite: tuple[str, ...] = ()
    holds: tuple[tuple[str, tuple[float, ...]], ...] = ()
    parts: tuple[Patch, ...] = ()
    bounds: tuple[Bound, ...] = ()
    condition: str = ""

    def with_parts(self, parts: Iterable[Patch]) -> Patch:
        """The patch, to be proven by these parts."""
        return replace(self, parts=tuple(parts))

    @property
    def touched(self) -> tuple[Node, ...]:
        """The nodes that it removes or rewires."""
        return tuple(dict.fromkeys((*self.remove, *(node for node, _, _ in self.rewire))))


@dataclass(slots=True)
class Draft:
    """Writes the nodes of a patch, naming them after the node whose place they take.

    Attributes:
        model: the model.
        node: the node after which new ones are named, and whose metadata they carry.
    """

    model: Model
    node: Node
    _nodes: list[onnx.NodeProto] = field(default_factory=list)
    _tensors: list[onnx.TensorProto] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)
    _counts: dict[str, int] = field(default_factory=dict)
    _constants: dict[tuple[str, tuple[int, ...], bytes], str] = field(default_factory=dict)

    def op(
        self,
        op: str,
        *inputs: str | Value | None,
        out: str | Sequence[str] = "",
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Insert an operator; returns the name of its first output.

        Args:
            op: the operator type.
            inputs: names or values; None leaves an optional one out.
            out: the names of the outputs where they are given, else one new name.
            domain: the operator's domain.
            attributes: as :func:`onnx.helper.make_node` takes them.
        """
        outputs = [out] if isinstance(out, str) else list(out)
        outputs[0] = outputs[0] or self.name(op.lower())
        node = helper.make_node(
            op,
            [_name(value) for value in inputs],
            outputs,
            name=self.name(op),
            domain=domain,
            **attributes,
        )
        node.metadata_props.extend(self.node.proto.metadata_props)
        self._nodes.append(node)
        return outputs[0]

    def again(self, node: Node, inputs: Iterable[str], outputs: Iterable[str]) -> onnx.NodeProto:
        """Insert a node of the model again, under its name, between other values; returns it."""
        proto = onnx.NodeProto()
        proto.CopyFrom(node.proto)
        del proto.input[:], proto.output[:]
        proto.input.extend(inputs)
        proto.output.extend(outputs)
        self._nodes.append(proto)
        return proto

    def insert(self, proto: onnx.NodeProto) -> None:
        """Insert a node as it is."""
        self._nodes.append(proto)

    def store(self, tensor: onnx.TensorProto) -> None:
        """Add a stored tensor as it is."""
        self._tensors.append(tensor)

    def constant(self, array: np.ndarray[Any, Any], what: str = "constant", *, out: str = "") -> str:
        """Add an initializer, under the name ``out`` where it is given; returns its name."""
        solid = np.asarray(array, order="C")
        shared = not out and solid.size <= _COMPARED
        key = solid.dtype.str, solid.shape, solid.tobytes() if shared else b""
        if shared and key in self._constants:
            return self._constants[key]
        tensor = numpy_helper.from_array(solid, out or self.name(what))
        self._tensors.append(tensor)
        if shared:
            self._constants[key] = str(tensor.name)
        return str(tensor.name)

    def ints(self, *values: int) -> str:
        """Add a vector of INT64."""
        return self.constant(np.array(values, np.int64), "ints")

    def like(self, number: float, value: Value | str | None, what: str = "constant") -> str:
        """Add a scalar of the element type of a value, or of a named type such as ``f16``."""
        dtype = value if isinstance(value, str) else None if value is None else value.dtype
        return self.constant(np.array(number, numpy_type(dtype)), what)

    def patch(
        self,
        title: str,
        remove: Iterable[Node],
        *,
        rewire: Iterable[tuple[Node, int, str]] = (),
        retyped: Iterable[str] = (),
        opset: int = 0,
        around: Iterable[Node] = (),
        folds: bool = False,
        keeps_a_key: bool = False,
        altered: Iterable[str] = (),
        mends: bool = False,
        shapes: Iterable[tuple[Value, Dimensions]] = (),
        finite: Iterable[str] = (),
        holds: Iterable[tuple[str, tuple[float, ...]]] = (),
        bounds: Iterable[Bound] = (),
        condition: str = "",
    ) -> Patch:
        """The patch with all that was written so far."""
        return Patch(
            title,
            tuple(dict.fromkeys(remove)),
            tuple(self._nodes),
            tuple(self._tensors),
            tuple(rewire),
            tuple(retyped),
            opset,
            tuple(around),
            folds=folds,
            keeps_a_key=keeps_a_key,
            altered=tuple(altered),
            mends=mends,
            shapes=tuple(shapes),
            finite=tuple(finite),
            holds=tuple(holds),
            bounds=tuple(dict.fromkeys(bounds)),
            condition=condition,
        )

    def name(self, what: str) -> str:
        """A name that no value and no operator of the model has."""
        base = name = f"{self.node.path}/{what}"
        graph = self.model.graph
        count = self._counts.get(base, 1)
        if count > 1:
            name = f"{base}_{count}"
        while name in self._taken or name in graph.values or name in graph.node_names:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        self._counts[base] = count
        return name


def _name(value: str | Value | None) -> str:
    return "" if value is None else value if isinstance(value, str) else value.name


def numpy_type(dtype: str | None) -> np.dtype[Any]:
    """The numpy type of a short type name such as ``f16``.

    Raises:
        KeyError: no such type.
    """
    numbers: dict[str, int] = {short: number for number, short in DTYPES.items()}
    return np.dtype(helper.tensor_dtype_to_np_dtype(numbers[dtype or ""]))


def lowest(dtype: str) -> float:
    """The lowest finite number of a type of floats; numpy does not know that of BF16."""
    return _LOWEST_BF16 if dtype == "bf16" else float(np.finfo(numpy_type(dtype)).min)


def onnx_type(dtype: str) -> int:
    """The number of an ONNX element type, by its short name."""
    return next(number for number, short in DTYPES.items() if short == dtype)


def shared(values: Iterable[Value], block: Iterable[Node]) -> Value | None:
    """The first value that something outside of a block reads, or that is an output; None if none is."""
    inside = set(block)
    for value in values:
        if value.is_output or any(node not in inside for node, _ in value.uses):
            return value
    return None
