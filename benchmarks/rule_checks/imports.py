"""Operators that the parser imports with other numbers, or as another operator, than ONNX defines."""

from __future__ import annotations

import numpy as np

from benchmarks.rule_checks.check import Check
from benchmarks.rule_checks.rtx import Answer, ask

_NORM = """< ir_version: 10, opset_import: ["" : 21] >
g (float[1,8,4,4] x) => (float[1,8,4,4] y)
< float[8] s = {1, 1, 1, 1, 1, 1, 1, 1}, float[8] b = {0, 0, 0, 0, 0, 0, 0, 0} >
"""
_IF = """< ir_version: 8, opset_import: ["" : 17] >
g (float[2,3] x) => (float[2,3] y)
< float limit = {1}, int64 two = {2}, int64 zero = {0} >
{
  CONDITION
  y = If (c) <
    then_branch = a () => (float[2,3] p) { p = Neg (x) },
    else_branch = b () => (float[2,3] q) { q = Exp (x) }
  >
}"""


def _norm(node: str) -> Answer:
    return ask(f"{_NORM} {{ y = {node} (x, s, b) }}")


def _one_group_is_none() -> bool:
    one = _norm("GroupNormalization <num_groups = 1>")
    axes = {layer["axes"] for layer in one.layers if "axes" in layer}
    spatial_only = axes == {0b1100}
    return spatial_only and one.tactics == _norm("InstanceNormalization").tactics


def _two_groups_are_not() -> bool:
    two = _norm("GroupNormalization <num_groups = 2>")
    return two.built is True and two.tactics != _norm("InstanceNormalization").tactics


def _copied_to_the_host(condition: str) -> bool:
    answer = ask(_IF.replace("CONDITION", condition))
    assert answer.built
    return any(kernel.startswith("copy_d2h") for kernel in answer.kernels)


def _data_are_copied() -> bool:
    return _copied_to_the_host("m = ReduceMax <keepdims = 0> (x) c = Less (m, limit)")


def _sizes_are_not() -> bool:
    return not _copied_to_the_host("s = Shape (x) n = Gather (s, zero) c = Equal (n, two)")


def _small(body: str, inputs: str = "float[4] x", outputs: str = "float[4] y", stored: str = "") -> str:
    constants = f"< {stored} >" if stored else ""
    head = '< ir_version: 10, opset_import: ["" : 18] > g'
    return f"{head} ({inputs}) => ({outputs}) {constants} {{ {body} }}"


def _grouped_convolution_is_built() -> bool:
    """Return whether TensorRT-RTX builds the convolution; the rule is not about TensorRT-RTX."""
    body = "c = Cast <to = 10> (x) z = Conv <group = 4> (c, w) y = Cast <to = 1> (z)"
    shape = "float[1,8,9,9]"
    return ask(_small(body, f"{shape} x", "float[1,8,7,7] y", "float16[8,2,3,3] w = {}")).built is True


def _double_is_float() -> bool:
    """Return whether the kernel for double is the kernel for float."""
    double = ask(_small("d = Cast <to = 11> (x) e = Exp (d) y = Cast <to = 1> (e)"))
    assert double.built
    return "Datatype: Double" not in double.log and "FP64" not in double.log


def _seed_is_ignored() -> bool:
    seeded, free = (ask(_small(f"y = RandomNormalLike {seed} (x)")) for seed in ("<seed = 1.0>", ""))
    warned = seeded.says('ignores the "seed" field') and not free.says('ignores the "seed" field')
    return warned and bool(seeded.tactics) and seeded.tactics == free.tactics


def _sums_have_kernels_of_their_own() -> bool:
    """Return whether TensorRT-RTX keeps the sums apart; the rule is not about TensorRT-RTX."""
    inputs, outputs = "float[4,4] x", "float[4,4] y, float[4,4] z"
    body = "y = CumSum (x, zero) z = CumSum (x, one)"
    answer = ask(_small(body, inputs, outputs, "int64 zero = {0}, int64 one = {1}"))
    sums = [tactic for tactic in answer.tactics if "Cums" in tactic]
    return len(sums) == 2 and len(set(sums)) == 2


def _remainder_by_float(number: int, divisor: int) -> int:
    quotient = np.floor(np.float32(number) / np.float32(divisor))
    return number - int(quotient) * divisor


def _remainders_are_those_of_the_report() -> bool:
    told = {18542495: -1, 2147483647: -1, 1800000000: 0}
    return all(_remainder_by_float(number, 32) == remainder for number, remainder in told.items())


def _small_remainders_are_right() -> bool:
    numbers = np.random.default_rng(1).integers(0, 2**24, 1000).tolist()
    return all(_remainder_by_float(number, 32) == number % 32 for number in numbers)


CHECKS = [
    Check(
        "ACC109",
        "a GroupNormalization of one group gets the axes and kernel of an instance norm",
        "builder",
        _one_group_is_none,
    ),
    Check(
        "ACC109",
        "a GroupNormalization of two groups gets another kernel than an instance norm",
        "builder",
        _two_groups_are_not,
    ),
    Check("PERF120", "a condition from data is copied to the host", "builder", _data_are_copied),
    Check("PERF120", "a condition from fixed sizes is not copied to the host", "builder", _sizes_are_not),
    Check(
        "ACC111",
        "TensorRT-RTX computes CumSum of two axes with two kernels",
        "builder",
        _sums_have_kernels_of_their_own,
    ),
    Check(
        "BLD221",
        "TensorRT-RTX builds a grouped convolution between casts",
        "builder",
        _grouped_convolution_is_built,
    ),
    Check("ACC136", "float64 is computed in FP32", "builder", _double_is_float),
    Check("ACC137", "the seed of RandomNormalLike is ignored", "builder", _seed_is_ignored),
    Check(
        "ACC138",
        "division in float32 gives the remainders that a user reported",
        "numbers",
        _remainders_are_those_of_the_report,
    ),
    Check(
        "ACC138",
        "division in float32 gives correct remainders of numbers below 2^24",
        "numbers",
        _small_remainders_are_right,
    ),
]
