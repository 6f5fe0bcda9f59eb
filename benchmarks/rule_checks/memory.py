"""Messages of TensorRT-RTX about memory and names, and the effect of FP16 on weights."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx

from benchmarks.rule_checks.check import Check
from benchmarks.rule_checks.rtx import Answer, ask

Array = np.ndarray[Any, np.dtype[Any]]

_HEAD = '< ir_version: 9, opset_import: ["" : 19] >\n'


def _bytes(answer: Answer, what: str) -> int:
    """Return the number of bytes that the builder prints for ``Activation`` or ``Weights``."""
    assert answer.built, "the model was not built"
    found = re.search(rf"Total {what} Memory: (\d+) bytes", answer.log)
    assert found is not None
    return int(found[1])


def _attention(dtype: str, tokens: int) -> int:
    shape = f"{dtype}[1,8,{tokens},64]"
    answer = ask(f"""{_HEAD} g ({shape} q, {dtype}[1,8,64,{tokens}] k, {shape} v) => ({shape} y)
    {{ s = MatMul (q, k) p = Softmax <axis = -1> (s) y = MatMul (p, v) }}""")
    return _bytes(answer, "Activation")


def _scores() -> bool:
    scores = 8 * 1024 * 1024 * 4
    unfused = _attention("float", 1024) >= 2 * scores and _attention("float", 2048) >= 8 * scores
    return unfused and _attention("float16", 2048) < scores


def _expanded() -> bool:
    expanded = ask(f"""{_HEAD} g (float[64,64] x) => (float[64,64] y)
    < float[1,64] row = {{}}, int64[2] shape = {{64, 64}} > {{ c = Expand (row, shape) y = Add (x, c) }}""")
    plain = ask(f"""{_HEAD} g (float[64,64] x) => (float[64,64] y)
    < float[1,64] row = {{}} > {{ y = Add (x, row) }}""")
    return _bytes(expanded, "Weights") >= 16384 and _bytes(plain, "Weights") < 1024


def _table(dtype: str, cast: str) -> int:
    answer = ask(f"""{_HEAD} g (int64[4] i) => (float16[4,64] y) < {dtype}[1000,64] w = {{}} >
    {{ e = Gather (w, i) y = {cast} (e) }}""")
    return _bytes(answer, "Weights")


def _wide_table() -> bool:
    return _table("float", "Cast <to = 10>") == 2 * _table("float16", "Identity") == 256_000


def _table_cast_first() -> bool:
    answer = ask(f"""{_HEAD} g (int64[4] i) => (float16[4,64] y) < float[1000,64] w = {{}} >
    {{ n = Cast <to = 10> (w) y = Gather (n, i) }}""")
    return _bytes(answer, "Weights") == 128_000


def _unused_input() -> bool:
    answer = ask(f"{_HEAD} g (float[4] x, float[4] mask) => (float[4] y) {{ y = Relu (x) }}")
    return answer.built is True and answer.says("Unused Input: mask")


def _shared_name() -> bool:
    model = onnx.parser.parse_model(f"{_HEAD} g (float[4] x) => (float[4] y) {{ a = Relu (x) y = Neg (a) }}")
    for node in model.graph.node:
        node.name = "twin"
    return ask(model).says("A node named twin already exists")


def _nothing_is_said_of_nan() -> bool:
    answer = ask(f"""{_HEAD} g (float[1,2] x) => (float[1,2] y)
    < float[2,2] w = {{1, nan, 3, 4}} > {{ y = MatMul (x, w) }}""")
    warnings = [line for line in answer.log.splitlines() if "[W]" in line]
    return answer.built is True and not any("nan" in line.lower() or "weight" in line for line in warnings)


def _half(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float64)


def _beyond() -> bool:
    fits, beyond = _half(np.array([65504.0, 70000.0]))
    return fits == 65504 and bool(np.isinf(beyond))


def _subnormal() -> bool:
    drawn = np.random.default_rng(0).standard_normal(100_000)
    errors = []
    for size in (0.02, 1e-5, 1e-6, 1e-7):
        weights = drawn * size
        errors.append(float(np.abs(_half(weights) - weights).mean() / np.abs(weights).mean()))
    usual, *small = errors
    return usual < 3e-4 and 0.001 < small[0] < 0.01 < small[1] < 0.1 < small[2]


CHECKS = [
    Check("MEM101", "unfused attention stores its scores twice, fused attention not", "builder", _scores),
    Check("MEM102", "an expanded constant is stored at its full size", "builder", _expanded),
    Check("MEM105", "a table with a Cast after the Gather is stored in FP32", "builder", _wide_table),
    Check("MEM105", "a table with a Cast before the Gather is stored in FP16", "builder", _table_cast_first),
    Check("BLD241", "TensorRT-RTX reports an unused input, and builds the model", "builder", _unused_input),
    Check("BLD242", "TensorRT-RTX reports a second node with the same name", "builder", _shared_name),
    Check("ACC120", "TensorRT-RTX does not warn of NaN in weights", "builder", _nothing_is_said_of_nan),
    Check("ACC121", "FP16 can represent 65504, but rounds 70000 to infinity", "numbers", _beyond),
    Check("ACC122", "FP16 changes weights of 1e-5 by 0.2 %, of 1e-7 by 19 %", "numbers", _subnormal),
]  # fmt: skip
