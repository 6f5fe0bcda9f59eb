"""Origins of the operands of the tested operator: inputs, stored tensors, or computed tensors."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper

from benchmarks.probes.calls import (
    BFLOAT16,
    BOOL,
    DOUBLE,
    FLOAT,
    FLOAT16,
    INT8,
    INT32,
    INT64,
    UINT8,
    Call,
    Operand,
    names,
)
from benchmarks.probes.tensors import UnluckyError, cast, number_of, tensor

OPSETS = (11, 13, 17, 18, 20, 21, 23, 23, 24)
PLACES = ("main",) * 24 + ("if",) * 7 + ("loop",) * 5 + ("function",) * 4 + ("scan",)
USUAL = {FLOAT: 12, FLOAT16: 5, INT64: 3, INT32: 3, BFLOAT16: 3, DOUBLE: 2, BOOL: 2, INT8: 2, UINT8: 2}
"""Weights of types in a draw. An allowed type that is not in the table has the weight 0.4."""


_WAYS = names(
    "identity identity cast cast reshape transpose unsqueeze arithmetic unary slice squeeze concat "
)
"""Ways to compute an operand from a different value."""


@dataclass(slots=True)
class Part:
    """Nodes and stored tensors of one graph."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    stored: list[onnx.TensorProto] = field(default_factory=list)


