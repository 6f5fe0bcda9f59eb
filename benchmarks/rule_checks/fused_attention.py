"""Forms of attention that TensorRT-RTX fuses."""

from __future__ import annotations

from benchmarks.rule_checks.check import Check
from benchmarks.rule_checks.rtx import ask

_SOFTMAX = "p = Softmax <axis = -1> (s)"


def _fused(size: int = 64, *, dtype: str = "float16", softmax: str = _SOFTMAX, outputs: str = "") -> bool:
    """Return whether attention with two heads of a size becomes one kernel. The operands are computed.

    ``softmax`` contains the operators from the scores ``s`` to the probabilities ``p``; ``outputs`` are
    further outputs.
    """
    answer = ask(f"""< ir_version: 10, opset_import: ["" : 18] >
    g ({dtype}[1,64,{2 * size}] q, {dtype}[1,64,{2 * size}] k, {dtype}[1,64,{2 * size}] v)
      => ({dtype}[1,2,64,{size}] o{outputs})
    < int64[4] split = {{1, 64, 2, {size}}} >
    {{
      qr = Reshape (q, split) kr = Reshape (k, split) vr = Reshape (v, split)
      qt = Transpose <perm = [0, 2, 1, 3]> (qr)
      kt = Transpose <perm = [0, 2, 3, 1]> (kr)
      vt = Transpose <perm = [0, 2, 1, 3]> (vr)
      s = MatMul (qt, kt)
      {softmax}
      o = MatMul (p, vt)
    }}""")
    assert answer.built
    return any("mha" in kernel for kernel in answer.kernels)


def _sizes_that_are_fused() -> bool:
    return all(map(_fused, (9, 12, 16, 50, 64, 250, 256)))


def _sizes_that_are_not() -> bool:
    return not any(map(_fused, (4, 8, 257, 264, 512)))


def _casts_do_no_harm() -> bool:
    return _fused(softmax="w = Cast <to = 1> (s) u = Softmax <axis = -1> (w) p = Cast <to = 10> (u)")


def _second_readers_do_harm() -> bool:
    scores = _fused(outputs=", float16[1,2,64,64] s")
    probabilities = _fused(outputs=", float16[1,2,64,64] p")
    return not scores and not probabilities


CHECKS = [
    Check(
        "PERF104",
        "attention with heads of any size from 9 to 256 is fused",
        "builder",
        _sizes_that_are_fused,
    ),
    Check(
        "PERF104",
        "attention with heads of size 8 or less, or more than 256, is not fused",
        "builder",
        _sizes_that_are_not,
    ),
    Check("PERF104", "attention in FP32 is not fused", "builder", lambda: not _fused(dtype="float")),
    Check("PERF104", "attention with casts around the softmax is fused", "builder", _casts_do_no_harm),
    Check(
        "PERF104",
        "attention is not fused if the scores or probabilities have a second reader",
        "builder",
        _second_readers_do_harm,
    ),
]
