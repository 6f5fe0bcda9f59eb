"""Tests of Torch-TensorRT releases, their arguments and operators."""

from __future__ import annotations

import pytest

from trtlint.engine.rulebook import load_builtin
from trtlint.knowledge.torchreleases import (
    Route,
    TorchArgument,
    TorchOperator,
    TorchReleaseError,
    argument,
    idle,
    nearest_argument,
    torch_operators,
    torch_range,
    torch_release,
    torch_releases,
)
from trtlint.target.parsing import check_version


def test_every_release_brings_a_known_tensorrt() -> None:
    for release in torch_releases():
        assert check_version(release.tensorrt, "tensorrt")


@pytest.mark.parametrize(("text", "version"), [("2.13", "2.13.0"), ("2.12.1", "2.12.1"), (" 2.6 ", "2.6.1")])
def test_a_release_by_its_line(text: str, version: str) -> None:
    assert torch_release(text).version == version


@pytest.mark.parametrize("text", ["", "2", "2.4", "3.0", "10.7", "2.x", "latest"])
def test_an_unknown_release(text: str) -> None:
    with pytest.raises(TorchReleaseError, match=r"2\.5 to 2\.14"):
        torch_release(text)


def test_arguments_come_and_go() -> None:
    old, new = torch_release("2.12"), torch_release("2.13")
    assert argument("enabled_precisions", "compile", old).read
    gone = argument("enabled_precisions", "compile", new)
    assert (gone.read, gone.last) == (False, "2.12")
    assert gone.source.startswith("https://github.com/pytorch/TensorRT/blob/v2.12.1/")
    assert argument("use_explicit_typing", "compile", torch_release("2.9")).default == "False"
    assert argument("use_explicit_typing", "compile", torch_release("2.10")).default == "True"
    assert argument("use_explicit_typing", "compile", new).default == "True"
    assert argument("immutable_weights", "options", new).default == "True"


SOURCE = "https://github.com/pytorch/TensorRT/blob/v{}/py/torch_tensorrt/{}"


@pytest.mark.parametrize(
    ("name", "route", "release", "expected"),
    [
        (
            "enabled_precisions",
            "compile",
            "2.13",
            TorchArgument(
                False, "2.5", "2.12", "{dtype.f32}",
                SOURCE.format("2.12.1", "dynamo/_compiler.py#L436"),
            ),
        ),
        (
            "enabled_precisions",
            "options",
            "2.5",
            TorchArgument(
                True, "2.5", "2.12", "",
                SOURCE.format("2.5.0", "dynamo/_settings.py#L83"),
            ),
        ),
        (
            "use_explicit_typing",
            "compile",
            "2.9",
            TorchArgument(
                True, "2.6", "2.12", "False",
                SOURCE.format("2.9.0", "dynamo/_compiler.py#L424"),
            ),
        ),
        (
            "module",
            "options",
            "2.13",
            TorchArgument(True, "2.5", "2.14", "", SOURCE.format("2.13.0", "_compile.py#L199")),
        ),
        ("nothing", "compile", "2.13", TorchArgument(False, "", "", "", "")),
    ],
)  # fmt: skip
def test_an_argument_of_a_release(name: str, route: Route, release: str, expected: TorchArgument) -> None:
    assert argument(name, route, torch_release(release)) == expected


def test_a_release_without_a_tag_has_the_source_of_its_wheel() -> None:
    found = argument("immutable_weights", "options", torch_release("2.14"))
    assert found.source.startswith("https://pypi.org/project/torch-tensorrt/2.14.0/ (torch_tensorrt/dynamo/")


def test_a_range_of_releases() -> None:
    def lines(first: str, last: str | None) -> list[str]:
        return [release.line for release in torch_range(first, last)]

    assert lines("2.7", "2.9.0") == ["2.7", "2.8", "2.9"]
    assert lines("2.5", "2.6") == ["2.5", "2.6"]
    assert lines("2.13", None) == ["2.13", torch_releases()[-1].line]
    for first, last in (("2.9", "2.9"), ("2.9", "2.7"), (torch_releases()[-1].line, None)):
        with pytest.raises(TorchReleaseError, match=rf"^Torch-TensorRT .* is not newer than {first}$"):
            torch_range(first, last)