class Operands:
    """A random model under construction: its graphs, and the operands that are added to them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.opset = rng.choice(OPSETS)
        self.outer, self.inner = Part(), Part()
        self.inputs: list[onnx.ValueInfoProto] = []
        self.feeds: dict[str, np.ndarray[Any, Any]] = {}
        self.types: dict[str, int] = {}
        self.tags: list[str] = []
        self.place = rng.choice(PLACES)
        self.functions: list[onnx.FunctionProto] = []
        self.sparse_weights: list[str] = []
        self._count = 0
        self._symbolic = rng.random() < 0.3

    # --- operands ----------------------------------------------------------------------------------

    def name(self, letter: str = "t") -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def add(
        self, part: Part, op: str, inputs: list[str], count: int = 1, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node; return the name of its first output."""
        outputs = [self.name() for _ in range(count)]
        named = self.name("n_") if self.rng.random() < 0.6 else ""
        part.nodes.append(helper.make_node(op, inputs, outputs, name=named, domain=domain, **attributes))
        return outputs[0]

    def call(self, call: Call) -> list[str]:
        """Add the call of an operator with its operands; return the names of its outputs."""
        if call.op == "ConstantOfShape":
            call.attributes["value"] = tensor("", int(call.attributes["value"]), np.zeros(1))
        types = self._types_of(call)
        inputs = []
        for operand, type in zip(call.operands, types, strict=True):
            inputs.append("" if operand is None else self.operand(operand, type))
        outputs = [self.name() for _ in range(call.outputs)]
        node = helper.make_node(call.op, inputs, outputs, name=self.name("n_"), domain=call.domain)
        for name, value in call.attributes.items():
            empty = isinstance(value, list) and not value
            node.attribute.append(
                helper.make_attribute(name, value, attr_type=onnx.AttributeProto.INTS if empty else None)
            )
        self.inner.nodes.append(node)
        return outputs

    def _types_of(self, call: Call) -> list[int]:
        if call.domain:
            return [operand.type or FLOAT if operand else 0 for operand in call.operands]
        try:
            schema = defs.get_schema(call.op, self.opset)
        except defs.SchemaError:
            raise UnluckyError(call.op) from None
        chosen: dict[str, int] = {}
        allowed = {
            c.type_param_str: [number_of(t) for t in c.allowed_type_strs] for c in schema.type_constraints
        }
        variables = []
        for port, operand in enumerate(call.operands):
            formal = schema.inputs[min(port, len(schema.inputs) - 1)]
            variables.append(formal.type_str)
            if operand is not None and operand.type:
                if formal.type_str not in allowed:
                    continue
                if operand.type not in allowed[formal.type_str]:
                    raise UnluckyError(call.op)
                chosen[formal.type_str] = operand.type
        for variable, types in allowed.items():
            known = [type for type in types if type and type != 8]
            if variable not in chosen and known:
                chosen[variable] = self.rng.choices(known, [USUAL.get(type, 0.4) for type in known])[0]
        found = []
        for variable, operand in zip(variables, call.operands, strict=True):
            type = chosen.get(variable) or number_of(variable)
            if not type:
                raise UnluckyError(call.op)
            found.append((operand.type if operand is not None else None) or type)
        return found

    def operand(self, operand: Operand, type: int) -> str:
        """Add an operand of a type, with a random origin."""
        rng = self.rng
        part = self.inner if rng.random() < 0.5 else self.outer
        array = operand.array
        if operand.kind == "parameter":
            return self._parameter(array, type, part)
        wild = rng.random()
        floats = type in (FLOAT, FLOAT16, BFLOAT16)
        if operand.kind == "weight":
            if wild < 0.45:
                return self.stored(array, type, part)
            if wild < 0.62:
                return self.constant(array, type, part)
            if wild < 0.72:
                return self.computed(array, type, part, constant=True)
            if floats and wild < 0.8 and (type == FLOAT or self.opset >= 19):
                return self.dequantized(array, type, part)
            if floats and wild < 0.86 and (type == FLOAT or self.opset >= 19):
                return self.quantized(self.stored(array, type, part), array, type, part)
        if wild < 0.5:
            return self.fed(array, type)
        if wild < 0.6:
            return self.stored(array, type, part)
        if wild < 0.68:
            return self.constant(array, type, part)
        if floats and wild < 0.75 and (type == FLOAT or self.opset >= 19):
            return self.quantized(self.fed(array, type), array, type, part)
        if floats and wild < 0.78 and (type == FLOAT or self.opset >= 19):
            return self.dequantized(array, type, part)
        return self.computed(array, type, part, constant=wild > 0.95)

    def stored(self, array: np.ndarray[Any, Any], type: int, part: Part) -> str:
        name = self.name("w")
        if self.place == "function" or (part is self.inner and self.place == "main"):
            part = self.outer
        part.stored.append(tensor(name, type, array))
        if part is self.outer and self.rng.random() < 0.03 and self.place != "function":
            self.inputs.append(helper.make_tensor_value_info(name, type, array.shape))
            self.tags.append("input with default")
        return name

    def constant(self, array: np.ndarray[Any, Any], type: int, part: Part) -> str:
        rng = self.rng
        if type == INT64 and self.opset >= 12 and array.ndim <= 1 and array.size and rng.random() < 0.4:
            if array.ndim == 0:
                return self.add(part, "Constant", [], value_int=int(array))
            return self.add(part, "Constant", [], value_ints=[int(x) for x in array])
        if type == FLOAT and self.opset >= 12 and array.ndim <= 1 and array.size and rng.random() < 0.3:
            if array.ndim == 0:
                return self.add(part, "Constant", [], value_float=float(array))
            return self.add(part, "Constant", [], value_floats=[float(x) for x in array])
        return self.add(part, "Constant", [], value=tensor(self.name("v"), type, array))

    def fed(self, array: np.ndarray[Any, Any], type: int) -> str:
        """Add an input of the model."""
        name = self.name("x")
        dims: list[Any] = list(array.shape)
        if self._symbolic:
            dims = [self._symbol(dim) if self.rng.random() < 0.5 else dim for dim in dims]
        self.inputs.append(helper.make_tensor_value_info(name, type, dims))
        self.feeds[name] = cast(array, type)
        return name

    def _symbol(self, size: int) -> Any:
        return {1: "N", 2: "C", 3: "H", 4: "S", 5: "T", 8: "L"}.get(size, size)

    def computed(self, array: np.ndarray[Any, Any], type: int, part: Part, constant: bool) -> str:
        """Add one or two operators that compute the operand from an input or a stored tensor."""
        rng = self.rng

        def source(array: np.ndarray[Any, Any], type: int) -> str:
            if not constant:
                return self.fed(array, type)
            return self.stored(array, type, part) if rng.random() < 0.5 else self.constant(array, type, part)

        way = rng.choice(_WAYS)
        if way == "cast" and type in (FLOAT, FLOAT16, BFLOAT16, DOUBLE, INT32, INT64):
            floats = type in (FLOAT, FLOAT16, BFLOAT16, DOUBLE)
            other = rng.choice([FLOAT, FLOAT16, BFLOAT16, DOUBLE] if floats else [INT32, INT64, UINT8, INT8])
            if not floats and np.abs(array).max(initial=0) > 100:
                other = INT64
            if other == BFLOAT16 and self.opset < 13:
                other = FLOAT
            if other == UINT8:
                array = np.abs(array)
            return self.add(part, "Cast", [source(array, other)], to=type)
        if way == "reshape":
            shape = self.constant(np.array(array.shape, dtype=np.int64), INT64, part)
            return self.add(part, "Reshape", [source(array.reshape(-1), type), shape])
        if way == "transpose" and array.ndim > 1:
            perm = rng.sample(range(array.ndim), array.ndim)
            return self.add(part, "Transpose", [source(array.transpose(np.argsort(perm)), type)], perm=perm)
        if way == "unsqueeze" and array.ndim and array.shape[0] == 1:
            before = source(array[0], type)
            if self.opset < 13:
                return self.add(part, "Unsqueeze", [before], axes=[0])
            return self.add(part, "Unsqueeze", [before, self.stored(np.array([0]), INT64, part)])
        if (
            way == "arithmetic"
            and type in (FLOAT, FLOAT16, BFLOAT16, INT32, INT64)
            and (type != BFLOAT16 or self.opset >= 13)
        ):
            return self.add(part, "Add", [source(array, type), self.stored(np.zeros(()), type, part)])
        if way == "slice" and array.ndim:
            longer = source(np.concatenate([array, array[:1]]), type)
            bounds = [self.stored(np.array([at]), INT64, part) for at in (0, array.shape[0], 0)]
            return self.add(part, "Slice", [longer, *bounds])
        if way == "squeeze" and self.opset >= 13:
            axis = self.stored(np.array([0]), INT64, part)
            return self.add(part, "Squeeze", [source(array[np.newaxis], type), axis])
        if way == "concat" and array.ndim and array.shape[0] > 1:
            pieces = [source(array[:1], type), self.stored(array[1:], type, part)]
            return self.add(part, "Concat", pieces, axis=0)
        if way == "unary" and type in (FLOAT, FLOAT16):
            return self.add(part, "Neg", [self.add(part, "Neg", [source(array, type)])])
        return self.add(part, "Identity", [source(array, type)])

    def quantized(self, name: str, array: np.ndarray[Any, Any], type: int, part: Part) -> str:
        """Add a quantizer and a dequantizer after a value."""
        self.tags.append("qdq")
        scale, zero, attributes = self._scales(array, type, part)
        q = self.add(part, "QuantizeLinear", [name, scale, zero], **attributes)
        return self.add(part, "DequantizeLinear", [q, scale, zero], **attributes)

    def dequantized(self, array: np.ndarray[Any, Any], type: int, part: Part) -> str:
        """Add a dequantizer after a stored int8 tensor."""
        self.tags.append("dq")
        scale, zero, attributes = self._scales(array, type, part)
        ints = np.round(np.clip(array * 10, -100, 100))
        place = self.stored if self.rng.random() < 0.6 else self.constant
        return self.add(part, "DequantizeLinear", [place(ints, INT8, part), scale, zero], **attributes)

    def _scales(self, array: np.ndarray[Any, Any], type: int, part: Part) -> tuple[str, str, dict[str, Any]]:
        rng = self.rng
        dims: tuple[int, ...] = ()
        attributes = {}
        if array.ndim and self.opset >= 13 and rng.random() < 0.4:
            axis = rng.randrange(array.ndim)
            dims, attributes = (array.shape[axis],), {"axis": axis}
        elif rng.random() < 0.2:
            dims = (1,)
        place = self.stored if rng.random() < 0.7 else self.constant
        scale = place(np.full(dims, 0.25), type, part)
        zero = (self.stored if rng.random() < 0.7 else self.constant)(np.zeros(dims), INT8, part)
        if dims == () and rng.random() < 0.06:
            zero = self.add(part, "Identity", [zero])
        return scale, zero, attributes

    def _parameter(self, array: np.ndarray[Any, Any], type: int, part: Part) -> str:
        """Add a number that determines the shape of an operator's result."""
        rng = self.rng
        wild = rng.random()
        if type not in (INT64, INT32):
            if wild < 0.5:
                return self.stored(array, type, part)
            if wild < 0.75:
                return self.constant(array, type, part)
            return self.fed(array, type) if wild > 0.9 else self.computed(array, type, part, constant=True)
        if wild < 0.45:
            return self.stored(array, type, part)
        if wild < 0.7:
            return self.constant(array, type, part)
        if wild < 0.76:
            return self.fed(array, type)
        if wild < 0.82:
            return self.computed(array, type, part, constant=True)
        if wild < 0.88:
            delta = self.stored(np.array(1), type, part)
            return (
                self.add(part, "Sub", [self.constant(array + 1, type, part), delta])
                if array.max(initial=0) < 1 << 30
                else self.stored(array, type, part)
            )
        if type == INT64 and array.size and array.min() >= 1 and array.max() <= 8 and array.ndim <= 1:
            return self._from_shape(array, part)
        return self.constant(array, type, part)

    def _from_shape(self, array: np.ndarray[Any, Any], part: Part) -> str:
        """Add shape arithmetic that computes these sizes."""
        self.tags.append("shape arithmetic")
        rng = self.rng
        x = self.fed(np.zeros(tuple(int(v) for v in array.reshape(-1))), FLOAT)
        shape = self.add(part, "Shape", [x])
        if array.ndim == 0:
            return self.add(part, "Gather", [shape, self.stored(np.array(0), INT64, part)], axis=0)
        if rng.random() < 0.5:
            return shape
        pieces = []
        for index, value in enumerate(array):
            if rng.random() < 0.5:
                pieces.append(self.stored(np.array([value]), INT64, part))
                continue
            one = self.add(part, "Gather", [shape, self.stored(np.array(index), INT64, part)], axis=0)
            if self.opset < 13:
                pieces.append(self.add(part, "Unsqueeze", [one], axes=[0]))
            else:
                pieces.append(self.add(part, "Unsqueeze", [one, self.stored(np.array([0]), INT64, part)]))
        return self.add(part, "Concat", pieces, axis=0)
