"""Tests of ranges of inputs and operators from the syntax of a script."""

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


@pytest.mark.parametrize(("count", "found"), [(500, 500), (501, 500)])
def test_at_most_500_operators(count: int, found: int) -> None:
    body = "x.a()\n        " * count
    assert [each.kind for each in marks(NET.format(body) + CALL)] == ["operator"] * found


def test_an_operator_has_all_its_parts() -> None:
    text = (
        "class Other:\n    def forward(self):\n        return torch.sort()\n"
        + NET.format("[torch.a(1, y, -2, -'b', -0.5, +3, ~4, None, F.c, key=True), x.d(k=F), e(f)]")
        + CALL
    )
    arguments = {
        "0": 1, "1": (), "2": -2, "3": (), "4": -0.5, "5": (), "6": (), "7": None,
        "8": "torch.nn.functional.c", "key": True,
    }  # fmt: skip
    assert marks(text) == [
        ScriptMark("operator", "torch.a", 8, arguments=arguments, source="s.py"),
        ScriptMark("operator", ".d", 8, arguments={"k": "torch.nn.functional"}, source="s.py"),
    ]


@pytest.mark.parametrize("left", ["min_shape", "opt_shape", "max_shape"])
def test_a_part_of_a_range_is_no_range(left: str) -> None:
    shapes = {"min_shape": "(1,)", "opt_shape": "(2,)", "max_shape": "(3.5,)"}
    text = "torch_tensorrt.{}({}, **more)\n"
    words = ", ".join(f"{name}={shape}" for name, shape in shapes.items())
    assert marks(text.format("_Input.Input", words)) == [
        ScriptMark("range", "torch_tensorrt.Input", 3, ((1,), (2,), ()), source="s.py")
    ]
    del shapes[left]
    words = ", ".join(f"{name}={shape}" for name, shape in shapes.items())
    assert marks(text.format("Input", words)) == []


def test_marks_in_order_of_their_lines() -> None:
    found = marks(f"{NET.format('x.a()')}torch.export.load('p')\n{CALL}")
    assert [(each.kind, each.name, each.line) for each in found] == [
        ("operator", ".a", 5), ("export", "torch.export.load", 6),
    ]  # fmt: skip
