"""Tests of build commands: their parts and properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.buildcommand import find_commands
from trtlint.buildcommand.command import BuildCommand, Option, ServerConfiguration, Tool, command, tool_of
from trtlint.buildcommand.scan import commands_for, read_commands


@pytest.mark.parametrize(
    ("arguments", "options", "words", "complete", "text"),
    [
        ([], (), (), True, "trtexec"),
        (["--a=1=2"], (Option("--a", "1=2"),), (), True, "trtexec --a=1=2"),
        (["--a="], (Option("--a", ""),), (), True, "trtexec --a="),
        (["-h", "x=1", "y"], (Option("-h"),), ("x=1", "y"), True, "trtexec -h x=1 y"),
        (["--a=$B", "c"], (Option("--a", None, known=False),), ("c",), True, "trtexec --a=... c"),
        (["$B", "c", "--a"], (Option("--a"),), ("c",), False, "trtexec --a c"),
        (["--$B=1", "--a=%C%"], (Option("--a", None, known=False),), (), False, "trtexec --a=..."),
        (["--a=100%"], (Option("--a", "100%"),), (), True, "trtexec --a=100%"),
    ],
)
def test_arguments(
    arguments: list[str], options: tuple[Option, ...], words: tuple[str, ...], complete: bool, text: str
) -> None:
    assert command(arguments, "trtexec", source="b.sh", line=3) == BuildCommand(
        "trtexec", options, words, complete, "b.sh", 3, text
    )


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("trtexec", "trtexec"), ("TRTEXEC.EXE", "trtexec"), ("trt_exec", "trtexec"), ("$trtexec", "trtexec"),
        ("$(TRTEXEC)", "trtexec"), ("${TRTEXEC}", "trtexec"), ("a/b/trtexec", "trtexec"),
        ("$TRTEXEC_BIN", "trtexec"), ("${trtexec_path}", "trtexec"), ("%TRTEXEC_EXE%", "trtexec"),
        ("trtexec_path", None), ("$TRTEXEC_FLAGS", None),
        ("C:\\a\\trtexec.exe", "trtexec"), ("tensorrt_rtx", "tensorrt_rtx"),
        ("bin/Tensorrt_RTX.exe", "tensorrt_rtx"), ("a=trtexec", None), ("trtexec.py", None),
        ("mytrtexec", None), ("trtexec/bin", None), ("tensorrt", None), ("", None),
    ],
)  # fmt: skip
def test_names_of_programs(word: str, expected: Tool | None) -> None:
    assert tool_of(word) == expected


def of(
    tool: Tool, *options: str, served: ServerConfiguration | None = None, source: str = ""
) -> BuildCommand:
    """Return a command with options as ``name`` or ``name=value``, or ``name=...`` for an unknown value."""
    listed = []
    for option in options:
        name, equals, value = option.partition("=")
        known = value != "..."
        listed.append(Option(name, value if equals and known else None, known))
    return BuildCommand(tool, tuple(listed), source=source, line=4, served=served)


SERVED = ServerConfiguration("onnxruntime", 0, ())


@pytest.mark.parametrize(
    ("found", "switches", "provider", "model", "builds", "place"),
    [
        (of("trtexec", "--onnx=a", "--fp16", "--noTF32"), {"fp16": True, "tf32": False}, None, "a", True, ""),
        (of("trtexec", "--onnx=...", source="b.sh"), {}, None, None, True, "b.sh:4"),
        (of("trtexec", "--onnx", "--loadEngine=b"), {}, None, None, False, ""),
        (of("trtexec", "--loadEngine=b", "--int8"), {}, None, None, False, ""),
        (of("trtexec", "provider=tensorrt", "model=a"), {}, None, None, False, ""),
        (of("tensorrt_rtx", "--onnx=a", "--onnx=b"), {}, None, "b", True, ""),
        (of("onnxruntime", "provider=tensorrt", "model=a"), {}, "tensorrt", "a", True, ""),
        (of("onnxruntime", "provider=cuda", "--onnx=a", "--fp16"), {}, None, None, True, ""),
        (of("onnxruntime", "--loadEngine=b"), {}, None, None, True, ""),
        (
            of("onnxruntime", "trt_fp16_enable=1", "trt_bf16_enable=True", "trt_int8_enable=true"),
            {"fp16": True, "bf16": True, "int8": True},
            None,
            None,
            True,
            "",
        ),
        (
            of("onnxruntime", "trt_fp16_enable=0", "trt_bf16_enable", "trt_int8_enable=..."),
            {},
            None,
            None,
            True,
            "",
        ),
        (of("onnxruntime", "trt_fp16_enable=1", "trt_fp16_enable=0"), {}, None, None, True, ""),
        (of("triton", served=SERVED, source="c"), {}, None, None, True, "c"),
        (
            of("triton", "tensorrt", "precision_mode=INT8", "default_model_filename=a", served=SERVED),
            {"int8": True},
            "tensorrt",
            "a",
            True,
            "",
        ),
        (of("triton", "precision_mode=FP32", served=SERVED), {}, None, None, True, ""),
        (of("triton", "precision_mode", served=SERVED), {}, None, None, True, ""),
        (of("triton", "provider=tensorrt", "--fp16", served=SERVED), {}, None, None, True, ""),
    ],
)
def test_what_a_command_says(
    found: BuildCommand,
    switches: dict[str, bool],
    provider: str | None,
    model: str | None,
    builds: bool,
    place: str,
) -> None:
    assert (dict(found.switches), found.provider) == (switches, provider)
    assert (found.model, found.builds, found.place) == (model, builds, place)


def test_names_and_the_last_option() -> None:
    found = of("trtexec", "--a=1", "--b", "--a=2")
    assert found.names == ("--a", "--b")
    assert found.option("--a") == Option("--a", "2")
    assert found.option("--c") is None


SCRIPT = """# trtexec --onnx=comment
  @trtexec --onnx=make # comment
