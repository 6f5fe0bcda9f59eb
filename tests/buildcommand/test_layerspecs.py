"""Tests of per-layer options on command lines."""

from __future__ import annotations

from trtlint.buildcommand import find_commands
from trtlint.buildcommand.layerspecs import LayerSpec, layer_specs


def specs(options: str) -> list[LayerSpec]:
    (command,) = find_commands(f"trtexec --onnx=a.onnx {options}")
    return list(layer_specs(command))


def test_names_with_quotes_colons_and_several_types() -> None:
    found = specs("--layerPrecisions=\"'/a/b':fp32,c::d:fp16\" --layerOutputTypes=split:fp32+fp16")
    assert [(spec.option, spec.name, spec.value) for spec in found] == [
        ("--layerPrecisions", "/a/b", "fp32"),
        ("--layerPrecisions", "c::d", "fp16"),
        ("--layerOutputTypes", "split", "fp32+fp16"),
    ]


def test_the_last_of_equal_options_counts_and_variables_say_nothing() -> None:
    assert [s.name for s in specs("--layerPrecisions=a:fp32 --layerPrecisions=b:fp32")] == ["b"]
    assert specs("--layerPrecisions=$LAYERS") == []
    assert specs("--layerPrecisions") == []
    assert [(s.name, s.value) for s in specs("--layerPrecisions=a,,b:")] == [("a", ""), ("b", "")]


def test_a_star_is_any_text_and_nothing_else_is() -> None:
    (spec,) = specs("--layerPrecisions=/block[1]/*/norm:fp32")
    assert spec.means("/block[1]/attn/norm")
    assert not spec.means("/block1/attn/norm")


def test_every_setting_is_read() -> None:
    names = [f"n{number}" for number in range(12_000)]
    found = specs("--layerPrecisions=" + ",".join(f"{name}:fp32" for name in names))
    assert [spec.name for spec in found] == names


def test_blanks_and_quotes_around_names() -> None:
    found = specs("--layerPrecisions=\" 'a b' : fp32 , \"")
    assert found == [LayerSpec("--layerPrecisions", "a b", "fp32")]
    found = specs("--layerPrecisions=:fp16,:")
    assert found == [LayerSpec("--layerPrecisions", "", "fp16")]
