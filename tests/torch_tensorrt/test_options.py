"""Tests of call options as dry-run data, and of their builder flags."""

from __future__ import annotations

import json

import pytest

from trtlint.knowledge.torchreleases import torch_release
from trtlint.target.target import Target
from trtlint.torch_tensorrt.calls import script_in
from trtlint.torch_tensorrt.options import builder_flags, for_release, options_of, run_options


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("enabled_precisions={torch.float16, torch.float32}",
         {"enabled_precisions": {"set": [{"dtype": "float16"}, {"dtype": "float32"}]}}),
        ("enabled_precisions={torch_tensorrt.dtype.half}",
         {"enabled_precisions": {"set": [{"dtype": "float16"}]}}),
        ("torch_executed_ops={'torch.ops.aten.add.Tensor'}",
         {"torch_executed_ops": {"set": ["torch.ops.aten.add.Tensor"]}}),
        ("torch_executed_ops=[torch.ops.aten.mul.Tensor]",
         {"torch_executed_ops": {"set": ["torch.ops.aten.mul.Tensor"]}}),
        ("autocast_low_precision_type=torch.bfloat16",
         {"autocast_low_precision_type": {"dtype": "bfloat16"}}),
        ("min_block_size=1, ir='dynamo', inputs=x, device=d", {"min_block_size": 1}),
    ],
)  # fmt: skip
def test_values_of_a_call_reach_the_program(text: str, values: object) -> None:
    found = options_of(script_in(f"torch_tensorrt.compile(m, {text})")[0])
    ordered = json.loads(json.dumps(dict(found.values)), object_hook=sort_sets)
    assert (ordered, found.dropped) == (values, ())


def sort_sets(data: dict[str, object]) -> dict[str, object]:
    """Sort the items of sets, because scripts can list them in any order."""
    return {key: sorted(each, key=str) if isinstance(each, list) else each for key, each in data.items()}


def test_values_that_are_not_known_are_named() -> None:
    found = options_of(script_in("torch_tensorrt.compile(m, workspace_size=SIZE, min_block_size=2)")[0])
    assert (dict(found.values), found.dropped) == ({"min_block_size": 2}, ("workspace_size",))


def test_sets_of_the_python_interface() -> None:
    class HalfType:
        def __str__(self) -> str:
            return "torch.float16"

    found = run_options({"enabled_precisions": {HalfType()}, "debug": object()})
    assert json.dumps(found.values) == '{"enabled_precisions": {"set": [{"dtype": "float16"}]}}'
    assert found.dropped == ("debug",)


@pytest.mark.parametrize(
    ("release", "call", "flags"),
    [
        ("2.9", "", {"fp16": False, "bf16": False}),
        ("2.9", "enabled_precisions={torch.half}", {"fp16": True, "bf16": False}),
        ("2.9", "use_explicit_typing=True", {"strongly-typed": True}),
        ("2.10", "", {"strongly-typed": True}),
        ("2.10", "use_explicit_typing=False", {"fp16": False, "bf16": False}),
        ("2.13", "enabled_precisions={torch.half}", {"strongly-typed": True}),
        ("2.13", "disable_tf32=True", {"strongly-typed": True, "tf32": False}),
    ],
)
def test_builder_flags_of_a_release(release: str, call: str, flags: object) -> None:
    options = options_of(script_in(f"torch_tensorrt.compile(m, {call})")[0])
    assert builder_flags(torch_release(release), options.values) == flags


def test_flags_of_the_user_take_precedence() -> None:
    release = torch_release("2.9")
    (target,) = for_release((Target(asked=frozenset({"fp16"})),), release, {})
    assert (target.version, target.fp16, target.bf16) == (release.tensorrt, True, False)
    (script,) = for_release((Target(),), release)
    assert script.fp16 is None
