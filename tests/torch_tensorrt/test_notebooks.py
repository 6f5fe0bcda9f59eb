"""Tests of calls of Torch-TensorRT in Jupyter notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trtlint import lint
from trtlint.buildcommand.documents import python_of_notebook
from trtlint.torch_tensorrt.calls import read_script

CELLS = (
    ("markdown", "# torch_tensorrt.compile(m, debug=True)"),
    ("code", "!pip install torch-tensorrt\n%matplotlib inline\nimport torch_tensorrt"),
    ("markdown", "It's here."),
    ("code", "torch_tensorrt.compile?"),
    ("code", "%%bash\npip list"),
    ("code", "m = torch_tensorrt.compile(\n    n, ir='dynamo', inputs=[x], enabled_precision={1},\n)"),
)


def notebook(indent: int | None) -> str:
    cells = [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in CELLS]
    return json.dumps({"cells": cells}, indent=indent)


def test_the_calls_of_a_notebook(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(notebook(1))
    (call,), _, _ = read_script(path)
    line = next(n for n, each in enumerate(notebook(1).splitlines(), 1) if "m = torch" in each)
    assert call.line == line
    (model,) = lint(path, torch_tensorrt="2.9", isolated=True).models
    assert [each.rule for each in model.findings] == ["TTR105"]


@pytest.mark.parametrize(
    "line",
    [
        "files = !ls",
        "found, = %who_ls",
        "!echo a \\\n  b",
        "if x:\n    !echo a \\\n  b",
        "print('%s'\n  % x)",
    ],
)
def test_lines_for_a_shell_do_not_hide_a_cell(line: str) -> None:
    cell = {"cell_type": "code", "source": f"{line}\nimport torch_tensorrt".splitlines(keepends=True)}
    assert "import torch_tensorrt" in python_of_notebook(json.dumps({"cells": [cell]}, indent=1))


def test_a_notebook_in_one_line() -> None:
    lines = [each for each in python_of_notebook(notebook(None)).splitlines() if each not in ("", "pass")]
    assert lines == ["import torch_tensorrt", *CELLS[-1][1].splitlines()]


def test_text_that_is_no_notebook() -> None:
    assert [python_of_notebook(text) for text in ("", "[]", "import torch")] == ["", "", ""]


@pytest.mark.parametrize(("size", "read"), [(3 << 20, True), (16 << 20, False)])
def test_pictures_may_be_larger_than_a_script(size: int, read: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    document = json.loads(notebook(None))
    document["cells"][1]["outputs"] = [{"data": {"image/png": "A" * size}}]
    path.write_text(json.dumps(document))
    (model,) = lint(path, torch_tensorrt="2.9", isolated=True).models
    assert [each.rule for each in model.findings] == (["TTR105"] if read else [])
    assert [each.message for each in model.errors] == (
        [] if read else ["longer than 16 MiB, the limit for this kind of file"]
    )
