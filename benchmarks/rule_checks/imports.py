"""What the parser makes of operators: other numbers or another operator than ONNX means."""

from __future__ import annotations

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


CHECKS = [
    Check("ACC109", "one group gives the axes and kernel of instance norm", "builder", _one_group_is_none),
    Check("ACC109", "two groups have not", "builder", _two_groups_are_not),
    Check("PERF120", "a condition from data is copied to the host", "builder", _data_are_copied),
    Check("PERF120", "one from sizes in the file is not", "builder", _sizes_are_not),
]  # fmt: skip
