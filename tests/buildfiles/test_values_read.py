"""Tests of single values in build files: versions, flags, tactics and encodings."""

from __future__ import annotations

import gzip
import io

import pytest

from trtlint.buildfiles.layers import from_json
from trtlint.buildfiles.plan import MAGIC, PlanHeader, plan_header
from trtlint.buildfiles.settings import Collector
from trtlint.buildfiles.stream import decoded


def test_the_flags_of_polygraphy_are_known() -> None:
    collector = Collector()
    collector.configuration("Flags | [FP16, TF32]", 3)
    settings = collector.settings()
    assert settings.precision == {"fp32", "fp16"}
    assert settings.tf32 is True
    assert settings.flags == {"fp16"}
    assert Collector().settings().flags is None


@pytest.mark.parametrize(
    ("magic", "major", "known"),
    [
        (b"ftrt", 7, False),
        (b"ftrt", 8, True),
        (b"ftrt", 15, True),
        (b"ftrt", 16, False),
        (b"vtrt", 0, False),
        (b"vtrt", 1, True),
        (b"vtrt", 7, True),
        (b"vtrt", 8, False),
    ],
)
def test_majors_that_a_header_can_have(magic: bytes, major: int, known: bool) -> None:
    found = plan_header(magic + bytes(20) + bytes((major, 2, 3, 4)) + bytes(100))
    product = MAGIC[magic]
    assert found == PlanHeader(product, f"{major}.2.3" if known else None)


def test_tactics_of_layers() -> None:
    layers = [
        {"Name": "a", "TacticName": "kernel", "TacticValue": "0x01"},
        {"Name": "b", "TacticName": "", "TacticValue": ""},
        {"Name": "c"},
    ]
    found = from_json({"Layers": layers})
    assert found is not None
    assert [layer.tactic for layer in found.layers] == ["kernel", None, None]


TEXT = "[I] Größe\n[W] second line\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("zipped", [False, True])
def test_encodings_of_logs(encoding: str, zipped: bool) -> None:
    data = TEXT.encode(encoding)
    stream, _ = decoded(io.BytesIO(gzip.compress(data) if zipped else data))
    found = b""
    while chunk := stream.read(5):
        found += chunk
    assert found.decode("utf-8") == TEXT
