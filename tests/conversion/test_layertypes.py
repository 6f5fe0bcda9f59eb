"""Tests of per-layer types for a weakly typed build."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import TensorProto

from tests.conversion.models import PRODUCTS, converted, saved, types
from trtlint.buildcommand import read_commands
from trtlint.buildcommand.layerspecs import LayerSpec
from trtlint.conversion.layertypes import Constraints, LayerTypes, of_command, of_polygraphy


def command(options: str) -> LayerTypes:
    (found,) = read_commands(f"trtexec --onnx=m.onnx --fp16 {options}")
    return of_command(found)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("--layerPrecisions=first:fp32 --precisionConstraints=obey", {"first", "soft"}),
        ("--layerPrecisions=*:fp32,second:fp16 --precisionConstraints=obey", {"first", "soft", ""}),
        ("--layerPrecisions=first:fp32 --precisionConstraints=none", set()),
        ("--layerPrecisions=first:fp32", set()),
        ("--layerOutputTypes=soft:fp32 --precisionConstraints=obey", {"soft"}),
        ("--layerPrecisions=soft:fp32 --precisionConstraints=prefer", {"soft"}),
    ],
)
def test_layers_get_the_type_that_the_build_asks_for(options: str, kept: set[str], tmp_path: Path) -> None:
    path = saved(PRODUCTS, tmp_path / "m.onnx")
    _, draft = converted(path, layers=command(options))
    found = {each.node for each in draft.conversion.kept}
    assert {name if name in ("first", "second", "soft") else "" for name in found} == kept


def test_polygraphy_names_layers_too(tmp_path: Path) -> None:
    script = tmp_path / "build.sh"
    script.write_text(
        "polygraphy convert m.onnx --fp16 --precision-constraints obey \\\n"
        "  --layer-precisions first:float32 'second:float16' -o m.engine\n"
    )
    found = of_polygraphy(str(script))
    assert found is not None
    assert ([(spec.name, spec.value) for spec in found.specs], found.constraints) == (
        [("first", "float32"), ("second", "float16")],
        "obey",
    )
    model, _ = converted(saved(PRODUCTS, tmp_path / "m.onnx"), layers=found)
    assert types(model)["a"] == TensorProto.FLOAT


def test_names_that_no_operator_has_are_noted(tmp_path: Path) -> None:
    layers = command("--layerPrecisions=nowhere:fp32,first:int8 --precisionConstraints=obey")
    _, draft = converted(saved(PRODUCTS, tmp_path / "m.onnx"), layers=layers)
    assert draft.conversion.notes == (
        "the settings name 1 layers that match no operator of the model: nowhere",
        "the settings give these layers data types that have no effect: first:int8",
    )


@pytest.mark.parametrize(
    ("names", "kept", "notes"),
    [
        (["soft*"] * 199 + ["first*"], {"first", "soft"}, ()),
        (
            ["soft*"] * 200 + ["first*", "second"],
            {"soft", "second"},
            (
                "the settings have 201 layer names with *; trtlint applies only the first 200, so write the "
                "remaining names without *",
            ),
        ),
        (["soft"] * 9_999 + ["first"], {"first", "soft"}, ()),
        (
            ["soft"] * 10_000 + ["first"],
            {"soft"},
            ("the settings name 10,001 layers; trtlint applies only the first 10,000",),
        ),
    ],
)
def test_limits_of_settings_are_noted(
    names: list[str], kept: set[str], notes: tuple[str, ...], tmp_path: Path
) -> None:
    words = " ".join(f"{name}:fp32" for name in names)
    layers = of_polygraphy(f"polygraphy run --layer-precisions {words} --precision-constraints obey")
    _, draft = converted(saved(PRODUCTS, tmp_path / "m.onnx"), layers=layers)
    assert {each.node for each in draft.conversion.kept if not each.node.startswith("Relu")} == kept
    assert draft.conversion.notes == notes


@pytest.mark.parametrize(
    ("options", "constraints"),
    [
        ("", "none"),
        ("--precisionConstraints=none", "none"),
        ("--precisionConstraints=obey", "obey"),
        ("--precisionConstraints=prefer", "prefer"),
        ("--precisionConstraints=always", "none"),
        ("--precisionConstraints=zero", "none"),
        ("--precisionConstraints=", "none"),
    ],
)
def test_how_binding_the_types_are(options: str, constraints: Constraints) -> None:
    found = command(f"--layerPrecisions=a:fp32,b:fp16 --layerDeviceTypes=a:GPU {options}")
    specs = (LayerSpec("--layerPrecisions", "a", "fp32"), LayerSpec("--layerPrecisions", "b", "fp16"))
    assert found == LayerTypes(specs, constraints, "--layerPrecisions")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("polygraphy convert m.onnx", None),
        ("trtexec --layer-precisions a:fp32", None),
        ("polygraphy convert --layer-precisions 'a:fp32", None),
        (
            "ls\npolygraphy convert --layer-precisions a:b:float32 c:float16 -o x # d:fp32",
            ([("a:b", "float32"), ("c", "float16")], "none"),
        ),
        (
            "polygraphy convert --layer-precisions=a:fp32 --precision-constraints=prefer",
            ([("a", "fp32")], "prefer"),
        ),
        (
            "polygraphy convert --layer-precisions a:fp32\npolygraphy convert --layer-precisions b:fp32",
            ([("a", "fp32")], "none"),
        ),
    ],
)
def test_layer_types_of_polygraphy(text: str, expected: tuple[list[tuple[str, str]], str] | None) -> None:
    found = of_polygraphy(text)
    if expected is None:
        assert found is None
    else:
        specs = tuple(LayerSpec("--layerPrecisions", *each) for each in expected[0])
        assert found is not None
        assert (found.specs, found.constraints, found.source) == (specs, expected[1], "--layer-precisions")
