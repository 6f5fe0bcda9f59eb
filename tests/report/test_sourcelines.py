"""Tests of Python source lines in reports: installed packages, and paths in the current folder."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.inprocess import printed
from trtlint.model.source import Source
from trtlint.report.locations import shown_source

_USER = '  File "/home/dev/project/{path}", line {line}, in forward\n    {code}\n'
_PACKAGE = (
    '  File "/home/dev/venv/lib/python3.11/site-packages/timm/layers/attention.py", line 93, in forward\n'
    "    x = x / x.norm()\n"
)
_TORCH = (
    '  File "/home/dev/venv/lib/python3.11/site-packages/torch/nn/functional.py", line 9, in norm\n    x()\n'
)


def _model(file: Path, trace: str) -> None:
    """Write a model with a division by a root of zero, whose nodes have a stack trace."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["m"], name="mean", axes=[-1]),
        helper.make_node("Sub", ["x", "m"], ["d"], name="sub"),
        helper.make_node("Pow", ["d", "two"], ["p"], name="pow"),
        helper.make_node("ReduceMean", ["p"], ["v"], name="mean_1", axes=[-1]),
        helper.make_node("Add", ["v", "eps"], ["e"], name="add"),
        helper.make_node("Sqrt", ["e"], ["s"], name="sqrt"),
        helper.make_node("Div", ["d", "s"], ["y"], name="div"),
    ]
    for node in nodes:
        node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value=trace)
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(["", "norm", node.name]))
    shape = [1, 8, 64]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [
            helper.make_tensor("two", TensorProto.FLOAT, [], [2.0]),
            helper.make_tensor("eps", TensorProto.FLOAT, [], [1e-5]),
        ],
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8), file)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "net.py").write_text("pass\n" * 16 + "y = norm(x)\n")
    (tmp_path / "models").mkdir()
    return tmp_path


_OPTIONS = ("--trt", "10.7", "--fp16", "--isolated", "--no-cache")


def test_a_line_of_a_library_and_the_line_that_called_it(project: Path) -> None:
    user = _USER.format(path="net.py", line=17, code="y = norm(x)")
    _model(project / "models" / "m.onnx", user + _PACKAGE + _TORCH)
    out = printed(project / "models", "m.onnx", *_OPTIONS).out
    assert "exported from timm/layers/attention.py:93 in forward (timm), called from ../net.py:17\n" in out


def test_a_line_of_a_library_without_own_code(project: Path) -> None:
    _model(project / "models" / "m.onnx", _PACKAGE + _TORCH)
    out = printed(project, "models/m.onnx", *_OPTIONS).out
    assert "exported from timm/layers/attention.py:93 in forward (timm)\n" in out
    assert "dynamo=True" not in out


def test_the_own_line_alone_where_it_is_the_nearest(project: Path) -> None:
    _model(
        project / "models" / "m.onnx",
        _PACKAGE + _USER.format(path="net.py", line=17, code="y = norm(x)") + _TORCH,
    )
    assert "exported from net.py:17 in forward\n" in printed(project, "models/m.onnx", *_OPTIONS).out


def test_concise_begins_with_the_line_of_code(project: Path) -> None:
    _model(project / "models" / "m.onnx", _USER.format(path="net.py", line=17, code="y = norm(x)"))
    out = printed(project / "models", "m.onnx", *_OPTIONS, "--format", "concise").out
    assert out.startswith("../net.py:17: warning[ACC101] ")
    assert "(m.onnx, norm)" in out.splitlines()[0]


def test_concise_names_the_module_where_no_line_is_known(project: Path) -> None:
    _model(project / "models" / "m.onnx", "")
    out = printed(project, "models/m.onnx", *_OPTIONS, "--format", "concise").out
    assert out.startswith("models/m.onnx: norm: warning[ACC101] ")


def test_a_line_outside_of_the_repository_keeps_its_path(tmp_path: Path) -> None:
    assert shown_source(Source("net/a.py", 3, "f"), tmp_path) == "net/a.py:3 in f"
