"""Operands that kernels of TensorRT-RTX read in 8 bits, for models with quantizers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from benchmarks.rule_checks.check import Check
from benchmarks.rule_checks.rtx import Answer, ask

_HEAD = '< ir_version: 9, opset_import: ["" : 19] >\n'
_KERNEL = re.compile(r"^Name: \S+, LayerType: (?:correlation|gemm|deconv|kgen), .*$", re.MULTILINE)
_INPUTS = re.compile(r"Inputs: \[(.*?)\], (?:Constants|Outputs)")
_TYPE = re.compile(r"Datatype: (\w+)")
_X = " xq = QuantizeLinear (x, s, z) xd = DequantizeLinear (xq, s, z)"
_NARROW = ("Int8", "FP8")


def _reads(answer: Answer, node: str) -> tuple[str, ...]:
    """Return the types that the kernel of a node reads, without stored tensors; empty without a kernel."""
    assert answer.built, "the model was not built"
    dump = answer.log.rpartition("Layers:\n")[2]
    for line in _KERNEL.findall(dump):
        if line.startswith(f"Name: {node}"):
            inputs = _INPUTS.search(line)
            return () if inputs is None else tuple(_TYPE.findall(inputs[1]))
    return ()


def _many(number: str, count: int) -> str:
    return ", ".join([number] * count)


def _conv(body: str, op: str = "Conv <pads = [1, 1, 1, 1]>") -> Answer:
    return ask(f"""{_HEAD} g (float16[1,32,16,16] x) => (float16[1,32,N,M] y)
    < float16[32,32,3,3] w = {{}}, int8[32,32,3,3] wi = {{}}, float16 s = {{0.5}}, int8 z = {{0}},
      float16[32] many = {{{_many("0.5", 32)}}}, int8[32] zeros = {{{_many("0", 32)}}} >
    {{ {body.replace("OP", op)} }}""")


def _matmul(body: str) -> Answer:
    return ask(f"""{_HEAD} g (float16[4,64,64] x) => (float16[4,64,64] y)
    < float16[64,64] w = {{}}, int8[64,64] wi = {{}}, float16 s = {{0.5}}, int8 z = {{0}},
      float16[64] many = {{{_many("0.5", 64)}}}, int8[64] zeros = {{{_many("0", 64)}}} >
    {{ {body} }}""")


def _weight(axis: int) -> str:
    return f" wd = DequantizeLinear <axis = {axis}> (wi, many, zeros)"


def _full() -> bool:
    convolution = _reads(_conv(f"{_X} {_weight(0)} y = OP (xd, wd)"), "node_of_y")
    return convolution == ("Int8",) == _reads(_matmul(f"{_X} {_weight(1)} y = MatMul (xd, wd)"), "node_of_y")


def _float_weight() -> bool:
    convolution = _reads(_conv(f"{_X} y = OP (xd, w)"), "node_of_y")
    product = _reads(_matmul(f"{_X} y = MatMul (xd, w)"), "node_of_y")
    return bool(convolution) and not {*convolution, *product} & {*_NARROW}


def _weight_conv() -> bool:
    answer = _conv(f"{_weight(0)} y = OP (x, wd)")
    plain = _conv("y = OP (x, w)")
    return _reads(answer, "node_of_y")[0] == "Half" and len(answer.kernels) > len(plain.kernels)


def _wrong_axis() -> bool:
    convolution = _reads(_conv(f"{_X} {_weight(1)} y = OP (xd, wd)"), "node_of_y")
    product = _reads(_matmul(f"{_X} {_weight(0)} y = MatMul (xd, wd)"), "node_of_y")
    return bool(convolution) and not {*convolution, *product} & {*_NARROW}


def _channel_data() -> bool:
    data = (
        "xq = QuantizeLinear <axis = 1> (x, many, zeros) xd = DequantizeLinear <axis = 1> (xq, many, zeros)"
    )
    read = _reads(_conv(f"{data} {_weight(0)} y = OP (xd, wd)"), "node_of_y")
    return bool(read) and not {*read} & {*_NARROW}


def _deconvolution() -> bool:
    found = [
        _reads(_conv(f"{_X} {_weight(axis)} y = OP (xd, wd)", "ConvTranspose"), "node_of_y")
        for axis in (0, 1)
    ]
    return found == [("Half", "Half")] * 2


def _attention(dtype: str, keys: int, size: int, quantized: Sequence[str]) -> bool:
    """Return whether attention with some quantized tensors is one kernel that reads the quantized type."""
    names = {name: name for name in "qkvcpo"}
    body = []

    def pair(name: str) -> None:
        if name in quantized:
            body.append(f"{name}q = QuantizeLinear ({name}, s, z) {name}d = DequantizeLinear ({name}q, s, z)")
            names[name] = f"{name}d"

    for name in "qkv":
        pair(name)
    body.append(f"c = MatMul ({names['q']}, {names['k']})")
    pair("c")
    body.append(f"d = Mul ({names['c']}, scale) p = Softmax <axis = -1> (d)")
    pair("p")
    body.append(f"o = MatMul ({names['p']}, {names['v']})")
    pair("o")
    answer = ask(f"""{_HEAD} g (float16[1,8,{keys},{size}] q, float16[1,8,{size},{keys}] k,
      float16[1,8,{keys},{size}] v) => (float16[1,8,{keys},{size}] y)
    < float16 s = {{0.05}}, {dtype} z = {{0}}, float16 scale = {{0.125}} >
    {{ {" ".join(body)} y = Identity ({names["o"]}) }}""")
    return "Int8" in _reads(answer, "_gemm_mha_v2") or "FP8" in _reads(answer, "_gemm_mha_v2")


def _int8_inside() -> bool:
    return all(_attention("int8", keys, size, "qkvpo") for keys, size in ((512, 64), (128, 32), (128, 16)))


def _int8_outside() -> bool:
    sizes = (_attention("int8", keys, size, "qkvpo") for keys, size in ((520, 64), (128, 80), (128, 8)))
    forms = (_attention("int8", 128, 64, quantized) for quantized in ("qkvp", "qko", "vpo", "qkvcpo"))
    return not any(sizes) and not any(forms)


def _fp8_inside() -> bool:
    places = ((1024, 64, "qkvp"), (128, 80, "qkvp"), (128, 256, "qkvpo"))
    return all(_attention("float8e4m3fn", *place) for place in places)


def _fp8_outside() -> bool:
    return not any(_attention("float8e4m3fn", 128, 64, form) for form in ("qk", "qkv", "vp", "qkvcp"))


def _kernel_read(dtype: str, kernel: tuple[int, int]) -> tuple[str, ...]:
    height, width = kernel
    answer = ask(f"""{_HEAD} g (float16[1,32,32,32] x) => (float16[1,32,N,M] y)
    < float16[32,32,{height},{width}] w = {{}}, float16 s = {{0.5}}, {dtype} z = {{0}} >
    {{ {_X} wq = QuantizeLinear (w, s, z) wd = DequantizeLinear (wq, s, z) y = Conv (xd, wd) }}""")
    return _reads(answer, "node_of_y")


def _taps() -> bool:
    small = [_kernel_read("float8e4m3fn", kernel) for kernel in ((4, 8), (1, 31))]
    large = [_kernel_read("float8e4m3fn", kernel) for kernel in ((3, 11), (6, 6))]
    return small == [("FP8",)] * 2 and large == [("Half", "Half")] * 2


def _taps_of_int8() -> bool:
    return _kernel_read("int8", (7, 7)) == ("Int8",)


def _uint8() -> bool:
    answer = ask(f"""{_HEAD} g (float[1,8,8,8] x) => (float[1,8,8,8] y)
    < float s = {{0.5}}, uint8 z = {{0}} >
    {{ q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }}""")
    return answer.parsed and answer.says("Defaulting to INT8 instead")


def _half_of_the_range() -> bool:
    import numpy as np

    scale = np.float32(1 / 255)
    values = np.linspace(0, 1, 1001, dtype=np.float32)
    unsigned = np.clip(np.rint(values / scale), 0, 255) * scale
    signed = np.clip(np.rint(values / scale), -128, 127) * scale
    upper = values > 0.5
    error = float(np.abs(signed - values)[upper].mean())
    return float(np.abs(unsigned - values).max()) < 0.0021 and 0.24 < error < 0.26


def _weight_only(dtype: str, block: int, rows: int) -> int:
    """Return the number of kernels of a product with a quantized weight."""
    shape = f"{64 // block},32" if block else "32"
    count = 64 // block * 32 if block else 32
    form = f"axis = 0, block_size = {block}" if block else "axis = 1"
    answer = ask(f"""< ir_version: 10, opset_import: ["" : 21] >
    g (float16[{rows},64] x) => (float16[{rows},32] y)
    < {dtype}[64,32] w = {{}}, float16[{shape}] s = {{{_many("0.5", count)}}} >
    {{ wd = DequantizeLinear <{form}> (w, s) y = MatMul (x, wd) }}""")
    assert answer.built, "the model was not built"
    return len(answer.kernels)


def _weight_only_forms() -> bool:
    read = [_weight_only(*form, rows=4) for form in (("int4", 16), ("int8", 0), ("float8e4m3fn", 0))]
    apart = [_weight_only(*form, rows=4) for form in (("int4", 0), ("int8", 16), ("float8e4m3fn", 16))]
    return read == [1, 1, 1] and apart == [2, 2, 2]


def _one_row() -> bool:
    return _weight_only("int4", 0, rows=1) == _weight_only("int8", 16, rows=1) == 1


def _again(scale: str) -> int:
    """Return the number of roundings in the quantizing kernel, if a second pair of quantizers follows."""
    second = f"x2 = QuantizeLinear (xd, {scale}, z) xe = DequantizeLinear (x2, {scale}, z)"
    answer = ask(f"""{_HEAD} g (float16[1,32,16,16] x) => (float16[1,32,N,M] y)
    < float16[32,32,3,3] w = {{}}, float16 s = {{0.5}}, float16 t = {{0.25}}, int8 z = {{0}} >
    {{ {_X} {second} wq = QuantizeLinear (w, s, z) wd = DequantizeLinear (wq, s, z) y = Conv (xe, wd) }}""")
    assert answer.built, "the model was not built"
    return answer.kernels[0].count("Roun")


def _check(rule: str, claim: str, holds: Callable[[], bool]) -> Check:
    return Check(rule, claim, "builder", holds)


CHECKS = [
    _check("QNT102", "with both operands quantized, the kernels read INT8", _full),
    _check("QNT102", "with a float weight, the kernels read no INT8", _float_weight),
    _check("QNT103", "with only the weight in INT8, a convolution reads FP16, in more kernels", _weight_conv),
    _check("QNT104", "with weight scales along the summed axis, no kernel reads INT8", _wrong_axis),
    _check("QNT105", "with several scales for the data, no kernel reads INT8", _channel_data),
    _check("QNT117", "a quantized ConvTranspose reads FP16, for both axes of the scales", _deconvolution),
    _check("QNT107", "INT8 attention inside all limits is one kernel", _int8_inside),
    _check("QNT107", "INT8 attention outside any of the limits is not one kernel", _int8_outside),
    _check("QNT108", "FP8 attention of the supported form is one kernel", _fp8_inside),
    _check("QNT108", "FP8 attention of other forms is not one kernel", _fp8_outside),
    _check("QNT111", "the parser reads uint8 as INT8", _uint8),
    Check("QNT111", "as INT8, large values are off by a quarter of the range", "numbers", _half_of_the_range),
    _check("QNT112", "an FP8 convolution reads FP8 up to 32 kernel elements, else FP16", _taps),
    _check("QNT112", "an INT8 convolution of 49 kernel elements reads INT8", _taps_of_int8),
    _check("QNT118", "products read INT4 with block scales, INT8 without block scales", _weight_only_forms),
    _check("QNT118", "products of one row also read INT4 without block scales, INT8 with them", _one_row),
    _check("QNT120", "data quantized twice with one scale are rounded once", lambda: _again("s") == 1),
    _check("QNT120", "data quantized twice with two scales are rounded twice", lambda: _again("t") == 2),
]  # fmt: skip