- trtexec --onnx=minus
$ trtexec --onnx=prompt
> trtexec --onnx=quoted
RUN   trtexec --onnx=a#b
CMD trtexec --onnx='c # d'
(trtexec --onnx=e 2>/dev/null)
trtexec --onnx=f 2 | cat
trtexec --onnx=g --x=$(cat a b) `cat c`
trtexec --onnx=$< --saveEngine=$@
trtexec
trtexec $ALL
trtexec --onnx=h \\
  # --int8 \\
  --fp16
echo trtexec \\
"""


def test_a_script_line_by_line() -> None:
    assert [(found.line, found.text, found.complete) for found in find_commands(SCRIPT)] == [
        (2, "trtexec --onnx=make", True),
        (3, "trtexec --onnx=minus", True),
        (4, "trtexec --onnx=prompt", True),
        (5, "trtexec --onnx=quoted", True),
        (6, "trtexec --onnx=a#b", True),
        (7, "trtexec --onnx=c # d", True),
        (8, "trtexec --onnx=e", True),
        (9, "trtexec --onnx=f 2", True),
        (10, "trtexec --onnx=g --x=...", False),
        (11, "trtexec --onnx=... --saveEngine=...", True),
        (13, "trtexec", False),
        (14, "trtexec --onnx=h --fp16", True),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("trtexec --onnx=a \\", [(1, "trtexec --onnx=a")]),
        ("trtexec --onnx=a 'b", []),
        ("x 'y\ntrtexec --onnx=a\nz", [(2, "trtexec --onnx=a")]),
        ("x 'y\ntrtexec --onnx=a\ntrtexec --onnx='b'\nit's", []),
        (
            "trtexec --onnx='a\nb' --fp16\ntrtexec --onnx=c",
            [(1, "trtexec --onnx=a\nb --fp16"), (3, "trtexec --onnx=c")],
        ),
    ],
)
def test_quotes_and_backslashes_at_the_end(text: str, expected: list[tuple[int, str]]) -> None:
    assert [(found.line, found.text) for found in find_commands(text)] == expected


@pytest.mark.parametrize(
    ("name", "content", "tools"),
    [
        ("a.py", "p = ['TensorrtExecutionProvider']", ["onnxruntime"]),
        ("a", "p = ['TensorrtExecutionProvider']", ["onnxruntime"]),
        ("a.sh", "trtexec --onnx=a", ["trtexec"]),
        ("a.py", "os.system('x')\n# doc\ntrtexec --onnx=a", ["trtexec"]),
        ("a.json", '{"TensorrtExecutionProvider": {}}', ["onnxruntime"]),
        ("a.pbtxt", 'name: "a"', ["triton"]),
        ("\N{LATIN SMALL LETTER A}.sh", "\ufefftrtexec --onnx=a", ["trtexec"]),
    ],
)
def test_files_by_their_suffix(tmp_path: Path, name: str, content: str, tools: list[str]) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    assert [found.tool for found in read_commands(str(file))] == tools


@pytest.mark.parametrize(
    ("text", "tool", "source"),
    [
        (' [["TensorrtExecutionProvider", {}]]', "onnxruntime", ""),
        (' {"TensorrtExecutionProvider": {}}', "onnxruntime", ""),
        (" --onnx=a", "trtexec", ""),
        ("tensorrt_rtx --onnx=a", "tensorrt_rtx", ""),
        ('name: "a"', "triton", ""),
        ("# a\ninput [ ]", "triton", ""),
    ],
)
def test_texts_by_their_beginning(text: str, tool: str, source: str) -> None:
    (found,) = read_commands(text)
    assert (found.tool, found.source) == (tool, source)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("x/a.onnx", [0]), ("b.onnx", [1, 3]), ("c.onnx", [2])],
)
def test_the_commands_for_a_model(model: str, expected: list[int]) -> None:
    given = [
        of("trtexec", "--onnx=y/a.onnx"),
        of("trtexec", "--onnx=b.onnx"),
        of("trtexec", "--onnx=..."),
        of("trtexec", "--onnx=C:\\m\\b.onnx"),
        of("trtexec", "--loadEngine=b.onnx"),
    ]
    assert commands_for(Path(model), given) == tuple(given[place] for place in expected)
