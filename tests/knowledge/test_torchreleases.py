"""Releases of Torch-TensorRT, and their arguments and operators."""

from __future__ import annotations

import pytest

from trtlint.engine.rulebook import load_builtin
from trtlint.knowledge.torchreleases import (
    TorchReleaseError,
    argument,
    idle,
    nearest_argument,
    torch_operators,
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


def test_names_read_from_kwargs_count() -> None:
    assert argument("truncate_long_and_double", "compile", torch_release("2.13")).read
    assert argument("truncate_long_and_double", "options", torch_release("2.13")).read
    assert not argument("min_blocksize", "compile", torch_release("2.13")).read


def test_misspelt_and_idle_arguments() -> None:
    release = torch_release("2.13")
    assert nearest_argument("min_blocksize", "compile", release) == "min_block_size"
    assert nearest_argument("enable_precisions", "compile", torch_release("2.9")) == "enabled_precisions"
    assert idle("use_python_runtime", "compile", release)
    assert not idle("use_python_runtime", "compile", torch_release("2.12"))


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
    """The fix is in the tag 2.8.0: https://github.com/pytorch/TensorRT/commit/527880eb61."""
    rules = {entry.id: entry.read() for entry in load_builtin().entries if entry.id in ("ENG107", "ENG111")}
    for rule in rules.values():
        text = rule.path.read_text(encoding="utf-8")
        assert "2.9 " not in text
        assert "2.8 or newer" in text
        assert "527880eb61" in text
