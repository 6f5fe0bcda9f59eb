"""Counts of the kernels that TensorRT-RTX builds."""

from __future__ import annotations

from benchmarks.rule_checks.check import Check
from benchmarks.rule_checks.rtx import Answer, ask

_HEAD = '< ir_version: 9, opset_import: ["" : 19] >\n'
_CONV = "Conv <pads = [1, 1, 1, 1]>"
_IMAGE = "float16[1,32,16,16]"


def _kernels(answer: Answer) -> int:
    assert answer.built, "the model was not built"
    return len(answer.kernels)


def _constant(body: str) -> Answer:
    return ask(f"""{_HEAD} g (float[64,64] x) => (float[64,64] y)
    < float[64,64] w = {{}}, float[64,64] v = {{}}, float[64] s = {{{", ".join(["1"] * 64)}}},
      int64[64] i = {{{", ".join(["3"] * 64)}}}, int64[2] shape = {{64, 64}}, float[1,64] row = {{}} >
    {{ {body} y = Add (x, c) }}""")


_COMPUTED = {
    "c = MatMul (w, v)": "Fc",
    "c = Gemm (w, v)": "Fc",
    "c = Softmax (w)": "Exp",
    "c = LayerNormalization (w, s)": "Sqrt",
    "c = ReduceMean (w)": "Mean",
    "c = Gather (w, i)": "Gath",
}
"""Computations of constants, each with a word in the name of the kernel that computes it."""
_FOLDED = (
    *("c = Mul (w, v)", "c = Exp (w)", "c = Transpose (w)", "c = Expand (row, shape)", "c = Sin (w)"),
    "b = Less (w, v) c = Where (b, w, v)",
)


def _computed() -> bool:
    answers = {body: _constant(body) for body in _COMPUTED}
    return all(answer.built and _COMPUTED[body] in answer.kernels[0] for body, answer in answers.items())


def _folded() -> bool:
    return all(_constant(body).kernels == ("__myl_Add_myl0_0",) for body in _FOLDED)


def _between(body: str) -> int:
    """Return the number of kernels for two convolutions with other operators between them."""
    return _kernels(
        ask(f"""{_HEAD} g ({_IMAGE} x) => ({_IMAGE} y)
        < float16[32,32,3,3] w = {{}}, float16[32,32,3,3] v = {{}}, float16 zero = {{0}},
          float16[32,1,1] a = {{{", ".join(["0.25"] * 32)}}} >
        {{ c = {_CONV} (x, w) {body} y = {_CONV} (p, v) }}""")
    )


def _prelu() -> bool:
    written_out = "m = Max (c, zero) n = Min (c, zero) s = Mul (n, a) p = Add (m, s)"
    fewer = {_between(written_out), _between("p = LeakyRelu <alpha = 0.25> (c)")}
    return fewer == {_between("p = PRelu (c, a)") - 1}


def _channels(count: int, dtype: str = "float16") -> int:
    return _kernels(
        ask(f"""{_HEAD} g ({dtype}[1,16,16,16] x) => ({dtype}[1,32,16,16] y)
        < {dtype}[{count},16,3,3] w = {{}}, {dtype}[32,{count},3,3] v = {{}} >
        {{ c = {_CONV} (x, w) y = {_CONV} (c, v) }}""")
    )


def _odd_channels() -> bool:
    odd, even = {_channels(count) for count in (7, 33, 63)}, {_channels(count) for count in (6, 34, 36)}
    return even == {count - 1 for count in odd}


def _odd_channels_of_fp32() -> bool:
    return _channels(33, "float") == _channels(34, "float")


def _unrolled() -> bool:
    names = range(16)
    pieces = ", ".join(f"s{i}" for i in names)
    products = " ".join(f"p{i} = MatMul (s{i}, w)" for i in names)
    sliced = ask(f"""{_HEAD} g (float16[8,16,64] x) => (float16[8,16,64] y)
    < float16[64,64] w = {{}}, int64[16] sizes = {{{", ".join(["1"] * 16)}}} >
    {{ {pieces} = Split <axis = 1> (x, sizes) {products}
       y = Concat <axis = 1> ({", ".join(f"p{i}" for i in names)}) }}""")
    whole = ask(f"""{_HEAD} g (float16[8,16,64] x) => (float16[8,16,64] y) < float16[64,64] w = {{}} >
    {{ y = MatMul (x, w) }}""")
    return _kernels(sliced) > 30 and _kernels(whole) == 1


def _recurrent(op: str, gates: int, steps: int) -> int:
    return _kernels(
        ask(f"""{_HEAD} g (float[{steps},1,16] x) => (float[{steps},1,1,16] y)
        < float[1,{16 * gates},16] w = {{}}, float[1,{16 * gates},16] r = {{}} >
        {{ y = {op} <hidden_size = 16> (x, w, r) }}""")
    )


def _loops() -> bool:
    layers = (("LSTM", 4), ("GRU", 3), ("RNN", 1))
    return all(_recurrent(op, gates, 32) > max(32, _recurrent(op, gates, 4)) for op, gates in layers)


def _inner_output() -> bool:
    body = f"c = {_CONV} (x, w) a = Relu (c) y = {_CONV} (a, w)"
    kept, plain = (
        _kernels(ask(f"{_HEAD} g ({_IMAGE} x) => ({outputs}) < float16[32,32,3,3] w = {{}} > {{ {body} }}"))
        for outputs in (f"{_IMAGE} y, {_IMAGE} c", f"{_IMAGE} y")
    )
    return kept == plain + 1


CHECKS = [
    Check("PERF105", "products, norms and gathers of constants are not folded", "builder", _computed),
    Check("PERF105", "element-wise operators on constants are folded", "builder", _folded),
    Check("PERF106", "PRelu needs one kernel more than LeakyRelu, or than Max and Min", "builder", _prelu),
    Check("PERF107", "an odd channel count needs one kernel more in FP16", "builder", _odd_channels),
    Check("PERF107", "an odd channel count needs no kernel more in FP32", "builder", _odd_channels_of_fp32),
    Check("PERF108", "16 products of slices need over 30 kernels, the whole one", "builder", _unrolled),
    Check("PERF109", "recurrent layers launch a kernel or more for each step", "builder", _loops),
    Check("PERF110", "an output before an activation needs one kernel more", "builder", _inner_output),
]  # fmt: skip
