"""Describe a change of a model as a patch: the nodes to remove, and the nodes to insert."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
import onnx
from msgspec import Struct, field
from onnx import helper, numpy_helper

from trtlint.errors import TrtlintError
from trtlint.facts.base import Fact
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import NUMBERS, text
from trtlint.model.sizes import Dimensions

MOST_ELEMENTS = 1 << 24
"""Maximum number of elements of an added constant."""

_LOWEST_BF16 = -3.3895314e38
_COMPARED = 64
"""Equal constants are stored only once if they have at most this number of elements."""


class NotApplicable(TrtlintError):  # noqa: N818 - an ordinary result, not a failure
    """Exception: the rewrite does not apply.

    The message is the reason, such as ``the scores are an output of the model``.
    """


class Bound(Struct, frozen=True):
    """Range of a tensor's elements in which a patch does not change the results.

    Attributes:
        tensor: name of the tensor.
        low, high: lowest and highest element. No element may be NaN.
    """

    tensor: str
    low: float
    high: float


class Patch(Struct, frozen=True):
    """A change of one graph: the main graph, or the body of an If or Loop.

    A value whose meaning stays the same keeps its name. So an inserted node can use the output name of a
    removed node. A value whose type or shape changes gets a new name, and the patch rewires the readers of
    the value.

    Attributes:
        title: a verb phrase that describes the change, such as ``decomposes Attention into MatMul and
            Softmax``.
        remove: nodes to remove.
        insert: nodes to insert, in data-flow order.
        initializers: small tensors to add.
        rewire: inputs of remaining nodes that get a new value. Each entry is the node, the input index, and
            the name of the new value.
        retyped: values whose declared type becomes invalid.
        opset: lowest opset of the default domain for the inserted nodes; 0 for any.
        set_opset: new opset of the model; 0 to keep it.
        folds: True if the patch stores tensors that it computes from stored values (constant folding).
        keeps_a_key: True if the proof assumes that each row of an attention mask allows at least one key.
        altered: names of values that the patch changes intentionally. The proof does not compare these
            values.
        changes_results: True if the patch intentionally changes results that were NaN or infinite. The proof
            does not compare these results.
        shapes: inputs whose shape the removed nodes prescribe, each with the required shape.
        around: surrounding nodes that the proof must include, because the results are equal only after these
            nodes.
        finite: names of inputs that cannot contain -inf, because no earlier operator adds a mask.
        holds: names of inputs whose elements have only a few possible values, each with these values.
        parts: smaller patches that trtlint proves instead of the whole patch; empty to prove the whole patch.
            A rewrite sets this field if the changed nodes are far apart.
        bounds: tensor ranges in which the results are the same; empty if the results are the same for all
            numbers.
        limit: the reason why the patch makes only a part of the change; empty if it makes the whole change.
        condition: a text about the bounds and other assumptions of a proof, such as ``scores above -5e+08``.
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
    changes_results: bool = False
    shapes: tuple[tuple[Value, Dimensions], ...] = ()
    finite: tuple[str, ...] = ()
    holds: tuple[tuple[str, tuple[float, ...]], ...] = ()
    parts: tuple[Patch, ...] = ()
    bounds: tuple[Bound, ...] = ()
    condition: str = ""
    limit: str = ""

    @property
    def touched(self) -> tuple[Node, ...]:
        """The nodes that the patch removes or rewires."""
        return tuple(dict.fromkeys((*self.remove, *(node for node, _, _ in self.rewire))))


