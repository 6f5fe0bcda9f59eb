"""Tests of option values for dry builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from tests.inprocess import printed
from trtlint.commands.dryoptions import LintCommand, memory_size, release, take_dry_options
from trtlint.errors import SettingError
from trtlint.policy.options import DryOptions

CONTEXT = click.Context(click.Command("lint"))
OPTION = click.Option(["--dry-build-memory"])


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4G", 4 << 30),
        (" 4 gb ", 4 << 30),
        ("500M", 500 << 20),
        ("500mb", 500 << 20),
        ("1.5G", 3 << 29),
        ("0.001M", 1048),
        ("999999M", 999_999 << 20),
        (None, None),
    ],
)
def test_sizes(text: str | None, size: int | None) -> None:
    assert memory_size(CONTEXT, OPTION, text) == size


@pytest.mark.parametrize("text", ["", "4", "4X", "G", "-4G", "1234567M", "1.2345G", "4GG", "4K", "1.G"])
def test_other_texts_are_no_sizes(text: str) -> None:
    with pytest.raises(click.BadParameter) as error:
        memory_size(CONTEXT, OPTION, text)
    assert str(error.value) == f"{text!r} is not a size; write it like 4G or 500M"


@pytest.mark.parametrize("text", [None, "", "1.7", "1.7.1", "1.7.1.2"])
def test_releases(text: str | None) -> None:
    assert release(CONTEXT, OPTION, text) == text


@pytest.mark.parametrize("text", ["1", "1.7.1.2.3", "v1.7", "latest"])
def test_other_texts_are_no_releases(text: str) -> None:
    with pytest.raises(click.BadParameter) as error:
        release(CONTEXT, OPTION, text)
    assert str(error.value) == f"{text!r} is not a TensorRT-RTX version; write it like 1.7.1"


GIVEN: dict[str, Any] = {
    "dry_build": None, "dry_parse": False, "no_dry_build": False, "compare": (), "rtx_path": "rtx",
    "shapes": ("x:1",), "dry_build_seconds": 2.0, "dry_build_memory": 3, "dry_build_logs": "logs",
}  # fmt: skip
REST = DryOptions(rtx_path="rtx", shapes=(("x", (1,)),), seconds=2.0, memory=3, logs="logs")


@pytest.mark.parametrize(
    ("given", "level", "version", "compare"),
    [
        ({}, None, None, None),
        ({"dry_build": ""}, "build", "", None),
        ({"dry_build": "1.7"}, "build", "1.7", None),
        ({"dry_parse": True}, "parse", "", None),
        ({"dry_parse": True, "dry_build": "1.7"}, "parse", "1.7", None),
        ({"no_dry_build": True}, "off", None, None),
        ({"compare": ("", "probe")}, "parse", "", ("", "probe")),
        ({"compare": ("a.npz",), "dry_build": ""}, "build", "", ("a.npz",)),
        ({"compare": ("a.npz",), "dry_parse": True}, "parse", "", ("a.npz",)),
    ],
)
def test_the_level_of_a_dry_build(
    given: dict[str, Any], level: Any, version: str | None, compare: tuple[str, ...] | None
) -> None:
    options = {**GIVEN, **given, "other": 1}
    expected = DryOptions(level, version, REST.rtx_path, REST.shapes, 2.0, 3, REST.logs, compare)
    assert take_dry_options(options) == expected
    assert options == {"other": 1}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dry_parse": True}, "--no-dry-build cannot be used with --dry-build or --dry-parse"),
        ({"dry_build": ""}, "--no-dry-build cannot be used with --dry-build or --dry-parse"),
        ({"compare": ("",)}, "--no-dry-build cannot be used with --compare"),
    ],
)
def test_options_that_contradict_each_other(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError) as error:
        take_dry_options({**GIVEN, "no_dry_build": True, **given})
    assert str(error.value) == words


@pytest.mark.parametrize("text", ["x:1by3", "1x3", "x"])
def test_other_texts_are_no_shapes(text: str) -> None:
    with pytest.raises(SettingError) as error:
        take_dry_options({**GIVEN, "shapes": ("y:2", text)})
    assert str(error.value) == f"--shapes: {text!r} is not a shape; write it like NAME:1x3x224x224"


@pytest.mark.parametrize(
    ("words", "build", "compare", "paths"),
    [
        ("--dry-build m.onnx", "", (), ("m.onnx",)),
        ("--dry-build=1.7 m.onnx", "1.7", (), ("m.onnx",)),
        ("--compare m.onnx --compare=probe", None, ("", "probe"), ("m.onnx",)),
        ("m.onnx -- --dry-build --compare", None, (), ("m.onnx", "--dry-build", "--compare")),
        ("--compare -- --compare", None, ("",), ("--compare",)),
    ],
)
def test_options_without_a_value(
    words: str, build: str | None, compare: tuple[str, ...], paths: tuple[str, ...]
) -> None:
    options = [
        click.Option(["--dry-build"]), click.Option(["--compare"], multiple=True),
        click.Argument(["paths"], nargs=-1),
    ]  # fmt: skip
    context = LintCommand("lint", params=list(options)).make_context("lint", words.split())
    assert context.params == {"dry_build": build, "compare": compare, "paths": paths}


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("lint", "--dry-build-seconds"),
        ("measure", "--bound"),
        ("measure", "--seconds"),
        ("convert", "--tolerance"),
    ],
)
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_limits_are_finite_numbers(tmp_path: Path, command: str, option: str, value: str) -> None:
    words = {"convert": ["--to", "fp16"]}.get(command, [])
    found = printed(tmp_path, command, "m.onnx", *words, option, value)
    assert found.code == 2
    assert found.err.startswith(f"trtlint: Invalid value for '{option}': {value} is not ")
