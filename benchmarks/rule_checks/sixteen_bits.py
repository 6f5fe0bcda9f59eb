"""Effect of 16-bit floats on angles, coordinates, squares, exponentials and lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.rule_checks.check import Check
from benchmarks.rule_checks.numbers import run
from benchmarks.rule_checks.rtx import ask

Array = np.ndarray[Any, Any]


def _half(body: str, stored: str = "", shape: str = "4,1024", opset: int = 18) -> str:
    constants = f"< {stored} >" if stored else ""
    return f"""< ir_version: 10, opset_import: ["" : {opset}] >
    g (float16[{shape}] x) => (float16[A,B] y) {constants} {{ {body} }}"""


AXIS = "int64[1] last = {-1}"
NORM = _half("q = Mul (x, x) s = ReduceSum (q, last) y = Sqrt (s)", AXIS)
SQUARES = _half("y = ReduceSumSquare (x, last)", AXIS)
L2 = _half("y = ReduceL2 (x, last)", AXIS)
SOFTPLUS = _half("e = Exp (x) s = Add (e, one) y = Log (s)", "float16 one = {1}")
GUARDED_SOFTPLUS = _half("y = Softplus (x)")
LOGSUMEXP = _half("e = Exp (x) s = ReduceSum (e, last) y = Log (s)", AXIS)
GUARDED_LOGSUMEXP = _half("y = ReduceLogSumExp (x, last)", AXIS)
LOGIT = _half(
    "p = Clip (x, eps) d = Sub (one, x) c = Clip (d, eps) q = Div (p, c) y = Log (q)",
    "float16 one = {1}, float16 eps = {0.00001}",
)


def _kernel(model: str) -> str:
    """Return the name of the only kernel of a model, which lists its operators in order."""
    answer = ask(model)
    assert answer.built
    (name,) = answer.kernels
    return name.removeprefix("__myl_").partition("_")[0]


def _stays_in_fp16(model: str) -> bool:
    return "Cast" not in _kernel(model)


def _begins_in_fp32(model: str) -> bool:
    return _kernel(model).startswith("Cast")


def _tests(model: str, operator: str) -> bool:
    return operator in _kernel(model)


def _of(model: str, number: float) -> float:
    """Return the result of a model for a tensor filled with a number."""
    with np.errstate(all="ignore"):
        return float(run(model, x=np.full((4, 1024), number, np.float16)).flat[0])


def _sines_are_lost() -> bool:
    """Check the sines of large positions in a head of 128, for the highest frequencies."""
    positions = np.arange(2048)
    frequencies = 10000.0 ** (-np.arange(0, 128, 2) / 128)
    exact = np.sin(np.outer(positions, frequencies))
    half = np.outer(positions.astype(np.float16), frequencies.astype(np.float16))
    errors = np.abs(np.sin(half.astype(np.float64)) - exact)
    return bool(errors[:512].max() > 0.2 and errors.max() > 0.8)


def _coordinates_are_off(width: int, pixels: float) -> bool:
    centres = (2 * np.arange(width) + 1) / width - 1
    rounded = centres.astype(np.float16).astype(np.float64)
    worst = float(np.abs(rounded - centres).max()) * width / 2
    return pixels * 0.9 < worst <= pixels


def _lengths_are_rounded() -> bool:
    halves = np.float16(2049) == 2048 and np.float16(2047) == 2047
    bits = np.array([257, 255], np.float32).view(np.uint32)
    bf16 = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)
    return bool(halves and bf16[0] == 256 and bf16[1] == 255)


def _convolution_runs_in(dtype: str, body: str) -> bool:
    """Return whether the convolution between Casts reads a type, according to the layer information."""
    answer = ask(f"""< ir_version: 10, opset_import: ["" : 18] >
    g (float16[1,64,32,32] x) => (float16[1,64,32,32] y) < float[64,64,3,3] w = {{}} > {{ {body} }}""")
    assert answer.built
    dump = answer.log.rpartition("Layers:\n")[2]
    (layer,) = [line for line in dump.splitlines() if "LayerType: correlation" in line]
    return f"Datatype: {dtype}" in layer.partition("Constants:")[0]


def _widened_products_stay_in_fp32() -> bool:
    behind = "f = Cast <to = 1> (x) r = Relu (f) c = Conv <pads = [1,1,1,1]> (r, w) y = Cast <to = 10> (c)"
    before = "f = Cast <to = 1> (x) c = Conv <pads = [1,1,1,1]> (f, w) r = Relu (c) y = Cast <to = 10> (r)"
    return _convolution_runs_in("Float", behind) and _convolution_runs_in("Float", before)


def _one_alone_is_narrowed() -> bool:
    alone = "f = Cast <to = 1> (x) c = Conv <pads = [1,1,1,1]> (f, w) y = Cast <to = 10> (c)"
    return _convolution_runs_in("Half", alone)


CHECKS = [
    Check(
        "ACC112",
        "sines of FP16 angles are off by 0.2 for 512 positions, by 0.8 for 2,048",
        "numbers",
        _sines_are_lost,
    ),
    Check(
        "ACC112",
        "Sin of FP16 is computed without a cast",
        "builder",
        lambda: _stays_in_fp16(_half("y = Sin (x)")),
    ),
    Check(
        "ACC113",
        "FP16 coordinates are off by a quarter of a pixel at width 1,920",
        "numbers",
        lambda: _coordinates_are_off(1920, 1920 / 8192),
    ),
    Check(
        "ACC113",
        "FP16 coordinates are off by half a pixel at width 3,840",
        "numbers",
        lambda: _coordinates_are_off(3840, 3840 / 8192),
    ),
    Check(
        "ACC114",
        "the sum of 1,024 squares of 8.1 is infinite",
        "numbers",
        lambda: np.isinf(_of(SQUARES, 8.1)),
    ),
    Check(
        "ACC114",
        "the sum of 1,024 squares of 7.9 is finite",
        "numbers",
        lambda: np.isfinite(_of(SQUARES, 7.9)),
    ),
    Check("ACC114", "squares and their sum are computed in FP16", "builder", lambda: _stays_in_fp16(NORM)),
    Check("ACC114", "ReduceSumSquare is computed in FP16", "builder", lambda: _stays_in_fp16(SQUARES)),
    Check("ACC114", "ReduceL2 is computed in FP32", "builder", lambda: _begins_in_fp32(L2)),
    Check(
        "ACC115", "log(1 + exp(x)) is infinite from 11.1 on", "numbers", lambda: np.isinf(_of(SOFTPLUS, 11.1))
    ),
    Check(
        "ACC115", "log(1 + exp(x)) is correct at 11", "numbers", lambda: abs(_of(SOFTPLUS, 11.0) - 11) < 0.02
    ),
    Check("ACC115", "log(1 + exp(x)) is computed in FP16", "builder", lambda: _stays_in_fp16(SOFTPLUS)),
    Check(
        "ACC115",
        "the kernel of Softplus tests for infinity",
        "builder",
        lambda: _tests(GUARDED_SOFTPLUS, "Isin"),
    ),
    Check(
        "ACC116",
        "log(sum(exp(x))) is infinite from 11.1 on",
        "numbers",
        lambda: np.isinf(_of(LOGSUMEXP, 11.1)),
    ),
    Check(
        "ACC116",
        "log(sum(exp(x))) is computed as written",
        "builder",
        lambda: _kernel(LOGSUMEXP) == "ExpSumLog",
    ),
    Check(
        "ACC116",
        "the kernel of ReduceLogSumExp computes the maximum",
        "builder",
        lambda: _tests(GUARDED_LOGSUMEXP, "Maxr"),
    ),
    Check(
        "ACC117", "the logit of 0.9998 in FP16 is infinite", "numbers", lambda: np.isinf(_of(LOGIT, 0.9998))
    ),
    Check("ACC117", "a logit is computed in FP16", "builder", lambda: _stays_in_fp16(LOGIT)),
    Check("ACC118", "FP16 rounds the length 2,049, and BF16 rounds 257", "numbers", _lengths_are_rounded),
    Check(
        "PERF121",
        "a convolution and an activation between casts run in FP32",
        "builder",
        _widened_products_stay_in_fp32,
    ),
    Check("PERF121", "a convolution alone between casts runs in FP16", "builder", _one_alone_is_narrowed),
]
