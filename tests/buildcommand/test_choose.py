"""Tests of targets, build commands and rules from options, and of usage errors."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from trtlint.buildcommand import read_commands
from trtlint.buildcommand.providers import of_command_line
from trtlint.commands.setup import (
    build_command,
    build_commands,
    provider_commands,
    refuse_addresses,
    rulebook,
    targets,
)
from trtlint.policy.options import EpOptions, TargetOptions
from trtlint.target.target import Target


def test_targets() -> None:
    assert targets(TargetOptions()) == [Target()]
    assert [each.version for each in targets(TargetOptions(trt=("10.7..10.8",)))] == ["10.7", "10.8"]
    with pytest.raises(click.UsageError):
        targets(TargetOptions(trt=("ten",)))


def test_build_commands() -> None:
    assert build_commands(None) == ()
    assert build_commands("trtexec --fp16") == read_commands("trtexec --fp16")
    with pytest.raises(click.UsageError):
        build_commands("")


def test_the_command_of_a_provider() -> None:
    texts = ("a=1 b=2", "c=3")
    assert provider_commands(EpOptions()) == ()
    assert provider_commands(EpOptions("tensorrt", texts)) == (of_command_line("tensorrt", texts),)
    with pytest.raises(click.UsageError) as error:
        provider_commands(EpOptions("tensorrt", ("a",)))
    words = "--ep-options 'a': write KEY=VALUE, such as trt_engine_cache_enable=1"
    assert error.value.message == words


def test_one_command_of_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "build.sh"
    lines = ("trtexec --onnx=a.onnx --fp16", "trtexec --onnx=b.onnx", "trtexec --onnx=a.onnx",
             "trtexec --onnx=a.onnx --int8")  # fmt: skip
    file.write_text("\n".join(lines), "utf-8")
    commands = build_commands(str(file))
    assert len(commands) == 4
    assert build_command(commands, tmp_path / "b.onnx") == commands[1]
    assert capsys.readouterr().err == ""
    assert build_command(commands, tmp_path / "a.onnx") == commands[0]
    words = f"trtlint: warning: using {commands[0].place} for a.onnx; line 3, 4 also matches\n"
    assert capsys.readouterr().err == words
    assert build_command(commands, tmp_path / "c.onnx") is None
    words = "trtlint: warning: the file of --build contains no command with --onnx=c.onnx\n"
    assert capsys.readouterr().err == words
    assert build_command((), tmp_path / "c.onnx") is None
    assert capsys.readouterr().err == ""


def test_a_configuration_of_triton_beside_the_model(tmp_path: Path) -> None:
    model = tmp_path / "net" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    config = tmp_path / "net" / "config.pbtxt"
    config.write_text('name: "net"\nplatform: "onnxruntime_onnx"\n', "utf-8")
    found = build_command((), model)
    assert found is not None
    assert found.source == str(config)
    (command,) = read_commands("trtexec --fp16")
    assert build_command((command,), model) == command


def test_remote_models_are_refused() -> None:
    refuse_addresses(["m.onnx", "https"])
    with pytest.raises(click.UsageError) as error:
        refuse_addresses(["m.onnx", "https://example.org/m.onnx?token=1"])
    words = "https://example.org/m.onnx: this is a remote model; download the file first"
    assert error.value.message == words


def test_a_rule_file_that_is_wrong(tmp_path: Path) -> None:
    assert len(rulebook([]).entries) > 100
    (tmp_path / "XYZ901-wrong.md").write_text("no rule", "utf-8")
    with pytest.raises(click.UsageError, match=r"XYZ901-wrong\.md:1: "):
        rulebook([str(tmp_path)])
