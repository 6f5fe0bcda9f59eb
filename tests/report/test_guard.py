"""Tests that no output line is a command to a CI system, for any model or file name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tests.conftest import REPOSITORY
from tests.inprocess import printed
from trtlint.report.formats import OVERLAYS, TEXTS
from trtlint.report.guard import harmless

COMMAND = re.compile(r"^\s*::|##\[|##vso\[|##teamcity\[", re.MULTILINE | re.IGNORECASE)
HIDDEN = ("\u034f", "\u00ad", "\u200b", "\ufe0f", "\u115f", "\U000e0101")
NAMES = (
    "##[stop-commands]x",
    "x ##[error]y ##vso[task.complete]z ##teamcity[message]",
    "::error::x",
    "\u034f:\ufe0f:error::x",
    f"{'w' * 70} ::set-output name=a::b",
    f"{'w' * 200}::stop-commands::abc",
    *(f"#{hidden}#{hidden}[stop-commands]x ##v{hidden}so[task.complete]" for hidden in HIDDEN),
)


def seen(text: str) -> str:
    """Return a text without characters that a culture-aware comparison can skip."""
    return re.sub(r"[^\n\x20-\x7e]", "", text)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a folder with models that have findings and hostile names, and a file named like a command."""
    chain = [
        onnx.helper.make_node("Relu", [f"v{number}"], [f"v{number + 1}"], name=f"{name}/{number}")
        for number, name in enumerate(NAMES)
    ]
    ends = [
        onnx.helper.make_tensor_value_info(f"v{number}", onnx.TensorProto.FLOAT, [4])
        for number in (0, len(NAMES))
    ]
    graph = onnx.helper.make_graph(chain, "##[group]g", ends[:1], ends[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    for name in FILES:
        if "broken" in name:
            (tmp_path / name).write_bytes(b"\x00")
        else:
            onnx.save(model, tmp_path / name)
    house = tmp_path / "house"
    house.mkdir()
    (house / "XYZ901-house-relu.md").write_text(
        "---\nid: XYZ901\nname: house-relu\nseverity: error\nsince: 0.1.0\nevidence: documented\n"
        'find: node\nwhere: op == "Relu"\nmark: [node]\nmessage: "a Relu is here"\n'
        'advice:\n  - do: "Take it out."\nreferences:\n  - https://example.org/x\n---\n'
    )
    return tmp_path


def lint(folder: Path, *arguments: str) -> str:
    found = printed(folder, *arguments)
    assert "a bug in trtlint" not in found.err
    return found.err + found.out


FILES = (
    "::error::x.onnx",
    "##[stop-commands]y.onnx",
    "::warning::broken.onnx",
    "\u034f::error::z.onnx",
    "\r::error::r.onnx",
)


@pytest.mark.slow
@pytest.mark.parametrize("format", TEXTS)
def test_no_format_prints_a_command_of_a_model(hostile: Path, format: str) -> None:
    arguments = ("--rules", "house", "--select", "XYZ901", "--isolated", "--format", format)
    files = FILES[1:2] if format in OVERLAYS else FILES
    out = lint(hostile, *files, *arguments, "--output", f"{format}:file.json")
    for text in (out, (hostile / "file.json").read_text("utf-8")):
        assert "XYZ901" in text
        found = seen(text)
        if format == "github":
            assert all(re.match(r"::(?:error|warning|notice) file=", line) for line in found.splitlines())
            found = found.replace("\n::", "\n").removeprefix("::")
        assert not COMMAND.search(found), COMMAND.search(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("facts", "##[stop-commands]y.onnx", "--kind", "node"),
        ("facts", "::error::x.onnx", "--kind", "node", "--format", "json"),
        ("upgrade", *FILES, "--from", "8.6", "--to", "10.8"),
        ("lint", *FILES, "--isolated", "--show-settings"),
        ("lint", "::missing::z.onnx", "--isolated"),
        ("suppress", "::error::x.onnx", "ACC102", "--reason", "r", "-o", "::notice::copy.onnx"),
    ],
)
def test_no_command_prints_one_either(hostile: Path, arguments: tuple[str, ...]) -> None:
    out = lint(hostile, *arguments)
    assert out
    assert not COMMAND.search(seen(out)), out


@pytest.mark.parametrize(
    "text",
    [
        "##[x]",
        "a##vSo[x]",
        "#\u00ad#\u034f[x]",
        "::x",
        "  \u200b:\u200b:x",
        "\x1b[0m::x",
        "a\r::x",
        "a\n \t::x",
        "\x01::x",
        "é#\x02#t\u034feamcity[x",
    ],
)
def test_what_may_count_as_a_command_is_none(text: str) -> None:
    assert harmless(f"{text}\n") != f"{text}\n"
    assert not COMMAND.search(seen(harmless(text).replace("\r", "\n")))


@pytest.mark.parametrize("text", ["#[x]", "a ## b", "a::b", "# é #", "x: :", "##vso", "éa::b"])
def test_other_texts_stay(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.slow
def test_json_holds_the_names_as_they_are(hostile: Path) -> None:
    out = lint(
        hostile, "##[stop-commands]y.onnx", "--rules", "house", "--select", "XYZ901", "--format", "json"
    )
    (model,) = json.loads(out)["models"]
    assert model["path"] == "##[stop-commands]y.onnx"


@pytest.mark.skipif(os.name == "nt", reason="a pipe of POSIX")
@pytest.mark.parametrize("word", ["--version", "--help", "-h"])
def test_a_closed_pipe_is_no_word_worth(word: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "trtlint", word],
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        check=False,
    )
    os.close(writer)
    assert (done.stderr, done.returncode) == (b"", 141)
