"""Tests of the choice of the command that builds a model, and of the command of an execution provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtlint.buildcommand import CommandError, choose_command, read_commands
from trtlint.buildcommand.providers import of_command_line
from trtlint.policy.options import EpOptions, as_option, ep_options_of


def test_the_command_of_a_provider() -> None:
    texts = ("a=1 b=2", "c=3")
    assert ep_options_of(None, (), as_option) == EpOptions()
    found = ep_options_of("tensorrt", texts, as_option)
    assert found == EpOptions("tensorrt", (of_command_line("tensorrt", texts),))
    assert ep_options_of("tensorrt", {"a": 1, "b": 2, "c": 3}, as_option) == found
    with pytest.raises(CommandError) as error:
        ep_options_of("tensorrt", ("a",), as_option)
    assert str(error.value) == "--ep-options 'a': write KEY=VALUE, such as trt_engine_cache_enable=1"


def test_one_command_of_several(tmp_path: Path) -> None:
    file = tmp_path / "build.sh"
    lines = ("trtexec --onnx=a.onnx --fp16", "trtexec --onnx=b.onnx", "trtexec --onnx=a.onnx",
             "trtexec --onnx=a.onnx --int8")  # fmt: skip
    file.write_text("\n".join(lines), "utf-8")
    commands, warnings = read_commands(str(file)), list[str]()
    assert len(commands) == 4
    assert choose_command(tmp_path / "b.onnx", commands, warnings.append) == commands[1]
    assert warnings == []
    assert choose_command(tmp_path / "a.onnx", commands, warnings.append) == commands[0]
    assert warnings == [f"warning: using {commands[0].place} for a.onnx; lines 3, 4 also match"]
    warnings.clear()
    assert choose_command(tmp_path / "c.onnx", commands, warnings.append) is None
    assert warnings == ["warning: no build command in the given file has --onnx=c.onnx"]
    warnings.clear()
    assert choose_command(tmp_path / "c.onnx", (), warnings.append) is None
    assert warnings == []


def test_a_configuration_of_triton_beside_the_model(tmp_path: Path) -> None:
    model = tmp_path / "net" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    config = tmp_path / "net" / "config.pbtxt"
    config.write_text('name: "net"\nplatform: "onnxruntime_onnx"\n', "utf-8")
    found = choose_command(model, (), print)
    assert found is not None
    assert found.source == str(config)
    (command,) = read_commands("trtexec --fp16")
    assert choose_command(model, (command,), print) == command