class Draft(Struct):
    """Builder of a patch. Names of new nodes begin with the path of the replaced node.

    Attributes:
        model: the model.
        node: the node whose name and metadata the new nodes get.
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
        """Insert an operator and return the name of its first output.

        Args:
            op: the operator type.
            inputs: names or values; None for an omitted optional input.
            out: names of the outputs; one new name by default.
            domain: the operator's domain.
            attributes: ONNX attributes as for :func:`onnx.helper.make_node`.
        """
        outputs = [out] if isinstance(out, str) else list(out)
        outputs[0] = outputs[0] or self.name(op.lower())
        node = helper.make_node(
            op,
            [name_of(value) for value in inputs],
            outputs,
            name=self.name(op),
            domain=domain,
            **{key: value for key, value in attributes.items() if value != []},
        )
        # An empty list has no element type.  In ONNX operators, an empty list is a list of integers.
        for key in (key for key, value in attributes.items() if value == []):
            node.attribute.append(helper.make_attribute(key, [], attr_type=onnx.AttributeProto.INTS))
        node.metadata_props.extend(self.node.proto.metadata_props)
        self._nodes.append(node)
        return outputs[0]

    def again(
        self,
        node: Node,
        inputs: Iterable[str] | None = None,
        outputs: Iterable[str] | None = None,
        *,
        without: Iterable[str] = (),
        **attributes: Any,
    ) -> onnx.NodeProto:
        """Insert a copy of a node with the same name, and return the copy.

        Args:
            node: the node.
            inputs: names of the inputs of the copy; by default, the inputs of the node.
            outputs: names of the outputs of the copy; by default, the outputs of the node.
            without: names of attributes to remove.
            attributes: ONNX attributes to add or to replace.
        """
        proto = deepcopy(node.proto)
        if inputs is not None:
            proto.input[:] = inputs
        if outputs is not None:
            proto.output[:] = outputs
        gone = {*without, *attributes}
        delete(proto.attribute, lambda each: text(each.name) in gone)
        proto.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
        self._nodes.append(proto)
        return proto

    def insert(self, proto: onnx.NodeProto) -> None:
        """Insert an ONNX node unchanged."""
        self._nodes.append(proto)

    def store(self, tensor: onnx.TensorProto) -> None:
        """Add a stored tensor unchanged."""
        self._tensors.append(tensor)

    def constant(self, array: np.ndarray[Any, Any], what: str = "constant", *, out: str = "") -> str:
        """Add an initializer and return its name.

        Args:
            array: the elements.
            what: a word for the new name, if ``out`` is empty.
            out: the name, which must be unique in the model.
        """
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
        """Add a vector of INT64 as an initializer, and return its name."""
        return self.constant(np.array(values, np.int64), "ints")

    def like(self, number: float, value: Value | str | None, what: str = "constant") -> str:
        """Add a scalar initializer and return its name.

        Args:
            number: the number.
            value: a value whose element type the scalar gets, or a type such as ``f16``.
            what: a word for the new name.
        """
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
        changes_results: bool = False,
        shapes: Iterable[tuple[Value, Dimensions]] = (),
        finite: Iterable[str] = (),
        holds: Iterable[tuple[str, tuple[float, ...]]] = (),
        bounds: Iterable[Bound] = (),
        condition: str = "",
    ) -> Patch:
        """Create the patch from the nodes and tensors added so far.

        For the parameters, see :class:`Patch`.
        """
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
            changes_results=changes_results,
            shapes=tuple(shapes),
            finite=tuple(finite),
            holds=tuple(holds),
            bounds=tuple(dict.fromkeys(bounds)),
            condition=condition,
        )

    def name(self, what: str) -> str:
        """Return a new name that contains ``what`` and is unique in the model."""
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


def delete(items: Any, unwanted: Callable[[Any], bool]) -> None:
    """Delete, in place, each item of a repeated protobuf field if ``unwanted(item)`` is true.

    References to the remaining items stay valid.
    """
    for index in reversed(range(len(items))):
        if unwanted(items[index]):
            del items[index]


def name_of(value: str | Value | None) -> str:
    """Return the name of a value, as an ONNX node lists it. A missing input has an empty name."""
    return "" if value is None else value if isinstance(value, str) else value.name


def numpy_type(dtype: str | None) -> np.dtype[Any]:
    """Return the NumPy type of a short type name such as ``f16``.

    Raises:
        KeyError: there is no such type.
    """
    return np.dtype(helper.tensor_dtype_to_np_dtype(NUMBERS[dtype or ""]))


def lowest(dtype: str) -> float:
    """Return the lowest finite number of a float type such as ``f16``.

    Unlike NumPy, this function supports BF16.
    """
    return _LOWEST_BF16 if dtype == "bf16" else float(np.finfo(numpy_type(dtype)).min)


def onnx_type(dtype: str) -> int:
    """Return the ONNX element type number of a short type name such as ``f16``."""
    return NUMBERS[dtype]


def opset_of(model: Model) -> int:
    """Return the opset of the default domain, or 1 if the model declares none."""
    return model.opset or 1


def operator_of(
    fact: Fact, model: Model, *ops: str, since: int = 0, inputs: int = 0, reason: str = ""
) -> Node:
    """Return the operator that a fact describes.

    Args:
        fact: the fact.
        model: the model.
        ops: supported types of ONNX operators; empty for all operators of all domains.
        since: lowest supported opset.
        inputs: number of inputs that the operator must have.
        reason: error message; by default, ``there is no <type> at this place``.

    Raises:
        NotApplicable: the fact describes none of the operators in ``ops``, an input is missing, or the opset
            is older than ``since``.
    """
    node = fact.node
    if (
        node is None
        or (ops and (node.domain or node.op not in ops))
        or opset_of(model) < since
        or any(node.input(port) is None for port in range(inputs))
    ):
        raise NotApplicable(reason or f"there is no {' or '.join(ops) or 'operator'} at this place")
    return node