@pytest.mark.parametrize(
    ("release", "known"),
    [("2.5", None), ("2.6.1", True), ("2.7", None), ("2.8", False), ("2.10", False), ("2.14.0", None)],
)
def test_releases_between_tested_ones(release: str, known: bool | None) -> None:
    row = TorchOperator(("2.6.1", "2.8.0", "2.11.0", "2.13.0"), frozenset({"2.6.1", "2.13.0"}), "aten.a")
    assert row.in_torch(torch_release(release).version) is known


def test_names_read_from_kwargs_count() -> None:
    assert argument("truncate_long_and_double", "compile", torch_release("2.13")).read
    assert argument("truncate_long_and_double", "options", torch_release("2.13")).read
    assert not argument("min_blocksize", "compile", torch_release("2.13")).read


def test_misspelt_arguments() -> None:
    release = torch_release("2.13")
    assert nearest_argument("min_blocksize", "compile", release) == "min_block_size"
    assert nearest_argument("enable_precisions", "compile", torch_release("2.9")) == "enabled_precisions"


RUNTIME = "nothing: the installed packages determine the runtime"


@pytest.mark.parametrize(
    ("name", "route", "release", "instead"),
    [
        ("use_python_runtime", "compile", "2.13", RUNTIME),
        ("use_python_runtime", "options", "2.13", RUNTIME),
        ("use_python_runtime", "windows", "2.14", RUNTIME),
        ("use_python_runtime", "engine", "2.13", RUNTIME),
        ("use_python_runtime", "compile", "2.12", ""),
        ("torch_executed_modules", "compile", "2.5", "torch_executed_ops"),
        ("torch_executed_modules", "windows", "2.5", "torch_executed_ops"),
        ("torch_executed_modules", "engine", "2.5", "torch_executed_ops"),
        ("torch_executed_modules", "options", "2.5", ""),
        ("require_full_compilation", "options", "2.5", "ir='dynamo', where the argument has an effect"),
        ("require_full_compilation", "compile", "2.5", ""),
        ("require_full_compilation", "windows", "2.5", ""),
        ("require_full_compilation", "engine", "2.5", ""),
        ("min_block_size", "compile", "2.13", ""),
    ],
)
def test_arguments_that_a_release_ignores(name: str, route: Route, release: str, instead: str) -> None:
    assert idle(name, route, torch_release(release)) == instead


def test_operators_that_fall_back() -> None:
    known = torch_operators()
    assert "2.14.0" in known["aten.cumprod.default"].falls_back
    assert "2.13.0" in known["aten.glu.default"].falls_back
    assert "2.14.0" not in known["aten.glu.default"].falls_back
    assert known["aten.glu.default"].in_torch("2.13.0")
    assert known["aten.glu.default"].in_torch("2.9.0")
    assert not known["aten.glu.default"].in_torch("2.14.0")
    assert not known["aten.masked_scatter.default"].in_torch("2.9.0")
    assert known["aten.cumprod.default"].asked[0] == "2.6.1"
    assert len(known["aten.cumprod.default"].asked) == 9
    assert known["aten.masked_scatter.default"].in_torch("2.6.1")
    assert not any(row.lowered.endswith("_for_cpu.default") for row in known.values())
    releases = {release.version for release in torch_releases()}
    assert all(set(row.asked) <= releases and row.falls_back <= set(row.asked) for row in known.values())


def test_the_release_that_folds_batch_norms() -> None:
    """Tag 2.8.0 contains the fix: https://github.com/pytorch/TensorRT/commit/527880eb61."""
    rules = {entry.id: entry.read() for entry in load_builtin().entries if entry.id in ("ENG107", "ENG111")}
    for rule in rules.values():
        text = rule.path.read_text(encoding="utf-8")
        assert "2.9 " not in text
        assert "2.8 or newer" in text
        assert "527880eb61" in text


def test_a_mutable_module_passes_on_arguments_from_2_8_on() -> None:
    read = {
        release: argument("use_explicit_typing", "mutable", torch_release(release)).read
        for release in ("2.7", "2.8", "2.12")
    }
    assert read == {"2.7": False, "2.8": True, "2.12": True}
    own = argument("weight_streaming_budget", "mutable", torch_release("2.13"))
    assert own.read
    assert "_MutableTorchTensorRTModule.py#L80" in own.source
    assert not argument("weight_streaming_budget", "compile", torch_release("2.13")).read
