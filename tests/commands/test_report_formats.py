"""Tests that every reporting command writes every format with the same options."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import click
import numpy as np
import onnx
import pytest
from markdown_it import MarkdownIt

from tests.conftest import REPOSITORY
from tests.inprocess import printed
from tests.measurement.test_measuring import NORM
from trtlint.cli import cli
from trtlint.commands.reportoptions import ResultOption
from trtlint.report.formats import REPORTS

SCRIPT = """\
import torch_tensorrt
torch_tensorrt.compile(net, inputs=[x], ir="dynamo", debug=True)
"""
DENSE = """< ir_version: 8, opset_import: ["" : 17] >
dense (float[2,4] x) => (float[2,4] y)
<float[4,4] w = {1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,11.0,12.0,13.0,14.0,15.0,16.0}>
{ y = MatMul(x, w) }"""
ROW = {
    "model": "m.onnx",
    "revision": "",
    "target": "TensorRT 10.8",
    "status": "found",
    "rule": "ACC101",
    "name": "norm",
    "severity": "warning",
    "confidence": "high",
    "places": 1,
    "message": "m",
}
COMMANDS: dict[str, tuple[Sequence[str], str]] = {
    "lint": (("norm.onnx", "--trt", "10.7", "--fp16", "--isolated"), "norm.onnx"),
    "upgrade": (("upgrade", "norm.onnx", "--from", "8.6", "--to", "10.7", "--isolated"), "8.6"),
    "upgrade of Torch-TensorRT": (("upgrade", "build.py", "--from", "2.7", "--isolated"), "TTR106"),
    "fix": (
        ("fix", "vit.onnx", "--trt", "10.7", "--isolated", "--select", "ACC102", "--dry-run", "--diff"),
        "scale-on-query",
    ),
    "measure": (("measure", "norm.onnx", "--inputs", "x.npz"), "norm.onnx"),
    "convert": (
        ("convert", "dense.onnx", "--to", "fp16", "--no-measure", "--dry-run", "--diff"),
        "dense.onnx",
    ),
    "trend": (("trend", "a.jsonl", "b.jsonl"), "ACC101"),
    "facts": (("facts", "norm.onnx"), "Pow"),
    "rules": (("rules", "ACC101"), "ACC101"),
    "statistics of rules": (("rules", "--statistics"), "ground"),
}
"""The words of each command, and a word in each of its reports."""
_VOID = {"meta", "input", "br", "hr", "wbr", "link"}


class Tags(HTMLParser):
    """Page parser that requires closed elements."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the inputs of all commands."""
    path = tmp_path_factory.mktemp("reports")
    onnx.save(onnx.parser.parse_model(NORM), path / "norm.onnx")
    onnx.save(onnx.parser.parse_model(DENSE), path / "dense.onnx")
    (path / "vit.onnx").write_bytes((REPOSITORY / "examples" / "vit.onnx").read_bytes())
    numbers = np.random.default_rng(0).standard_normal((2, 16, 64)).astype(np.float32)
    np.savez(path / "x.npz", x=numbers)
    (path / "build.py").write_text(SCRIPT)
    for name, row in (("a", {**ROW, "fingerprint": "1"}), ("b", {**ROW, "fingerprint": "2"})):
        (path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    return path


def check(format: str, text: str) -> None:
    """Parse a report."""
    assert "\x1b" not in text
    if format == "json":
        assert json.loads(text)
    elif format == "markdown":
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        assert tokens[0].type == "heading_open"
        raw = [token.content for token in tokens if token.type == "html_block"]
        # Only the report of lint folds its details.
        assert not [words for words in raw if not re.match(r"</?details>", words)]
        for line in text.splitlines():
            assert not line.startswith("|") or line.endswith("|")
    elif format == "html":
        tags = Tags()
        tags.feed(text)
        assert tags.open == []
        assert {"html", "h1", "main"} <= tags.seen
        assert "script" not in tags.seen
    else:
        assert text.endswith("\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_writes_every_format(name: str, folder: Path) -> None:
    words, expected = COMMANDS[name]
    if name in ("measure", "convert"):
        pytest.importorskip("onnxruntime")
    files = {format: f"{name.replace(' ', '-')}.{format}" for format in REPORTS}
    outputs = [word for format, file in files.items() for word in ("--output", f"{format}:{file}")]
    done = printed(folder, *words, *outputs)
    assert done.code in (0, 1), done.err
    for format, file in files.items():
        text = (folder / file).read_text(encoding="utf-8")
        check(format, text)
        assert expected in text.replace("&#45;", "-"), format
    assert done.out == (folder / files["text"]).read_text(encoding="utf-8")


@pytest.mark.parametrize("format", REPORTS)
@pytest.mark.parametrize("name", ["lint", "trend", "rules"])
def test_a_command_prints_every_format(name: str, format: str, folder: Path) -> None:
    words, expected = COMMANDS[name]
    done = printed(folder, *words, "--format", format)
    assert done.code in (0, 1), done.err
    check(format, done.out)
    assert expected in done.out


def test_every_command_with_a_report_has_both_options() -> None:
    for name in dict.fromkeys(words[0] for words, _ in COMMANDS.values() if words[0] in cli.commands):
        params = {param.name: param for param in cli.commands[name].params}
        assert params["format_"].type.choices == REPORTS, name  # type: ignore[attr-defined]
        assert params["outputs"].opts == ["--output"], name


def test_every_command_that_makes_a_file_names_it_with_o() -> None:
    for name in ("fix", "measure", "convert", "suppress", "skeleton", "init"):
        (made,) = [param for param in cli.commands[name].params if param.name == "output"]
        assert isinstance(made, click.Option)
        assert made.opts[0] == "-o", name
        assert made.opts == ["-o"] or isinstance(made, ResultOption), name


def test_old_spellings_work_and_are_not_shown(folder: Path) -> None:
    words = ("fix", "vit.onnx", "--trt", "10.7", "--isolated", "--select", "ACC102")
    assert printed(folder, *words, "--output", "old.onnx", "--html", "old.html").code == 0
    assert (folder / "old.onnx").exists()
    check("html", (folder / "old.html").read_text(encoding="utf-8"))
    assert "--html" not in printed(folder, "fix", "--help").out
    assert "--output" not in printed(folder, "skeleton", "--help").out
    assert printed(folder, "skeleton", "norm.onnx", "--output", "s.onnx").code == 0


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (("-o", "a.onnx", "--output", "b.onnx"), "-o is given twice"),
        (("--output", "htlm:a.html"), "unknown format 'htlm'; did you mean 'html'?"),
        (("--output", "html:a.onnx", "-o", "a.onnx"), "2 outputs would be written to this file"),
        (("--output", "json", "--output", "html"), "two outputs go to standard output"),
        (("--output", "html:no/a.html"), "there is no folder no"),
        (("--output", "html:vit.onnx"), "is read in this run"),
    ],
)
def test_an_output_that_cannot_be_used_is_refused(
    outputs: tuple[str, ...], message: str, folder: Path
) -> None:
    done = printed(folder, "fix", "vit.onnx", "--trt", "10.7", "--isolated", *outputs)
    assert done.code == 2
    assert message in done.err
    assert not (folder / "a.onnx").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("norm.onnx", "-o", "a.html"), "trtlint lint writes only reports; use --output FORMAT:FILE"),
        (("upgrade", "norm.onnx", "--from", "8.6", "-o", "a.html"), "trtlint upgrade writes only reports"),
        (("norm.onnx", "--output", "a.html"), "write html:a.html"),
        (("fix", "norm.onnx", "--output", "a.html"), "write html:a.html"),
        (("trend", "a.jsonl", "b.jsonl", "--output", "a.md"), "write markdown:a.md"),
    ],
)
def test_a_report_without_a_format_is_refused_with_the_spelling(
    words: tuple[str, ...], message: str, folder: Path
) -> None:
    done = printed(folder, *words)
    assert done.code == 2
    assert message in done.err
    assert not (folder / words[-1]).exists()
