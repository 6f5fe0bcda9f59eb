"""Change a model to the chosen types: insert Casts, and convert initializers and declared types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from trtlint.conversion.known import Array
from trtlint.conversion.narrowing import narrowed
from trtlint.conversion.result import InsertedCast
from trtlint.conversion.typing_plan import TypePlan, boundary_values, is_constant
from trtlint.fixes.edit import key_of
from trtlint.measurement.formats import Format
from trtlint.model.folding import fill_of
from trtlint.model.graph import Node, Value
from trtlint.model.protos import bodies, text
from trtlint.model.tensors import LEFT, TensorStore

MADE = "trtlint-narrow"
"""Metadata key that marks a stored tensor to be rounded while the file is written."""
_TYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_dtype"})
_LEAST_IR = 4
"""First IR version in which initializers need not be graph inputs."""


class ModelCaster:
    """Converts the ONNX protobuf of a model to the types in a plan.

    Args:
        proto: the protobuf, with inlined functions; changed in place.
        plan: the types of all values.
        format_: the 16-bit type.
        store: reader of the elements of initializers.
        clamped: names of the initializers whose numbers are clamped to the range of the type.
        fixed: the operators that stay in FP32, each with the reason.
        known: values whose numbers are known. For such a value, a constant in the other type
            replaces the Cast.

    Attributes:
        casts: the Casts that were inserted.
        made: the large initializers to round while the file is written, each with a number. In the protobuf,
            a marker with this number replaces the initializer.
    """

    def __init__(
        self,
        proto: onnx.ModelProto,
        plan: TypePlan,
        format_: Format,
        store: TensorStore,
        clamped: Collection[str],
        fixed: Mapping[Node, str],
        known: Mapping[Value, Array],
    ) -> None:
        self.proto = proto
        self.plan = plan
        self.format = format_
        self.casts: list[InsertedCast] = []
        self.made: list[tuple[TensorProto, bool]] = []
        self._store = store
        self._clamped = clamped
        self._fixed = fixed
        self._known = known
        self._nodes = {(node.scope, key_of(node.proto)): node for node in plan.graph.nodes}
        self._taken = set(plan.graph.values) | set(plan.graph.node_names)
        self._names: dict[tuple[Value, bool], str] = {}
        self._wanted: dict[Value, set[bool]] = defaultdict(set)

    def apply(self) -> None:
        """Change the protobuf."""
        self._collect()
        graph = self.proto.graph
        self._graph(graph, "")
        for info in (*graph.input, *graph.output):
            value = self.plan.graph.resolve(text(info.name))
            if value is None or value.dtype != "f32" or not self.plan.narrow_io:
                continue
            if value.is_input or (value.is_output and value.producer is not None):
                info.type.tensor_type.elem_type = self.format.element
        if self.made or any(is_constant(value) and len(wanted) > 1 for value, wanted in self._wanted.items()):
            self.proto.ir_version = max(self.proto.ir_version, _LEAST_IR)

    # Find the types in which operators read each FP32 value.

    def _collect(self) -> None:
        plan = self.plan
        for node in plan.graph.nodes:
            for port, value in enumerate(node.inputs):
                if value is not None and value.dtype == "f32":
                    self._wanted[value].add(self._wants_narrow(node, port, value))
        for value in boundary_values(plan.graph):
            self._wanted[value].add(False)
        for value in plan.graph.outputs:
            if value.dtype == "f32":
                self._wanted[value].add(plan.narrow_io and (value.producer is not None or value.is_input))

    def _wants_narrow(self, node: Node, port: int, value: Value) -> bool:
        """Return whether an operator reads a value in 16 bits."""
        wanted = self.plan.wanted_narrow(node, port)
        return self._is_narrow(value) if wanted is None else wanted

    def _is_narrow(self, value: Value) -> bool:
        """Return whether a value has 16 bits in the converted model."""
        if is_constant(value):
            return self._wanted[value] == {True} and not value.is_output
        return self.plan.computed_narrow(value)

    @property
    def rounded(self) -> frozenset[str]:
        """Return the names of the values that an operator reads in 16 bits. Call :meth:`apply` first."""
        return frozenset(value.name for value, wanted in self._wanted.items() if True in wanted)

    def name(self, value: Value, narrow: bool) -> str:
        """Return the name of the 16-bit version of a value if ``narrow``, or else of the FP32 version."""
        if value.dtype != "f32":
            return value.name
        key = value, narrow
        if key not in self._names:
            outer = value.is_output and value.producer is not None and not is_constant(value)
            holder = self.plan.narrow_io if outer else self._is_narrow(value)
            self._names[key] = value.name if narrow == holder else self._fresh(value.name, narrow)
        return self._names[key]

    def _fresh(self, name: str, narrow: bool) -> str:
        base = found = f"{name}/{self.format.name if narrow else 'fp32'}"
        count = 1
        while found in self._taken:
            count += 1
            found = f"{base}_{count}"
        self._taken.add(found)
        return found

    # Change nodes, and the declared types of values.

    def _graph(self, graph: onnx.GraphProto, scope: str) -> None:
        added: list[TensorProto] = []
        first: list[onnx.NodeProto] = []
        names = self.plan.graph
        for tensor in graph.initializer:
            value = names.resolve(text(tensor.name), scope)
            if value is not None:
                added += self._stored(tensor, value)
        retyped = {text(tensor.name): tensor.data_type for tensor in graph.initializer}
        for info in graph.input:
            name = text(info.name)
            value = names.resolve(name, scope)
            if name in retyped:
                info.type.tensor_type.elem_type = retyped[name]
            elif value is not None:
                first += self._casts(value)
        for sparse in graph.sparse_initializer:
            value = names.resolve(text(sparse.values.name), scope)
            if value is not None:
                first += self._casts(value)
        written: list[onnx.NodeProto] = []
        for proto in graph.node:
            node = self._nodes.get((scope, key_of(proto)))
            written.append(proto)
            if node is not None:
                written += self._node(proto, node)
        for info in graph.output if scope else ():
            value = names.resolve(text(info.name), scope)
            if value is not None and value.dtype == "f32":
                info.name = self.name(value, False)
        copies = [onnx.NodeProto.FromString(each.SerializeToString()) for each in (*first, *written)]
        del graph.node[:]
        graph.node.extend(copies)
        graph.initializer.extend(added)
        self._declare(graph, scope)

    def _declare(self, graph: onnx.GraphProto, scope: str) -> None:
        """Correct the declared types of values that are now in 16 bits."""
        infos = {text(info.name): info for info in graph.value_info}
        for name, info in infos.items():
            value = self.plan.graph.resolve(name, scope)
            if value is None or value.dtype != "f32":
                continue
            tensor = info.type.tensor_type
            narrow = self._is_narrow(value)
            if self.name(value, narrow) != name:
                narrow = not narrow
            tensor.elem_type = self.format.element if narrow else TensorProto.FLOAT

    def _node(self, proto: onnx.NodeProto, node: Node) -> list[onnx.NodeProto]:
        """Connect an operator's inputs to values of the right type, and return Casts of the outputs."""
        for port, value in enumerate(node.inputs[: len(proto.input)]):
            if value is not None and value.dtype == "f32":
                proto.input[port] = self.name(value, self._wants_narrow(node, port, value))
        for attribute in proto.attribute:
            for body in bodies(attribute):
                self._graph(body, f"{node.path}/{text(attribute.name)}")
        if node.op == "Constant" and not node.domain:
            return self._constant(proto, node)
        behind: list[onnx.NodeProto] = []
        for port, value in enumerate(node.outputs[: len(proto.output)]):
            if not value.name or value.dtype != "f32":
                continue
            own = self.plan.computed_narrow(value)
            proto.output[port] = self.name(value, own)
            if own:
                self._retype(proto)
            behind += self._casts(value)
        return behind

    def _retype(self, proto: onnx.NodeProto) -> None:
        """Set the attributes that give the output type, such as ``to`` of a Cast, to the 16-bit type."""
        names = {text(attribute.name): attribute for attribute in proto.attribute}
        for name, attribute in names.items():
            if name in _TYPE_ATTRIBUTES and attribute.i == TensorProto.FLOAT:
                attribute.i = self.format.element
        if proto.op_type != "ConstantOfShape":
            return
        fill = fill_of(names["value"].t if "value" in names else None)
        if fill is None:
            return
        if "value" not in names:
            names["value"] = proto.attribute.add(name="value", type=onnx.AttributeProto.TENSOR)
        names["value"].t.CopyFrom(self._small(fill.astype(np.float32), clamp=True))

    def _casts(self, value: Value) -> list[onnx.NodeProto]:
        """Return the Cast of a value to the other type.

        The result is empty if no operator reads the value in the other type.
        """
        own = self.plan.computed_narrow(value)
        wanted = set(self._wanted.get(value, ()))
        if wanted <= {own}:
            return []
        narrow = not own
        source, result = self.name(value, own), self.name(value, narrow)
        if value in self._known:
            return [self._known_constant(value, result, narrow)]
        outside = value.is_input or (value.is_output and value.producer is not None)
        if value.is_output and any(self.plan.wanted_narrow(*use) is narrow for use in value.uses):
            outside = False
        to = self.format.name if narrow else "fp32"
        self.casts.append(
            InsertedCast(value.name, to, _why(self.plan, self._fixed, value, narrow), inside=not outside)
        )
        element = self.format.element if narrow else TensorProto.FLOAT
        name = self._fresh(f"{value.name}/Cast", narrow)
        return [helper.make_node("Cast", [source], [result], name=name, to=element)]

    def _known_constant(self, value: Value, name: str, narrow: bool) -> onnx.NodeProto:
        """Return a Constant operator with the known numbers of a value, in 16 bits if ``narrow``."""
        numbers = self._known[value]
        if narrow:
            tensor = self._small(numbers, clamp=value.name in self._clamped)
        else:
            tensor = numpy_helper.from_array(numbers)
        return helper.make_node("Constant", [], [name], name=self._fresh(value.name, narrow), value=tensor)

    # Convert stored tensors.

    def _stored(self, tensor: TensorProto, value: Value) -> list[TensorProto]:
        """Convert an initializer to 16 bits.

        If operators read the initializer in FP32, too, return the FP32 initializer and a copy in 16 bits.
        """
        wanted = self._wanted.get(value, set())
        if True not in wanted:
            return []
        found = self._rounded(tensor, value.name in self._clamped)
        found.name = self.name(value, True)
        if self._is_narrow(value):
            tensor.CopyFrom(found)
            return []
        return [found]

    def _constant(self, proto: onnx.NodeProto, node: Node) -> list[onnx.NodeProto]:
        value = node.output
        if True not in self._wanted.get(value, set()):
            return []
        target = proto
        if not self._is_narrow(value):
            target = onnx.NodeProto()
            target.CopyFrom(proto)
            target.name = self._fresh(node.path, True)
            target.output[0] = self.name(value, True)
        for attribute in target.attribute:
            name = text(attribute.name)
            if name == "value":
                attribute.t.CopyFrom(self._rounded(attribute.t, value.name in self._clamped))
            elif name in ("value_float", "value_floats"):
                numbers = np.array(attribute.f if name == "value_float" else attribute.floats, np.float32)
                tensor = self._small(numbers, clamp=value.name in self._clamped)
                attribute.CopyFrom(helper.make_attribute("value", tensor))
        return [] if target is proto else [target]

    def _rounded(self, tensor: TensorProto, clamp: bool) -> TensorProto:
        """Return an initializer in 16 bits.

        A large initializer is replaced by a marker. Its elements are rounded when the file is written.
        """
        if tensor.data_location != TensorProto.EXTERNAL:
            array = self._store.array(tensor)
            if array is not None:
                return self._small(array.astype(np.float32), clamp=clamp, name=text(tensor.name))
        found = TensorProto(name=tensor.name, data_type=self.format.element, dims=tensor.dims)
        found.data_location = TensorProto.EXTERNAL
        found.external_data.add(key="location", value=LEFT)
        found.external_data.add(key=MADE, value=str(len(self.made)))
        source = TensorProto()
        source.CopyFrom(tensor)
        self.made.append((source, clamp))
        return found

    def _small(self, numbers: Array, *, clamp: bool, name: str = "") -> TensorProto:
        bits = narrowed(numbers.reshape(-1), self.format, clamp=clamp)
        found = TensorProto(name=name, data_type=self.format.element, dims=numbers.shape)
        found.raw_data = bits.tobytes()
        return found


def _why(plan: TypePlan, fixed: Mapping[Node, str], value: Value, to_narrow: bool) -> str:
    """Return the reason for the Cast of a value.

    ``to_narrow`` is true if the Cast converts to 16 bits.
    """
    if value.is_input:
        return (
            "the model's input stays in FP32" if to_narrow else "an operator in FP32 reads the model's input"
        )
    if not to_narrow and value.is_output and value.producer is not None:
        return "the model's output stays in FP32"
    around: list[Node] = [node for node, _ in value.uses]
    if value.producer is not None:
        around.insert(0, value.producer)
    for node in around:
        if node in fixed and node not in plan.narrow:
            return f"{node.path}: {fixed[node]}"
    return "operators before and after the Cast have different types"
