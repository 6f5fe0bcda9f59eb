"""Rewrite a model so that it measures its tensors, and optionally simulates FP16, BF16 or TF32.

Every tensor is FP32 in the rewritten model. If a tensor has the low-precision type in a build, it is cast to
this type and back, directly after its producer. Constants and inputs of the model are cast before each
operator that reads them. So the results are the same as with arithmetic in the low-precision type, except for
sums inside operators. Operators that compute squares or sums are decomposed, see
:mod:`trtlint.measurement.formulas`. The model returns only a few numbers for each measured tensor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import onnx
from msgspec import Struct
from onnx import NodeProto, TensorProto, helper

from trtlint.measurement.accumulation import accumulate
from trtlint.measurement.band import operands
from trtlint.measurement.choosing import input_of, write_choice
from trtlint.measurement.definitions import DEFINED, ROUNDED_INSIDE, definition
from trtlint.measurement.folding import batch_normalization
from trtlint.measurement.formats import BF16, FP16, Format
from trtlint.measurement.formulas import FORMULAS, ROUNDED
from trtlint.measurement.narrowing import STATISTICS, Narrowing, RewrittenModel, SecondLook
from trtlint.measurement.ports import COPYING, narrow_ports, port_at
from trtlint.measurement.probing import Figures, ProbeWriter
from trtlint.measurement.seeds import fix_seed
from trtlint.measurement.trialmodel import NARROW, TrialModel
from trtlint.measurement.writing import FormulaWriter, WrittenGraph, bounded, rounded, spread
from trtlint.model.graph import Node, Value
from trtlint.model.protos import FLOAT_DTYPES, NUMBERS, bodies, opsets, text
from trtlint.model.widening import widen_node, widen_type

_LEAST_IR = 4
"""First IR version in which initializers need not be graph inputs."""
_SEEN_INSIDE = DEFINED | FORMULAS.keys()
_WRITTEN_OUT = _SEEN_INSIDE | ROUNDED_INSIDE | ROUNDED.keys()
_WRITTEN_OUT_FUSED = DEFINED | {"MatMul", "Gemm", "Conv", "ConvTranspose"}
"""Operators that are decomposed to simulate fusion. A product is decomposed into the product without bias,
and an Add of the bias.
"""


def rewrite(
    model: TrialModel,
    narrowing: Narrowing | None = None,
    *,
    probed: bool = True,
    second: SecondLook | None = None,
    fixed: Collection[str] = (),
) -> RewrittenModel:
    """Rewrite a model so that it measures its tensors, in FP32 or in a simulated low-precision type.

    Args:
        model: the model.
        narrowing: the settings of the simulation; None for FP32.
        probed: true if the model measures its tensors.
        second: None to measure the usual statistics of all tensors. Otherwise, the tensors whose further
            statistics the model measures instead.
        fixed: names of outputs with indices that operators such as TopK choose. The rewritten model gets
            these indices as inputs (:func:`~trtlint.measurement.choosing.input_of`).

    Raises:
        TrialError: the model cannot be run.
    """
    return _Rewriting(model, narrowing, probed, second, fixed).result()


class _Versions(Struct):
    """The names of two tensors of the rewritten model: a value before and after rounding."""

    scope: WrittenGraph
    exact: str = ""
    rounded: str = ""
    constant: bool = False


class _Rewriting(FormulaWriter):
    def __init__(
        self,
        model: TrialModel,
        narrowing: Narrowing | None,
        probed: bool,
        second: SecondLook | None,
        fixed: Collection[str],
    ) -> None:
        super().__init__(model.opset)
        self.main = self.scope
        self.model = model
        self.narrowing = narrowing
        self.fixed = frozenset(fixed)
        self.choices = {each.indices: each.indices for each in model.choices.fixed}
        self.fused = narrowing is not None and (narrowing.fused or narrowing.format.operands_only)
        self.written_out = _SEEN_INSIDE if narrowing is None else _WRITTEN_OUT
        if self.fused:
            self.written_out = _WRITTEN_OUT_FUSED
        self.narrow = model.narrow
        if narrowing is not None and narrowing.format.operands_only:
            self.narrow = frozenset({"f32"})
        self.folding = model.folding
        self.domains = opsets(model.proto)
        self.versions: dict[Value, _Versions] = {}
        self.kept: bool = False
        self.sums = 0
        self.compared: dict[str, str] = {}
        self.figures = Figures(narrowing is not None, second, self)
        self.probing = ProbeWriter(model, self.figures, second, self, probed)

    def result(self) -> RewrittenModel:
        proto, graph = self.model.proto, self.model.graph
        model = onnx.ModelProto(ir_version=max(proto.ir_version, _LEAST_IR))
        model.opset_import.extend(proto.opset_import)
        if not self.domains.get(""):
            model.opset_import.add(domain="", version=self.opset)
        written = model.graph
        written.name = "trtlint"
        written.sparse_initializer.extend(proto.graph.sparse_initializer)
        for tensor in proto.graph.initializer:
            self._weight(_in_main_graph(graph.values[text(tensor.name)]), tensor)
        fed = {value.name for value in graph.inputs}
        for info in proto.graph.input:
            if text(info.name) in fed:
                widen_type(written.input.add(), info)
                self._input(_in_main_graph(graph.values[text(info.name)]))
        for name in sorted(self.fixed):
            written.input.append(helper.make_tensor_value_info(input_of(name), TensorProto.INT64, None))
        for node in self.model.scopes.get("", ()):
            self._node(node)
        for info in proto.graph.output:
            widen_type(written.output.add(), info)
        if self.figures.names:
            self.add("Concat", self.figures.names, STATISTICS, axis=0)
            written.output.append(helper.make_tensor_value_info(STATISTICS, TensorProto.FLOAT, None))
        written.node.extend(self.main.nodes)
        written.initializer.extend(self.main.initializers)
        added = dict.fromkeys((*self.compared.values(), *self.choices.values()))
        own = {text(info.name) for info in written.output}
        written.output.extend(helper.make_empty_tensor_value_info(name) for name in added if name not in own)
        names = dict.fromkeys(value.name for value in graph.outputs if value.dtype in FLOAT_DTYPES)
        outputs, data = tuple(names or self.compared), model.SerializeToString()
        probes, figures = tuple(self.probing.probes), self.figures.each
        return RewrittenModel(data, probes, outputs, figures, self.sums, self.choices, self.compared)

    # Values: names of their exact and rounded versions.

    def _weight(self, value: Value, tensor: onnx.TensorProto, node: Node | None = None) -> None:
        stored = onnx.TensorProto()
        stored.CopyFrom(self.model.stored(tensor, inline=not self.scope.main))
        stored.name = value.name
        versions = self.versions[value] = _Versions(self.scope, exact=value.name, constant=True)
        if value.dtype in NARROW:
            stored.name = self.fresh()
            self.add("Cast", [stored.name], value.name, to=TensorProto.FLOAT)
            versions.rounded = value.name
        self.scope.initializers.append(stored)
        self.probing.tensor(value, node, "Constant")

    def _input(self, value: Value) -> None:
        versions = self.versions[value] = _Versions(self.scope, exact=value.name)
        if value.dtype in NARROW:
            # Round the input, because it may have FP32 numbers, such as inputs of the unconverted model.
            format_ = FP16 if value.dtype == "f16" else BF16
            versions.exact = versions.rounded = rounded(value.name, "", format_, self)
        elif self.narrowing is not None and self.narrowing.round_inputs and self._is_narrow(value):
            versions.exact = self._rounded(value)
        self.probing.tensor(value, None, "Input")

    def _is_narrow(self, value: Value) -> bool:
        return self.narrowing is not None and value.dtype in self.narrow

    def read(self, value: Value | None, *, rounded: bool) -> str:
        if value is None:
            return ""
        versions = self.versions.get(value)
        if versions is None:
            return value.name
        if rounded and self._is_narrow(value):
            return self._rounded(value)
        return versions.exact or versions.rounded

    def _rounded(self, value: Value) -> str:
        versions = self.versions[value]
        if not versions.rounded:
            assert self.narrowing is not None
            # Measured values belong to the main graph; a constant of a body can have the same name.
            main = versions.constant and versions.scope.main
            clamped = main and value.name in self.narrowing.clamped
            # Round in the graph that defines the value, even if a body reads the value.
            with self.within(versions.scope):
                versions.rounded = (self.stored if clamped else self._round)(versions.exact)
        return versions.rounded

    def stored(self, name: str) -> str:
        largest = self._format().largest
        return self._round(bounded(name, largest, self))

    def parameter(self, name: str) -> str:
        return name if self.fused else self.stored(name)

    def _round(self, name: str, result: str = "") -> str:
        """Round a tensor to the low-precision type. Return the name of the result (default: a new name)."""
        return rounded(name, result, self._format(), self)

    # Operators.

    def _node(self, node: Node) -> None:
        narrowing = self.narrowing
        outer = self.kept
        kept = narrowing is not None and bool(narrowing.keep & self.folding.together(node.path))
        self.kept = outer or kept or node.path in self.folding.constants
        tensor = node.attribute("value") if node.op == "Constant" and not node.domain else None
        if isinstance(tensor, onnx.TensorProto):
            self._weight(node.output, tensor, node)
        elif self._is_written_later(node):
            pass
        elif not (self._as_chosen(node) or self._by_formula(node)):
            self._as_it_is(node)
        self.kept = outer

    def _is_written_later(self, node: Node) -> bool:
        """Return True for a convolution that is written later, merged with its BatchNormalization."""
        narrow = self.narrowing is not None and not self.kept
        return narrow and node.path in self.folding.partner and node.path not in self.folding.affine

    def _as_chosen(self, node: Node) -> bool:
        """Set the choice of an operator such as TopK. A copy of the operator makes its own choice.

        Return False if the choice of the operator is not set.
        """
        indices = next((each for each in node.outputs if each.name in self.fixed), None)
        if indices is None or not self.scope.main:
            return False
        names = [self.read(value, rounded=self._loads(node, at)) for at, value in enumerate(node.inputs)]
        self.choices[indices.name], chosen = write_choice(node, names, self)
        self.versions[indices] = _Versions(self.scope, indices.name)
        if chosen:
            self._result(node, node.output, chosen)
        return True

    def _by_formula(self, node: Node) -> bool:
        """Decompose an operator that computes squares or sums, or that TensorRT folds.

        Return False if the operator is not decomposed.
        """
        affine = self.folding.affine.get(node.path)
        if affine is not None and self.narrowing is not None and not self.kept:
            tensor = "" if affine.convolution else self.read(node.input(0), rounded=not self.fused)
            self._result(node, node.output, batch_normalization(node, affine, tensor, self))
            return True
        used = [value for value in node.outputs if value.name]
        if node.domain or node.op not in self.written_out or len(used) != 1 or used[0] is not node.output:
            return False
        if node.output.dtype not in self.narrow or (self.kept and node.op not in DEFINED):
            return False
        names = [self.read(value, rounded=self._loads(node, port)) for port, value in enumerate(node.inputs)]
        before = len(self.scope.nodes)
        formula = FORMULAS.get(node.op) or ROUNDED.get(node.op)
        if formula is not None:
            result = formula(node, names, self)
        else:
            result = definition(node, names, [self._element(value) for value in node.inputs], self)
        if result is None:
            del self.scope.nodes[before:]
            return False
        self._result(node, node.output, result)
        return True

    def _element(self, value: Value | None) -> int:
        """Return the ONNX element type that a value has in a build, or 0 if it is unknown."""
        if value is None or value.dtype is None:
            return 0
        return FP16.element if value.dtype in self.narrow else NUMBERS[value.dtype]

    def _loads(self, node: Node, port: int) -> bool:
        """Return whether a node reads its input ``port`` rounded to the low-precision type."""
        if self.kept or self.narrowing is None:
            return False
        if self.fused:
            return port in operands(node.op, node.domain)
        version = self.domains.get(node.domain, self.opset)
        return port_at(narrow_ports(node.op, node.domain, version, self._format())[0], port)

    def _rounds_output(self, node: Node, value: Value) -> bool:
        """Return whether a build rounds the output ``value`` of a node to the low-precision type."""
        narrowing = self.narrowing
        if narrowing is None or self.kept or narrowing.format.operands_only or not self._is_narrow(value):
            return False
        if not self.fused or value.is_output:
            return True
        if narrowing.stored is not None:
            return value.name in narrowing.stored
        affine = self.folding.affine.get(node.path)
        return bool(operands(node.op, node.domain)) or (affine is not None and affine.convolution is not None)

    def _result(self, node: Node, value: Value, raw: str) -> None:
        """Give the tensor ``raw`` the name of the output ``value``, and round it if a build rounds it."""
        versions = self.versions[value] = _Versions(self.scope)
        if self._rounds_output(node, value):
            versions.rounded = self._round(raw, value.name)
        else:
            versions.exact = self.add("Identity", [raw], value.name)
        self.probing.tensor(value, node)

    def _as_it_is(self, node: Node) -> None:
        version = self.domains.get(node.domain, self.opset)
        proto = NodeProto()
        proto.CopyFrom(node.proto)
        widen_node(proto)
        proto.name = node.path
        fix_seed(proto)
        _, outputs = narrow_ports(node.op, node.domain, version, self._format())
        for port, value in enumerate(node.inputs[: len(proto.input)]):
            proto.input[port] = self.read(value, rounded=self._loads(node, port))
            if value is not None and self.scope.main:
                self._compare(node, port, value, proto.input[port])
        proto.input[:] = spread(node, proto.input, self)
        for attribute in proto.attribute:
            for body in bodies(attribute):
                self._body(node, text(attribute.name), body)
        copied = not node.domain and node.op in COPYING and not self.fused
        rounded_outputs: list[tuple[Value, str]] = []
        for port, value in enumerate(node.outputs[: len(proto.output)]):
            if not value.name:
                continue
            constant = node.path in self.folding.constants
            versions = self.versions[value] = _Versions(self.scope, constant=constant)
            if not self._rounds_output(node, value) or not port_at(outputs, port):
                versions.exact = value.name
            elif copied:
                versions.rounded = value.name
            else:
                proto.output[port] = self.fresh()
                rounded_outputs.append((value, proto.output[port]))
        self.scope.nodes.append(proto)
        for value, raw in rounded_outputs:
            self.versions[value].rounded = self._round(raw, value.name)
        for value in node.outputs:
            if value.name:
                self.probing.tensor(value, node)

    def _compare(self, node: Node, port: int, value: Value, name: str) -> None:
        """Record the name of a tensor to compare. If several operators read it, prefer the rounded tensor."""
        reads = self.model.compared.reads
        tensor = next((reads[key] for each in node.outputs if (key := (each.name, port)) in reads), None)
        if tensor and (tensor not in self.compared or name != value.name or value.dtype in NARROW):
            self.compared[tensor] = name

    def _format(self) -> Format:
        return FP16 if self.narrowing is None else self.narrowing.format

    def _body(self, node: Node, attribute: str, body: onnx.GraphProto) -> None:
        """Rewrite the body of an If or Loop in place. Tensors in a body are not measured."""
        entry = next(entry for entry in node.proto.attribute if text(entry.name) == attribute)
        original = next(iter(bodies(entry)))
        with self.within(WrittenGraph(main=False)) as written:
            for tensor in original.initializer:
                same = self.model.graph.values[text(tensor.name)]
                self._weight(next(value for value in same if value.initializer is tensor), tensor)
            for inner in self.model.scopes.get(f"{node.path}/{attribute}", ()):
                self._node(inner)
        for infos, old in ((body.input, original.input), (body.output, original.output)):
            for info, source in zip(infos, old, strict=True):
                widen_type(info, source)
        del body.node[:], body.initializer[:], body.value_info[:]
        body.node.extend(written.nodes)
        body.initializer.extend(written.initializers)

    def add_copy(self, proto: NodeProto, inputs: Sequence[str], node: Node | None = None) -> list[str]:
        copy = NodeProto()
        copy.CopyFrom(proto)
        copy.name = ""
        inner = node is None and self.fused and not self.kept
        multiplied = operands(proto.op_type, proto.domain) if inner else ()
        copy.input[:] = [
            self._round(name) if port in multiplied else name for port, name in enumerate(inputs)
        ]
        copy.output[:] = [self.fresh() if name else "" for name in proto.output]
        accumulates = self.narrowing is not None and self.narrowing.accumulate and not self.kept
        if accumulates and accumulate(copy, node, self):
            self.sums += 1
        else:
            self.scope.nodes.append(copy)
        return list(copy.output)

    def step(self, node: Node, name: str, what: str = "") -> str:
        if self.narrowing is not None:
            return name if self.kept or self.fused else self._round(name)
        if what:
            self.probing.inside(node, name, what)
        return name


def _in_main_graph(values: Sequence[Value]) -> Value:
    """Return the value of the main graph among values of the same name in several graphs."""
    return next(value for value in values if value.producer is None or not value.producer.scope)
