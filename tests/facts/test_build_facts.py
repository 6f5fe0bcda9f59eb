"""Tests of facts about the build command: options, the whole command and input shapes."""

from __future__ import annotations

import pytest

from tests.graphs import model_of
from trtlint.buildcommand import find_commands
from trtlint.facts.facts import Facts
from trtlint.facts.of_command.build_command import BuildCommandFact
from trtlint.facts.of_command.flag import Flag
from trtlint.facts.of_command.input_shape import InputShape

DYNAMIC = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[N,2] x, float[N,2] z) => (float[N,2] y) { y = Add (x, z) }
"""
FIXED = DYNAMIC.replace("N", "1")


def facts(options: str, text: str = DYNAMIC, tool: str = "trtexec") -> Facts:
    (command,) = find_commands(f"{tool} --onnx=a.onnx {options}")
    return Facts(model_of(text), command=command)


def flags(options: str, tool: str = "trtexec") -> list[tuple[str, str, str]]:
    found = facts(options, tool=tool).of("flag")
    return [(f.name, f.state, f.versions) for f in found if isinstance(f, Flag) and f.state != "given"]


def whole(options: str, text: str = DYNAMIC) -> BuildCommandFact:
    (found,) = facts(options, text).of("build_command")
    assert isinstance(found, BuildCommandFact)
    return found


def inputs(options: str, text: str = DYNAMIC) -> list[InputShape]:
    return [fact for fact in facts(options, text).of("input_shape") if isinstance(fact, InputShape)]


def test_without_a_command_there_are_no_facts() -> None:
    nothing = Facts(model_of(DYNAMIC))
    assert [nothing.of(kind) for kind in ("flag", "build_command", "input_shape")] == [(), (), ()]


class TestFlag:
    def test_every_option_is_given_once(self) -> None:
        found = facts("--fp16 --fp16 --shapes=x:1x2").of("flag")
        given = [f.name for f in found if isinstance(f, Flag) and f.state == "given"]
        assert given == ["--onnx", "--fp16", "--shapes"]

    @pytest.mark.parametrize(
        ("option", "states"),
        [
            ("--fp16", [("deprecated", ">=10.12,<11.0"), ("removed", ">=11.0")]),
            ("--bf16", [("future", "<9.0"), ("deprecated", ">=10.12,<11.0"), ("removed", ">=11.0")]),
            ("--stronglyTyped", [("future", "<9.0"), ("idle", ">=11.0")]),
            ("--consistency", [("absent", ">=10.4,<10.13")]),
            ("--directIO", [("deprecated", ">=10.7")]),
            ("--verbose", []),
            ("--ourOwn", []),
        ],
    )
    def test_states(self, option: str, states: list[tuple[str, str]]) -> None:
        assert flags(option) == [(option, *state) for state in states]

    def test_a_misspelt_option(self) -> None:
        (found,) = [f for f in facts("--minshapes=x:1").of("flag") if isinstance(f, Flag) and f.instead]
        assert (found.state, found.instead, found.versions) == ("misspelt", "--minShapes", "")

    def test_options_of_tensorrt_rtx_are_another_matter(self) -> None:
        assert flags("--fp16", tool="tensorrt_rtx") == []


class TestBuildCommand:
    def test_values_and_words(self) -> None:
        found = whole("--calib=c.cache --fp16 stray --int8=$X")
        assert found.values == {"--onnx": "a.onnx", "--calib": "c.cache"}
        assert (found.words, found.complete) == (("stray",), True)

    @pytest.mark.parametrize(
        ("text", "fixed"),
        [
            (DYNAMIC, False),
            (FIXED, True),
            (FIXED.replace("(float[1,2] y)", "(int64[2,M] y)").replace("Add (x, z)", "NonZero (x)"), None),
            (FIXED.replace("g (", "g (int64[2] s, "), None),
        ],
    )
    def test_whether_the_model_has_one_shape(self, text: str, fixed: bool | None) -> None:
        assert whole("", text).fixed_shapes is fixed


class TestInputShape:
    def test_each_input_and_what_is_given_to_it(self) -> None:
        found = inputs("--optShapes=x:4x2,nobody:1")
        assert [(f.name, f.is_input, f.option, f.given) for f in found] == [
            ("x", True, "--optShapes", ("4x2",)),
            ("z", True, "", ()),
            ("nobody", False, "--optShapes", ("1",)),
        ]
        assert (found[0].declared, found[0].dynamic) == ("Nx2", True)

    @pytest.mark.parametrize(
        ("shape", "rank_fits", "fits"),
        [("4x2", True, True), ("4x3", True, False), ("4x2x1", False, None), ("scalar", False, None)],
    )
    def test_fitting(self, shape: str, rank_fits: bool, fits: bool | None) -> None:
        found = inputs(f"--optShapes=x:{shape}")[0]
        assert (found.rank_fits, found.fits) == (rank_fits, fits)

    @pytest.mark.parametrize(
        ("low", "best", "high", "ordered"),
        [("1x2", "4x2", "8x2", True), ("4x2", "4x2", "4x2", True), ("8x2", "4x2", "9x2", False)],
    )
    def test_order(self, low: str, best: str, high: str, ordered: bool) -> None:
        found = inputs(f"--minShapes=x:{low} --optShapes=x:{best} --maxShapes=x:{high}")[0]
        assert found.ordered is ordered

    def test_one_for_each_profile(self) -> None:
        found = inputs("--profile=0 --optShapes=x:1x2 --profile=1 --optShapes=x:8x2")
        assert [(f.name, f.profile) for f in found] == [("x", 0), ("x", 1), ("z", None)]

    def test_a_command_that_runs_an_engine_builds_no_shapes(self) -> None:
        (command,) = find_commands("trtexec --loadEngine=a.plan --shapes=x:1x2")
        assert Facts(model_of(DYNAMIC), command=command).of("input_shape") == ()


@pytest.mark.parametrize(
    ("options", "tactics", "pools"),
    [
        ("--tacticSources=-cublasLt,+CUDNN,+JIT_CONVOLUTIONS", ("CUBLASLT", "CUDNN"), ()),
        ("--tacticSources=+EDGE_MASK_CONVOLUTIONS", (), ()),
        ("--tacticSources=$TACTICS --memPoolSize=$POOL", (), ()),
        (
            "--memPoolSize=workspace:1024MiB,dlaSRAM:1M,dlaLocalDRAM:2GB",
            (),
            ("workspace:1024MiB", "dlaLocalDRAM:2GB"),
        ),
        ("--memPoolSize=workspace:1024,dlaSRAM:512B", (), ()),
        ("", (), ()),
    ],
)
def test_values_of_options(options: str, tactics: tuple[str, ...], pools: tuple[str, ...]) -> None:
    # https://github.com/NVIDIA/TensorRT/blob/v11.0/samples/common/sampleOptions.cpp
    found = whole(f"--onnx=a.onnx {options}")
    assert (found.library_tactics, found.byte_pools) == (tactics, pools)
