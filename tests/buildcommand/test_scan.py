"""Tests of the search for build commands in command lines, scripts, Makefiles and Dockerfiles."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trtlint.buildcommand import BuildCommand, CommandError, find_commands, read_commands, scan
from trtlint.buildcommand.scan import commands_for


def only(text: str) -> BuildCommand:
    (found,) = find_commands(text)
    return found


def texts(text: str, source: str = "") -> list[str]:
    return [found.text for found in find_commands(text, source)]


class TestWords:
    def test_a_command_line(self) -> None:
        found = only("trtexec --onnx=a.onnx --fp16 --minShapes=x:1x3")
        assert (found.tool, found.model, found.names) == (
            "trtexec",
            "a.onnx",
            ("--onnx", "--fp16", "--minShapes"),
        )
        assert found.complete
        assert found.builds
        assert found.words == ()
        assert found.switches == {"fp16": True}

    def test_quotes_are_those_of_a_shell(self) -> None:
        found = only("""trtexec --onnx="my model.onnx" --shapes="'a:0':1x3",'b:1'""")
        assert found.model == "my model.onnx"
        shapes = found.option("--shapes")
        assert shapes is not None
        assert shapes.value == "'a:0':1x3,b:1"

    def test_the_last_of_two_equal_options_counts(self) -> None:
        found = only("trtexec --onnx=a.onnx --onnx=b.onnx")
        assert found.model == "b.onnx"

    def test_values_with_variables_are_not_known(self) -> None:
        found = only("trtexec --onnx=$MODEL --saveEngine=${OUT}/a.plan --fp16")
        assert found.model is None
        assert found.complete
        assert found.builds
        assert found.text == "trtexec --onnx=... --saveEngine=... --fp16"

    @pytest.mark.parametrize("word", ["$ARGS", "${ARGS}", "$(ARGS)", "`cat args`", "--$NAME=1", "{{ args }}"])
    def test_a_variable_may_hold_any_option(self, word: str) -> None:
        found = only(f"trtexec --onnx=a.onnx {word}")
        assert not found.complete

    def test_a_word_without_dashes_is_kept(self) -> None:
        assert only("trtexec --onnx a.onnx").words == ("a.onnx",)

    @pytest.mark.parametrize(
        "line",
        [
            'cmd="trtexec --onnx=a.onnx --fp16"',
            'CMD="trtexec --onnx=a.onnx --fp16"',
            'local cmd="/opt/bin/trtexec --onnx=a.onnx \\\n  --fp16"\ncmd+=" --int8"\n$cmd',
            "export CMD='trtexec --onnx=a.onnx --fp16'",
            'ENV CMD="${TRTEXEC} --onnx=a.onnx --fp16"',
        ],
    )
    def test_a_variable_with_a_command_may_get_further_options(self, line: str) -> None:
        found = only(line)
        assert (found.text, found.complete) == ("trtexec --onnx=a.onnx --fp16", False)

    @pytest.mark.parametrize("part", ["[--int8]", "[--int8 OR --best]", "[--int8 | ...]"])
    def test_an_optional_part_of_a_usage_text_is_unknown(self, part: str) -> None:
        found = only(f"trtexec --onnx=a.onnx --fp16 {part}")
        assert (found.text, found.words, found.complete) == ("trtexec --onnx=a.onnx --fp16", (), False)

    def test_switches(self) -> None:
        found = only("trtexec --onnx=a --best --noTF32 --stronglyTyped --int8 --fp8 --bf16")
        assert found.switches == {
            "best": True,
            "tf32": False,
            "strongly-typed": True,
            "int8": True,
            "fp8": True,
            "bf16": True,
        }

    @pytest.mark.parametrize(
        "line",
        [
            'docker run image bash -c "cd /m && trtexec --onnx=a.onnx --fp16"',
            "sh -ec 'cd /m\ntrtexec --onnx=a.onnx \\\n  --fp16\n'",
            'CMD ["bash", "-c", "trtexec --onnx=a.onnx --fp16"]',
        ],
    )
    def test_a_script_as_an_argument(self, line: str) -> None:
        assert only(line).text == "trtexec --onnx=a.onnx --fp16"

    @pytest.mark.parametrize(
        "expression", ["${{ matrix.model }}", "${{ inputs.model || 'a.onnx' }}", "{{ .Values.model }}"]
    )
    def test_an_expression_in_a_template_is_computed(self, expression: str) -> None:
        found = only(f"trtexec --onnx={expression} --fp16")
        assert (found.text, found.words) == ("trtexec --onnx=... --fp16", ())

    def test_a_command_that_loads_an_engine_sets_nothing(self) -> None:
        assert only("trtexec --loadEngine=a.engine --best --noTF32").switches == {}


class TestPrograms:
    @pytest.mark.parametrize(
        "program",
        [
            "trtexec",
            "./trtexec",
            "/usr/src/tensorrt/bin/trtexec",
            "trtexec.exe",
            r"'C:\TensorRT\bin\trtexec.exe'",
            "$(TRTEXEC)",
            "${TRTEXEC}",
            "$TRTEXEC",
            "$(TRT_EXEC)",
            "${TENSORRT_COMMAND:-/usr/src/tensorrt/bin/trtexec}",
            "CUDA_VISIBLE_DEVICES=1 trtexec",
            "sudo nice -n 5 trtexec",
        ],
    )
    def test_ways_to_call_it(self, program: str) -> None:
        assert only(f"{program} --onnx=a.onnx").tool == "trtexec"

    def test_tensorrt_rtx(self) -> None:
        assert only("./tensorrt_rtx --onnx=a.onnx").tool == "tensorrt_rtx"

    @pytest.mark.parametrize(
        "line",
        [
            "TRTEXEC=/usr/src/tensorrt/bin/trtexec",
            "which trtexec",
            "cp /usr/src/tensorrt/bin/trtexec /usr/local/bin/",
            "# trtexec --onnx=a.onnx",
            "make engines",
            "trtexec --help",
            "cmake -S trtexec -B build -G Ninja",
            "cmake --build samples/trtexec --config Release",
            "install(TARGETS trtexec RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})",
            "mkdir -p x && chmod --recursive +x /opt/trtexec",
            "",
        ],
    )
    def test_lines_that_run_nothing(self, line: str) -> None:
        assert texts(line) == []


class TestScripts:
    def test_continuation_lines_are_one_command_at_its_first_line(self) -> None:
        found = only("cd build\n\ntrtexec --onnx=a.onnx \\\n  --fp16 \\\n  --int8\necho done --bf16\n")
        assert found.line == 3
        assert found.text == "trtexec --onnx=a.onnx --fp16 --int8"

    def test_a_backslash_ends_a_word(self) -> None:
        found = only("trtexec --onnx=a.onnx\\\n--fp16\\")
        assert found.text == "trtexec --onnx=a.onnx --fp16"

    def test_operators_end_a_command(self) -> None:
        line = "trtexec --onnx=a --fp16 2>&1 | tee --append log; trtexec --onnx=b && trtexec --onnx=c >out &"
        assert texts(line) == ["trtexec --onnx=a --fp16", "trtexec --onnx=b", "trtexec --onnx=c"]

    def test_a_makefile(self) -> None:
        text = (
            "TRTEXEC ?= trtexec\n\nmodel.plan: model.onnx\n\t@$(TRTEXEC) --onnx=$< --saveEngine=$@ $(FLAGS)\n"
        )
        found = only(text)
        assert (found.line, found.complete, found.model) == (4, False, None)

    def test_a_dockerfile(self) -> None:
        assert texts("FROM nvcr\nRUN trtexec --onnx=/m/a.onnx --fp16\n") == [
            "trtexec --onnx=/m/a.onnx --fp16"
        ]

    def test_comments_and_apostrophes(self) -> None:
        text = "# don't\necho 'a # b' # it's fine\ntrtexec --onnx=a.onnx # --fp16\n"
        assert texts(text) == ["trtexec --onnx=a.onnx"]

    def test_a_quote_over_several_lines(self) -> None:
        assert texts('echo "one\ntrtexec --onnx=a"\ntrtexec --onnx=b\n') == ["trtexec --onnx=b"]

    def test_an_open_quote_does_not_swallow_the_file(self) -> None:
        assert texts('echo "oops\ntrtexec --onnx=b\n') == ["trtexec --onnx=b"]

    @settings(max_examples=200, deadline=None)
    @given(st.text(alphabet="trtexec -=$`'\"\\\n#;|&(){}x:1", max_size=80))
    def test_no_text_is_too_strange(self, text: str) -> None:
        for found in find_commands(text):
            assert found.text
            assert 1 <= found.line <= text.count("\n") + 1


class TestReading:
    def test_a_command_line_is_taken_as_it_is(self) -> None:
        (found,) = read_commands("trtexec --onnx=a.onnx")
        assert found.place == ""

    def test_options_alone_are_those_of_trtexec(self) -> None:
        (found,) = read_commands("--onnx=a.onnx --fp16")
        assert found.tool == "trtexec"

    def test_a_file(self, tmp_path: Path) -> None:
        script = tmp_path / "build.sh"
        script.write_text("set -e\ntrtexec --onnx=a.onnx\ntrtexec --onnx=b.onnx\n", encoding="utf-8")
        found = read_commands(str(script))
        assert [command.place for command in found] == [f"{script}:2", f"{script}:3"]

    def test_what_is_no_command_is_an_error(self, tmp_path: Path) -> None:
        empty = tmp_path / "Makefile"
        empty.write_text("all:\n\techo trtexec\n", encoding="utf-8")
        with pytest.raises(CommandError, match="contains no trtexec or tensorrt_rtx command"):
            read_commands(str(empty))
        with pytest.raises(CommandError, match="no such file"):
            read_commands("missing.sh")
        with pytest.raises(CommandError, match="neither a file nor a trtexec command"):
            read_commands("python build.py --fp16")
        with pytest.raises(CommandError, match="run trtlint lint with --torch-tensorrt"):
            read_commands("trt.compile(m)")


class TestChoosing:
    def choose(self, script: str, model: str) -> list[str]:
        return [found.text for found in commands_for(Path(model), tuple(find_commands(script)))]

    def test_the_file_name_decides(self) -> None:
        script = "trtexec --onnx=out/a.onnx\ntrtexec --onnx=out/b.onnx --fp16\ntrtexec --loadEngine=b.plan\n"
        assert self.choose(script, "models/b.onnx") == ["trtexec --onnx=out/b.onnx --fp16"]
        assert self.choose(script, "models/c.onnx") == []

    def test_a_variable_may_be_any_file(self) -> None:
        script = "trtexec --onnx=a.onnx\ntrtexec --onnx=$1 --fp16\n"
        assert self.choose(script, "c.onnx") == ["trtexec --onnx=... --fp16"]

    def test_a_single_command_is_for_every_model(self) -> None:
        assert self.choose("trtexec --onnx=/docker/model.onnx", "c.onnx") == [
            "trtexec --onnx=/docker/model.onnx"
        ]


@pytest.mark.isolated
@pytest.mark.parametrize("name", ["build.sh", "config.pbtxt"])
def test_the_work_on_a_build_file_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def endless(*_: object) -> bytes:
        deadline = time.process_time() + 30
        while time.process_time() < deadline:
            pass
        return b""

    file = tmp_path / name
    file.write_text("trtexec --onnx=a.onnx --fp16", encoding="utf-8")
    monkeypatch.setattr("trtlint.buildcommand.scan.read_bytes", endless)
    monkeypatch.setattr("trtlint.buildcommand.triton.read_bytes", endless)
    monkeypatch.setattr("trtlint.files.limits.SECONDS", 0.3)
    with pytest.raises(
        CommandError,
        match=rf"{name}: reading and checking this file exceeded the limit of 0.3 s "
        rf"of processor time",
    ):
        read_commands(str(file))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a # b", "a "),
        ("# b", ""),
        ("a# b", "a# b"),
        ("'a # b' # c", "'a # b' "),
        ('"it\'s # a" # c', '"it\'s # a" '),
        ("it's # a", "it's # a"),
        ("a\t#b", "a\t"),
        ("", ""),
    ],
)
def test_comments(line: str, expected: str) -> None:
    assert scan._without_comment(line) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("RUN CMD @- a b", ["a", "b"]),
        ("$ a", ["a"]),
        ("> a > b", ["a", ">", "b"]),
        ("a $(B) $<", ["a", "${B}", "${_}"]),
        ("a `b c` $(d e)", ["a", "${_}", "${_}"]),
        ("a&&b;(c)|d", ["a", "&&", "b", ";(", "c", ")|", "d"]),
        ("a # b", ["a", "#", "b"]),
        ("a 'b", None),
        ("", []),
    ],
)
def test_words_of_a_line(line: str, words: list[str] | None) -> None:
    assert scan._split(line) == words


@pytest.mark.parametrize(
    ("words", "calls"),
    [
        ("trtexec a b", [("trtexec", ["a", "b"])]),
        ("x trtexec a 2 > b", [("trtexec", ["a"])]),
        ("trtexec a 2 | b", [("trtexec", ["a", "2"])]),
        ("trtexec 2 >& 1", [("trtexec", [])]),
        ("trtexec > a", [("trtexec", [])]),
        ("a && trtexec b ; tensorrt_rtx c", [("trtexec", ["b"]), ("tensorrt_rtx", ["c"])]),
        ("trtexec a trtexec", [("trtexec", ["a", "trtexec"])]),
        ("cmake -S trtexec && trtexec a", [("trtexec", ["a"])]),
        ("find . -exec trtexec a ;", [("trtexec", ["a"])]),
        ("a b", []),
        ("", []),
    ],
)
def test_calls_of_programs(words: str, calls: list[tuple[str, list[str]]]) -> None:
    assert list(scan._invocations(words.split())) == calls


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a", "b"], [(1, ["a"]), (2, ["b"])]),
        (["a \\", "b", "c"], [(1, ["a", "b"]), (3, ["c"])]),
        (["a \\", " # b", "c"], [(1, ["a"]), (3, ["c"])]),
        (["a \\", "b # c", "d"], [(1, ["a", "b"]), (3, ["d"])]),
        (["a \\", " # b \\", "c", "d"], [(1, ["a", "c"]), (4, ["d"])]),
        (["a \\", "b # c \\", "d"], [(1, ["a", "b"]), (3, ["d"])]),
        (["a 'b", "# c'", "d"], [(1, ["a", "b\n# c"]), (3, ["d"])]),
        (["a 'b", "c'", "d"], [(1, ["a", "b\nc"]), (3, ["d"])]),
        (["a 'b", "c", "d"], [(2, ["c"]), (3, ["d"])]),
        (["a", "it's"], [(1, ["a"])]),
        (["a \\"], [(1, ["a"])]),
        (["a 'b\\", "c"], [(2, ["c"])]),
        (['a "$(b | tr -d \'"\')" \\', "c", "d"], [(1, ["a", "${_}", "c"]), (3, ["d"])]),
        ([], []),
    ],
)
def test_lines_that_belong_together(lines: list[str], expected: list[tuple[int, list[str]]]) -> None:
    assert list(scan._logical_lines("\n".join(lines))) == expected


def test_a_comment_in_a_command_of_a_dockerfile() -> None:
    text = "RUN trtexec --onnx=a.onnx \\\n# --int8\n\n  --fp16\n"
    assert texts(text, "docker/Dockerfile.trt") == ["trtexec --onnx=a.onnx --fp16"]
    assert texts(text, "build.sh") == ["trtexec --onnx=a.onnx"]


@pytest.mark.parametrize(("most", "expected"), [(2, [(1, ["a", "b\nc\nd"])]), (1, [(2, ["c"])])])
def test_the_length_of_a_quote_is_limited(
    monkeypatch: pytest.MonkeyPatch, most: int, expected: list[tuple[int, list[str]]]
) -> None:
    monkeypatch.setattr(scan, "_MAX_JOINED", most)
    assert list(scan._logical_lines("a 'b\nc\nd'")) == expected


def test_ways_to_name_a_build(tmp_path: Path) -> None:
    (tmp_path / "session.json").write_text('{"a": 1}')
    with pytest.raises(CommandError):
        read_commands(str(tmp_path / "session.json"))
    options = '[["TensorrtExecutionProvider", {"trt_fp16_enable": "1"}]]'
    (found,) = read_commands(f"  {options}")
    (tmp_path / "session.json").write_text(options)
    (stored,) = read_commands(str(tmp_path / "session.json"))
    assert (found.text, found.source) == (stored.text, "")
    assert stored.source == str(tmp_path / "session.json")
    for text, why in (("a" * 5000, "no such file"), ("a\0b", "no such file"), ("a b", "neither a file nor")):
        with pytest.raises(CommandError, match=why):
            read_commands(text)
    tmp_path.joinpath("folder").mkdir()
    with pytest.raises(CommandError, match="directory"):
        read_commands(str(tmp_path / "folder"))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("build.py", "config.set_flag(trt.BuilderFlag.FP16)", "uses the builder API of TensorRT"),
        ("build.cpp", "auto c = builder->createBuilderConfig();", "uses the builder API of TensorRT"),
        ("pgie.txt", "[property]\nnetwork-mode=2\n", "configures DeepStream's nvinfer"),
        ("pgie.yml", "property:\n  model-engine-file: a.engine\n", "configures DeepStream's nvinfer"),
        ("build.sh", "polygraphy convert a.onnx --fp16 -o a.plan\n", "builds with Polygraphy"),
        ("build.sh", "make engine", "contains no trtexec or tensorrt_rtx command"),
    ],
)
def test_files_of_other_tools(tmp_path: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CommandError, match=reason):
        read_commands(str(tmp_path / name))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-8"])
def test_encodings_of_a_script(tmp_path: Path, encoding: str) -> None:
    """``>`` in Windows PowerShell writes UTF-16 with a byte order mark."""
    (tmp_path / "build.ps1").write_text("trtexec --onnx=m.onnx --fp16\n", encoding)
    (found,) = read_commands(str(tmp_path / "build.ps1"))
    assert [option.name for option in found.options] == ["--onnx", "--fp16"]


def test_a_binary_file_is_no_script(tmp_path: Path) -> None:
    (tmp_path / "m.engine").write_bytes(b"ftrt\0\0trtexec --fp16\n")
    with pytest.raises(CommandError, match="a binary file; give a command"):
        read_commands(str(tmp_path / "m.engine"))


def test_a_command_of_polygraphy_is_not_called_a_file() -> None:
    with pytest.raises(CommandError, match="builds with Polygraphy, whose options trtlint does not read"):
        read_commands("polygraphy run a.onnx --trt --fp16")
