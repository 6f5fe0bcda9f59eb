"""Ranges of inputs and operators are read from the syntax of a script."""

from __future__ import annotations

import pytest

from trtlint.torch_tensorrt.calls import script_in
from trtlint.torch_tensorrt.marks import ScriptMark

HEAD = "import torch, torch_tensorrt\nimport torch.nn.functional as F\n"
NET = "class Net(torch.nn.Module):\n    def forward(self, x, *more, **words):\n        return {}\n"
CALL = "torch_tensorrt.compile(Net(), ir='dynamo', inputs=[x])\n"


def marks(text: str) -> list[ScriptMark]:
    return list(script_in(HEAD + text, "s.py")[2])


def test_a_range_has_three_shapes() -> None:
    (mark,) = marks(
        "size = 8\n"
        "x = torch_tensorrt.Input(min_shape=(1, 3), opt_shape=[2, 3], max_shape=(size, 3))\n"
        "y = torch_tensorrt.Input(shape=(1, 3))\n"
    )
    assert (mark.kind, mark.shapes, mark.line) == ("range", ((1, 3), (2, 3), (8, 3)), 4)


def test_an_unknown_shape_is_empty() -> None:
    (mark,) = marks("x = torch_tensorrt.Input(min_shape=(1, n), opt_shape=s, max_shape=(8, 3))\n")
    assert mark.shapes == ((), (), (8, 3))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("torch.export.export(m, (x,))", "export"),
        ("torch.export.load('p.pt2')", "export"),
        ("torch_tensorrt.dynamo.trace(m, [x])", "trace"),
    ],
)
def test_other_calls_have_a_kind(text: str, kind: str) -> None:
    (mark,) = marks(text + "\n")
    assert mark.kind == kind


@pytest.mark.parametrize(
    ("expression", "name", "arguments"),
    [
        ("torch.sort(x)", "torch.sort", {"0": ()}),
        ("F.grid_sample(x, x, mode='nearest')", "torch.nn.functional.grid_sample", {"mode": "nearest"}),
        ("x.index_copy_(2, x, x)", ".index_copy_", {"0": 2}),
        ("torch.full_like(x, -1, dtype=torch.bool)", "torch.full_like", {"1": -1, "dtype": "torch.bool"}),
    ],
)
def test_an_operator_has_its_constants(expression: str, name: str, arguments: dict[str, object]) -> None:
    (mark,) = [each for each in marks(NET.format(expression) + CALL) if each.kind == "operator"]
    assert mark.name == name
    assert arguments.items() <= mark.arguments.items()


@pytest.mark.parametrize("expression", ["torch.sort(*more)", "torch.sort(x, **words)", "more[0](x)"])
def test_an_uncertain_call_is_no_operator(expression: str) -> None:
    assert [each for each in marks(NET.format(expression) + CALL) if each.kind == "operator"] == []


def test_without_a_compiler_call_there_are_no_operators() -> None:
    assert marks(NET.format("torch.sort(x)")) == []
