"""The evidence in the code blocks of an example."""

from __future__ import annotations

import json

import pytest

from trtlint.buildfiles.errors import BuildFileError
from trtlint.dry_build.result import DryBuildResult
from trtlint.engine.evidence.base import Evidence
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.evidence.dry_build import DryBuildEvidence
from trtlint.engine.evidence.torch_program import TorchProgramEvidence
from trtlint.engine.evidence.torch_script import TorchScriptEvidence
from trtlint.engine.exampleblocks import ExampleBlock, Kind, evidence_of
from trtlint.measurement.measuredtext import MeasuredTextError


def evidence(*blocks: tuple[Kind, str]) -> tuple[Evidence, ...]:
    """Return the evidence in some blocks."""
    return evidence_of(
        [ExampleBlock(kind, "fires", 1, "--torch-tensorrt 2.8", text) for kind, text in blocks], None
    )


LAYERS = json.dumps({"Layers": ["a"], "Bindings": []})
PROFILE = json.dumps([{"count": 1}, {"name": "a", "timeMs": 1.0, "averageMs": 1.0, "percentage": 100.0}])
LOG = "[I] Engine built in 2.1 sec.\n"
DRY = json.dumps({"version": "1.7.1", "parsed": True})
PROGRAM = json.dumps({"nodes": []})


def test_blocks_of_a_build_are_one_evidence() -> None:
    (found,) = evidence(("log", LOG), ("layers", LAYERS), ("profile", PROFILE))
    assert isinstance(found, BuildEvidence)
    assert found.files == ("build.log", "layers.json", "profile.json")
    assert evidence() == ()


def test_a_log_belongs_to_the_dry_build_beside_it() -> None:
    (found,) = evidence(("dry-build", DRY), ("log", LOG))
    assert isinstance(found, DryBuildEvidence)
    assert found.build is not None
    assert found.build.result == DryBuildResult("1.7.1", parsed=True)
    assert found.build.record is not None
    assert found.build.record.log is not None
    (alone,) = evidence(("dry-build", DRY))
    assert isinstance(alone, DryBuildEvidence)
    assert alone.build is not None
    assert alone.build.record is None


def test_scripts_and_programs_follow_the_build() -> None:
    found = evidence(("torch-program", PROGRAM), ("torch-script", "import torch\n"), ("log", LOG))
    assert [type(each) for each in found] == [BuildEvidence, TorchProgramEvidence, TorchScriptEvidence]


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        ("dry-build", "{", "not the result of a dry build: Expecting property name"),
        ("dry-build", "[]", "not the result of a dry build: Expected `object`, got `array`"),
        ("dry-build", "{}", "not the result of a dry build: Object missing required field `version`"),
        ("dry-build", '{"version": 1}', "not the result of a dry build: Expected `str`, got `int`"),
        ("torch-program", "{", "not a program: Expecting property name"),
        ("torch-program", "[]", "not a program: list indices"),
        ("torch-program", "{}", "not a program: 'nodes'"),
        ("torch-program", '{"nodes": [1]}', "not a program: Expected `object`"),
        ("torch-program", '{"nodes": [], "answers": 1}', "not a program: 'int' object is not iterable"),
        ("torch-program", '{"nodes": [], "answers": [{"network": 1}]}', "not a program: argument of type"),
        ("torch-program", '{"nodes": [], "answers": [{"build": {"engine": 1}}]}', "not a program: 'built'"),
        (
            "torch-program",
            '{"nodes": [], "answers": [{"fallbacks": [1]}]}',
            "not a program: 'int' object has no",
        ),
        ("layers", "[", ""),
        ("profile", "{}", ""),
    ],
)
def test_a_block_of_another_form(kind: Kind, text: str, says: str) -> None:
    with pytest.raises(BuildFileError) as caught:
        evidence((kind, text))
    assert says in str(caught.value)


def test_ranges_need_a_model() -> None:
    with pytest.raises(
        MeasuredTextError, match="a code block 'ranges' must come after the code block of a model"
    ):
        evidence(("ranges", "x: 0 .. 1"))
