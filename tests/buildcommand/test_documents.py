"""Tests of commands in Markdown, reStructuredText and Jupyter notebooks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.buildcommand import CommandError, read_commands
from trtlint.buildcommand.dialects import DOCUMENTS
from trtlint.buildcommand.documents import commands_in_document
from trtlint.files.limits import limit_work

CALL = "trtexec --onnx=a.onnx --fp16"


def read(tmp_path: Path, text: str, name: str = "README.md") -> list[tuple[int, str]]:
    """Return the line and the text of each command in a document."""
    path = tmp_path / name
    path.write_text(text)
    try:
        return [(each.line, each.text) for each in read_commands(str(path))]
    except CommandError:
        return []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"```\n{CALL}\n```\n", 2),
        (f"~~~sh\n{CALL}\n~~~\n", 2),
        ("```bash\ntrtexec --onnx=a.onnx \\\n  --fp16\n```\n", 2),
        (f"```{{.bash}}\n$ {CALL}\n```\n", 2),
        (f"1. Build:\n   ```console\n   $ {CALL}\n   ```\n", 3),
        (f"> ```\n> {CALL}\n> ```\n", 2),
        (f"```bash\n{CALL}\n", 2),
        # An apostrophe in prose opens no quotation.
        # https://github.com/triton-inference-server/tutorials/blob/main/Conceptual_Guide/Part_4-inference_acceleration/README.md
        (f"Let's start.\n\n```\n{CALL}\n```\n\nIt's done.\n", 4),
        (f"```\necho don't\n```\n```\n{CALL} # don't\n```\n", 5),
        # https://github.com/hiennguyen9874/triton-face-recognition/blob/main/README.md
        (f"-   Export: `docker-compose run --rm triton {CALL}`\n", 1),
        (f"    - Export: ``{CALL}``\n", 1),
        (f"<pre><code>{CALL}</code></pre>\n", 1),
        (f"Run:\n\n    {CALL}\n", 3),
        (f"Run:\n\n\tdocker run image {CALL}\n", 3),
        (f"{CALL}\n", 1),
        ("$ trtexec --onnx=a.onnx \\\n  --fp16\n", 1),
        (f"| model | command |\n|---|---|\n| a | {CALL} |\n", 3),
        (f"```python\nimport os\nos.system('{CALL}')\n```\n", 3),
        (f"```yaml\nsteps:\n- run: {CALL}\n```\n", 3),
        (f"1. Build:\n   ```python\n   import os\n   os.system('{CALL}')\n   ```\n", 4),
        (f'```cpp\nint x;\nsystem("{CALL}");\n```\n', 3),
    ],
)
def test_code_in_markdown(tmp_path: Path, text: str, line: int) -> None:
    assert read(tmp_path, text) == [(line, CALL)]


@pytest.mark.parametrize(
    "text",
    [
        "Convert the model with trtexec --fp16 and --int8.\n",
        "Run `trtexec --help`, and look for --fp16.\n",
        "Use `--fp16` of trtexec.\n",
        "- trtexec is a tool.\n",
        "",
    ],
)
def test_prose_in_markdown(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == []


def test_providers_in_a_code_block(tmp_path: Path) -> None:
    text = "```python\nS(m, providers=[('TensorrtExecutionProvider', {'trt_fp16_enable': 1})])\n```\n"
    assert read(tmp_path, text) == [(2, "onnxruntime provider=tensorrt trt_fp16_enable=1")]


def test_restructured_text(tmp_path: Path) -> None:
    text = f"It's here:\n\n.. code-block:: bash\n\n   {CALL}\n\nIt's there: ``trtexec --onnx=b.onnx``\n"
    assert read(tmp_path, text, "index.rst") == [(5, CALL), (7, "trtexec --onnx=b.onnx")]


def notebook(*cells: str, kind: str = "code") -> str:
    listed = [{"cell_type": kind, "source": each.splitlines(keepends=True)} for each in cells]
    return json.dumps({"cells": listed}, indent=1)


@pytest.mark.parametrize(
    "cell",
    [
        f"!{CALL}",
        "!trtexec --onnx=a.onnx \\\n  --fp16\nprint(1)",
        f"x = 1\nif fp16:\n    !{CALL}\nelse:\n    print(1)",
        f"%%bash\n{CALL}",
        f"lines = !{CALL}",
        f"import os\nos.system('{CALL}')",
        f"%matplotlib inline\n!pip install 'a'\nos.system('{CALL}')",
    ],
)
def test_cells_of_a_notebook(tmp_path: Path, cell: str) -> None:
    (found,) = read(tmp_path, notebook("y = 2", cell), "a.ipynb")
    lines = (tmp_path / "a.ipynb").read_text().splitlines()
    assert found[1] == CALL
    assert "trtexec" in lines[found[0] - 1]


def test_lines_of_equal_cells(tmp_path: Path) -> None:
    """Equal lines, and the key "source" in an output, do not change the numbers of lines."""
    cell = {
        "cell_type": "code",
        "outputs": [{"data": {"source": "x" * 20_000}}],
        "source": ["\n", f"!{CALL}\n", "é\n", f"!{CALL}"],
    }
    text = json.dumps({"cells": [cell, cell]}, indent=1, ensure_ascii=False)
    numbers = [number for number, line in enumerate(text.splitlines(), 1) if CALL in line]
    assert read(tmp_path, text, "a.ipynb") == [(number, CALL) for number in numbers]


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ('{"cells":[' + "{}," * 200_000 + "{}]}", ".ipynb"),
        ("```" + " " * 200_000 + "`", ".md"),
        ("```" + "a" * 200_000 + "`", ".md"),
        ("~" * 200_000 + "`", ".md"),
    ],
    ids=["cells", "spaces", "letters", "tildes"],
)
def test_long_documents_take_linear_time(text: str, suffix: str) -> None:
    with limit_work(Path("a")):
        assert commands_in_document(text, "", suffix, lambda *_: ()) == ()


def test_a_cell_of_a_notebook_as_one_text(tmp_path: Path) -> None:
    text = json.dumps({"cells": [{"cell_type": "code", "source": f"# é\n!{CALL}"}]})
    assert read(tmp_path, text, "a.ipynb") == [(1, CALL)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"cells": 1}',
        '{"cells": [1, {"cell_type": "code"}]}',
        notebook(CALL, kind="markdown"),
    ],
)
def test_notebooks_without_commands(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text, "a.ipynb") == []


@given(text=st.text("`~-> |$\n\tatrexc=\\'<code>/", max_size=200), suffix=st.sampled_from(sorted(DOCUMENTS)))
def test_no_document_is_too_strange(text: str, suffix: str) -> None:
    assert commands_in_document(text, "", suffix, lambda *_: ()) == ()
