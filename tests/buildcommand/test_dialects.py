"""Tests of commands in scripts of Windows, in YAML files and in JSON arrays."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.buildcommand import find_commands, read_commands
from trtlint.buildcommand.dialects import array_words, continued
from trtlint.buildcommand.yamlfile import commands_in_yaml


def texts(text: str, source: str = "") -> list[str]:
    return [found.text for found in find_commands(text, source)]


class TestWindows:
    def test_powershell(self) -> None:
        text = (
            'Write-Host "`nBuilding $name"\n'
            "trtexec --onnx=models/${name}.onnx `\n"
            "    --shapes=x:1x3 `\n"
            "    --fp16\n"
            '& "C:\\Program Files\\TensorRT\\bin\\trtexec.exe" --onnx=models\\a.onnx --int8 # all\n'
        )
        assert texts(text, "build.ps1") == [
            "trtexec --onnx=... --shapes=x:1x3 --fp16",
            "trtexec --onnx=models\\a.onnx --int8",
        ]

    def test_cmd(self) -> None:
        text = (
            "set TRTEXEC=D:\\TensorRT\\bin\\trtexec.exe\n"
            "REM trtexec --onnx=old.onnx\n"
            ":: trtexec --onnx=older.onnx\n"
            "%TRTEXEC% --onnx=%~dp0a.onnx --fp16 --workspace=4096\n"
            "D:\\TensorRT\\bin\\trtexec.exe --onnx=..\\b.onnx^\n"
            "    --saveEngine=b.engine ^\n"
            "    --int8\n"
        )
        assert texts(text, "build.bat") == [
            "trtexec --onnx=... --fp16 --workspace=4096",
            "trtexec --onnx=..\\b.onnx --saveEngine=b.engine --int8",
        ]

    @pytest.mark.parametrize(
        ("source", "line"),
        [
            ("build.ps1", "& trtexec --onnx=a.onnx @flags"),
            ("build.bat", "trtexec --onnx=a.onnx %*"),
            ("build.cmd", "trtexec --onnx=a.onnx %1"),
        ],
    )
    def test_further_arguments_are_unknown(self, source: str, line: str) -> None:
        (found,) = find_commands(line, source)
        assert (found.text, found.complete) == ("trtexec --onnx=a.onnx", False)

    def test_lines_without_text_keep_their_numbers(self) -> None:
        (found,) = find_commands("\n\nrem comment\n\ntrtexec --onnx=a.onnx\n", "build.bat")
        assert found.line == 5

    @pytest.mark.parametrize(
        "line",
        [
            r"C:\TensorRT\bin\trtexec.exe --onnx=models\a.onnx",
            r'"C:\TensorRT 10\bin\trtexec.exe" --onnx=models\a.onnx',
            r".\bin\trtexec --onnx=models\a.onnx",
        ],
    )
    def test_a_pasted_line_with_a_path_of_windows(self, line: str) -> None:
        assert texts(line) == [r"trtexec --onnx=models\a.onnx"]

    def test_a_continuation_of_git_bash(self) -> None:
        assert texts("C:\\TensorRT\\bin\\trtexec.exe --onnx=a.onnx \\\n  --fp16\n") == [
            "trtexec --onnx=a.onnx --fp16"
        ]

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("trtexec --fp16 `", "trtexec --fp16 \\"),
            ("trtexec --fp16 ^  ", "trtexec --fp16 \\"),
            ("x=`trtexec --version `", "x=`trtexec --version `"),
            ("  `", "  `"),
            ("a^", "a^"),
            ("a", "a"),
        ],
    )
    def test_continuation_characters(self, line: str, expected: str) -> None:
        assert continued(line) == expected


class TestArrays:
    def test_a_dockerfile(self) -> None:
        text = 'FROM tensorrt\nCMD ["trtexec", "--onnx=/m.onnx", \\\n     "--workspace=100"]\n'
        (found,) = find_commands(text, "Dockerfile")
        assert (found.line, found.text) == (2, "trtexec --onnx=/m.onnx --workspace=100")

    @pytest.mark.parametrize(
        "line", ["[ -x trtexec ]", '["trtexec", 1]', "trtexec", '["a"]', "[[ $(trtexec) ]]", '["trtexec"']
    )
    def test_other_brackets(self, line: str) -> None:
        assert array_words(line) is None


COMPOSE = """\
services:
  first:
    command: ["trtexec", "--onnx=/m/a.onnx", "--workspace=4096"]
  second:
    command: trtexec --onnx=/m/b.onnx --fp16
  third:
    command: >
      trtexec --onnx=/m/c.onnx
      --int8
  fourth:
    args:
      - /usr/src/tensorrt/bin/trtexec
      - --onnx=/m/d.onnx
      - --best
jobs:
  build:
    steps:
      - run: |
          cd models
          trtexec --onnx=e.onnx \\
            --fp16
"""


class TestYaml:
    def test_ways_to_write_a_command(self, tmp_path: Path) -> None:
        file = tmp_path / "compose.yml"
        file.write_text(COMPOSE)
        found = read_commands(str(file))
        assert [(each.line, each.text) for each in found] == [
            (3, "trtexec --onnx=/m/a.onnx --workspace=4096"),
            (5, "trtexec --onnx=/m/b.onnx --fp16"),
            (8, "trtexec --onnx=/m/c.onnx --int8"),
            (12, "trtexec --onnx=/m/d.onnx --best"),
            (20, "trtexec --onnx=e.onnx --fp16"),
        ]

    def test_a_template_is_read_as_text(self, tmp_path: Path) -> None:
        file = tmp_path / "job.yaml"
        file.write_text("{% if gpu %}\ncommand:\n  trtexec --onnx=a.onnx --fp16\n")
        (found,) = read_commands(str(file))
        assert (found.line, found.text) == (3, "trtexec --onnx=a.onnx --fp16")

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ("command: [trtexec]\nargs: [--onnx=a.onnx, --fp16]\n", 1),
            ("args:\n  - --fp16\ncommand:\n  - trtexec\n  - --onnx=a.onnx\n", 4),
            ("entrypoint: [trtexec]\ncommand: [--onnx=a.onnx, --fp16]\n", 1),
            ("entrypoint: [bash, -c]\ncommand: [trtexec --onnx=a.onnx --fp16]\n", 2),
        ],
    )
    def test_a_container_with_its_arguments_in_a_second_list(self, text: str, line: int) -> None:
        found = commands_in_yaml(text, "", find_commands)
        assert found is not None
        assert [each.line for each in found] == [line]
        assert {option.text for option in found[0].options} == {"--onnx=a.onnx", "--fp16"}

    def test_a_node_with_aliases_is_read_once(self) -> None:
        levels = "".join(f"a{level}: &a{level} [*a{level - 1}, *a{level - 1}]\n" for level in range(1, 40))
        found = commands_in_yaml(f"a0: &a0 [x, trtexec --fp16]\n{levels}", "", find_commands)
        assert found is not None
        assert [each.line for each in found] == [1]

    def test_a_node_that_contains_itself(self) -> None:
        found = commands_in_yaml("a: &a [*a, *a, trtexec --fp16]\n", "", find_commands)
        assert found is not None
        assert len(found) == 1

    @given(st.text(max_size=200))
    def test_no_text_is_too_strange(self, text: str) -> None:
        commands_in_yaml(f"trtexec: {text}", "", find_commands)
