"""Insert Casts where an operator reads different float types.

All inputs of an operator get the widest of the input types, so that no value overflows. A matrix product with
stored weights is an exception: its inputs get the type of the weights, as the exporter intended.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import defs, helper

from trtlint.facts.base import Fact
from trtlint.facts.blocks.schemas import cast_by_parser, same_type_groups
from trtlint.fixes.patch import Bound, Draft, NotApplicable, Patch, lowest, onnx_type, operator_of, opset_of
from trtlint.model.graph import Node, Value
from trtlint.model.load import Model
from trtlint.model.protos import FLOAT_DTYPES, NOT_TENSORS
from trtlint.model.schemas import schema_at

_PRODUCTS = frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum"})
_WIDTH = {"f16": 0, "bf16": 1, "f32": 2, "f64": 3}
_MOST_CASTS = 4096


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that inserts Casts at one operator, and at operators that depend on its result."""
    return _Region(model, operator_of(fact, model)).patch()


class _Region:
    """An operator that reads different float types, and the operators that depend on its result."""

    def __init__(self, model: Model, start: Node) -> None:
        self.model = model
        self.opset = opset_of(model)
        self.start = start
        self.types: dict[Value, str] = {}
        self.draft = Draft(model, start)
        self.rewire: list[tuple[Node, int, str]] = []
        self.casts: dict[tuple[Value, str], str] = {}
        self.retyped: list[str] = []
        self.bounds: dict[tuple[Value, str], Bound] = {}
        self.ends: dict[Node, dict[str, str]] = {}
        self.recorded: set[Node] = set()

    def patch(self) -> Patch:
        for node in self.model.graph.nodes[self.start.index :]:
            if node is not self.start:
                if not any(value in self.types for value in node.inputs if value is not None):
                    continue
                if node.scope != self.start.scope:
                    raise NotApplicable("the types also change in the body of an If or a loop")
            self._cast_inputs(node)
            if len(self.casts) > _MOST_CASTS:
                raise NotApplicable(f"the rewrite needs more than {_MOST_CASTS} Casts")
        if not self.rewire:
            raise NotApplicable("the types already match")
        for value in self.model.graph.outputs:
            if value.producer is not None and value.producer not in self.recorded:
                self._record_output_types(value.producer, {})
        for node in self.ends:
            self._cast_outputs(node)
        return self.draft.patch(
            "inserts Casts where operators read two types",
            self.ends,
            rewire=[entry for entry in self.rewire if entry[0] not in self.ends],
            retyped=self.retyped,
            bounds=self.bounds.values(),
            condition=self._condition(),
        )

    def _condition(self) -> str:
        """Return a text about the rewrite's assumption that no value exceeds the range of a narrower type."""
        kinds = sorted({kind for _, kind in self.bounds}, key=_WIDTH.__getitem__)
        return (
            f"magnitudes of at most {-lowest(kinds[0]):.5g} in tensors that become {kinds[0]}"
            if kinds
            else ""
        )

    def _type(self, value: Value | None) -> str | None:
        if value is None:
            return None
        known = self.types.get(value, value.dtype)
        return known if known in FLOAT_DTYPES else None

    def _cast_inputs(self, node: Node) -> None:
        """Cast the inputs of a node to one type, and record the type of its outputs."""
        if node.domain or any(a.HasField("g") for a in node.proto.attribute):
            if not node.inputs:
                return
            raise NotApplicable(f"the type change affects {node.op}, whose types are not known")
        results: dict[str, str] = {}
        for group in same_type_groups(node.op, self.opset):
            ports = _ports(group, len(node.inputs))
            wanted = self._common_type(node, ports)
            if wanted is None:
                continue
            for port in ports:
                self._cast(node, port, wanted)
            results[_variable(node.op, self.opset, ports[0])] = wanted
        self._record_output_types(node, results)

    def _common_type(self, node: Node, ports: Sequence[int]) -> str | None:
        """Return the new type of a group of inputs, or None if the inputs are not floats."""
        found = {port: kind for port in ports if (kind := self._type(node.inputs[port])) is not None}
        if not found:
            return None
        widest = max(found.values(), key=_WIDTH.__getitem__)
        if node.op in _PRODUCTS:
            constants = self.model.constants
            weights = [kind for port, kind in found.items() if constants.foldable(node.inputs[port])]
            if weights:
                return min(weights, key=_WIDTH.__getitem__)
        return widest

    def _cast(self, node: Node, port: int, wanted: str) -> None:
        value = node.inputs[port]
        kind = self._type(value)
        if value is None or kind is None or kind == wanted:
            return
        if cast_by_parser(node.op, port) and self.model.constants.foldable(value):
            return
        key = value, wanted
        if key not in self.casts:
            self.casts[key] = self.draft.op("Cast", value, to=onnx_type(wanted))
            if _WIDTH[wanted] < _WIDTH[kind]:
                self.bounds[key] = Bound(value.name, lowest(wanted), -lowest(wanted))
        self.rewire.append((node, port, self.casts[key]))

    def _record_output_types(self, node: Node, results: dict[str, str]) -> None:
        """Record the new types of a node's outputs.

        Args:
            node: the node.
            results: the new types by type variable of the ONNX schema, such as ``T``.
        """
        self.recorded.add(node)
        try:
            schema = schema_at(node.op, self.opset)
        except defs.SchemaError:
            return
        if node.op == "Cast":
            return
        for port, value in enumerate(node.outputs):
            formal = schema.outputs[min(port, len(schema.outputs) - 1)] if schema.outputs else None
            kind = None
            if formal is not None:
                kind = results.get(formal.type_str) or self._type_of_variable(node, formal.type_str)
            if kind is None or not value.name:
                continue
            declared = self.model.declared.get(value.name) if value.is_output else None
            if declared is not None and declared != kind and declared not in NOT_TENSORS.values():
                self.ends.setdefault(node, {})[value.name] = kind
                kind = declared
            if kind != value.dtype:
                self.types[value] = kind
                self.retyped.append(value.name)

    def _cast_outputs(self, node: Node) -> None:
        """Cast the results of a node to the declared types of the model outputs."""
        inputs: list[str | Value | None] = list(node.inputs)
        for reader, port, name in self.rewire:
            if reader is node:
                inputs[port] = name
        attributes = {name: helper.get_attribute_value(a) for name, a in node.attributes.items()}
        kinds = self.ends[node]
        own = [self.draft.name(name) if name in kinds else name for name in (v.name for v in node.outputs)]
        self.draft.op(node.op, *inputs, out=own, **attributes)
        for value, new in zip(node.outputs, own, strict=True):
            if value.name in kinds:
                self.draft.op("Cast", new, to=onnx_type(self.model.declared[value.name]), out=value.name)

    def _type_of_variable(self, node: Node, variable: str) -> str | None:
        """Return the type of the first input that has the type variable ``variable`` in the ONNX schema."""
        for port, value in enumerate(node.inputs):
            if _variable(node.op, self.opset, port) == variable:
                return self._type(value)
        return None


def _ports(group: tuple[int, ...], count: int) -> list[int]:
    """Return the indices of the inputs that must have the same type.

    Args:
        group: the indices. If the last index is -1, all inputs after the previous index belong to the group.
        count: number of inputs of the operator.
    """
    ports = list(group[:-1]) + list(range(group[-2], count)) if group[-1] == -1 else list(group)
    return [port for port in dict.fromkeys(ports) if port < count]


def _variable(op: str, opset: int, port: int) -> str:
    """Return the type variable of an input in the ONNX schema of ``op``, such as ``T``."""
    try:
        inputs = schema_at(op, opset).inputs
    except defs.SchemaError:
        return ""
    return inputs[min(port, len(inputs) - 1)].type_str if inputs else ""
