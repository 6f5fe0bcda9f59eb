"""Tests of log rules in the output of other programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.inprocess import printed
from tests.sampling import sample
from trtlint.engine.rulebook import builtin_rules

_BLOCK = re.compile(r"^```log[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CUT = "LOG125"
"""Rule about a log that ends early. Such a log has no line of another program after its last line."""


def examples() -> Iterator[str]:
    """Yield the logs in the rules' pages for which the rules fire."""
    for path in sorted(builtin_rules().glob("*/LOG*.md")):
        if not path.name.startswith(_CUT):
            yield from _BLOCK.findall(path.read_text("utf-8").partition("\n## Stays silent")[0])


def found(folder: Path, text: str) -> list[str]:
    """Return the rules that fire for a log."""
    (folder / "build.log").write_text(text, "utf-8")
    out = printed(folder, "--isolated", "--no-cache", "--format", "json", "--log", "build.log").out
    return [each["rule"] for each in json.loads(out)["models"][0]["findings"]]


def followed(text: str) -> str:
    return f"{text}GET /health 200 OK 3ms\nGET /health 200 OK 3ms\n"


def of_gh(text: str) -> str:
    """Return a log as ``gh run view --log`` prints it."""
    return "".join(f"build\tBuild\t2026-05-01T10:00:00.1234567Z {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("change", [followed, of_gh])
def test_rules_fire_in_the_output_of_other_programs(tmp_path: Path, change: Callable[[str], str]) -> None:
    for text in sample(list(examples()), one_of=4):
        assert found(tmp_path, change(text)) == found(tmp_path, text), text


@pytest.mark.parametrize("lines", [1, 3])
def test_a_line_inside_a_message_of_the_parser(tmp_path: Path, lines: int) -> None:
    """The parser prints its reason on a line of its own: https://github.com/NVIDIA/TensorRT/issues/4738."""
    text = "[TRT] [E] ModelImporter.cpp:149: ERROR: onnxOpImporters.cpp:191 In function importAttention:\n"
    text += "web-1  | GET /health 200 OK\n" * lines
    text += "[6] Assertion failed: node.output().size() == 1: TensorRT only supports one output.\n"
    (tmp_path / "build.log").write_text(text, "utf-8")
    out = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "--log", "build.log").out
    (finding,) = json.loads(out)["models"][0]["findings"]
    assert finding["message"].startswith("the parser stopped: Assertion failed: node.output()")
