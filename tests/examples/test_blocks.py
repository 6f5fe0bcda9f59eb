"""Tests of the evidence in the code blocks of an example."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.plan import PlanHeader
from trtlint.dry_build.result import DryBuildResult
from trtlint.engine.evidence.base import Evidence
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.evidence.dry_build import DryBuildEvidence
from trtlint.engine.evidence.torch import TorchProgramEvidence, TorchScriptEvidence
from trtlint.engine.rule import RuleError
from trtlint.examples import blocks as exampleblocks
from trtlint.examples.blocks import ExampleBlock, Kind, evidence_of, examples_in
from trtlint.knowledge.torchreleases import TorchReleaseError
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
        ("dry-build", "[" * 20_000, "not the result of a dry build: maximum recursion depth"),
        ("torch-program", "[" * 20_000, "not a program: maximum recursion depth"),
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


def rule(body: str) -> Any:
    """Return a rule whose body starts in line 10."""
    return SimpleNamespace(body=body, body_line=10, path=Path("rule.md"))


BODY = """Text.

## Fires

```onnx --trt 10.8
a
b
```
```log
c
```

```layers
d
```
```log --more  words
e
```
More text.
```profile
f
```
```text
no example
```
```plan
g
```
## Silent  On  Purpose
```plan
h
```
```onnx
i
```
```onnx

```
"""


def test_blocks_of_a_rule() -> None:
    fires, silent = "fires", "silent  on  purpose"
    assert examples_in(rule(BODY)) == [
        (
            ExampleBlock("onnx", fires, 14, "--trt 10.8", "a\nb"),
            ExampleBlock("log", fires, 18, "", "c"),
            ExampleBlock("layers", fires, 22, "", "d"),
        ),
        (ExampleBlock("log", fires, 25, "--more  words", "e"),),
        (ExampleBlock("profile", fires, 29, "", "f"),),
        (ExampleBlock("plan", fires, 35, "", "g"),),
        (ExampleBlock("plan", silent, 39, "", "h"),),
        (ExampleBlock("onnx", silent, 42, "", "i"),),
        (ExampleBlock("onnx", silent, 45, "", ""),),
    ]
    assert examples_in(rule("")) == []
    assert examples_in(rule("```log\na\n```")) == [(ExampleBlock("log", "", 10, "", "a"),)]


def test_a_block_without_an_end() -> None:
    with pytest.raises(RuleError) as raised:
        examples_in(rule(BODY + "```onnx\nx\n"))
    assert (raised.value.path, raised.value.line) == (Path("rule.md"), 48)
    assert "the code block is not closed" in str(raised.value)


def test_the_number_of_blocks_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exampleblocks, "_MOST_BLOCKS", 3)
    block = "```text\n```\n"
    assert examples_in(rule(f"a\n{block * 3}")) == []
    with pytest.raises(RuleError) as raised:
        examples_in(rule(f"a\n{block * 4}"))
    assert (raised.value.path, raised.value.line) == (Path("rule.md"), 1)
    assert "more than 3 code blocks" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("tensorrt 10.7.0", PlanHeader("tensorrt", "10.7.0")),
        (" tensorrt-rtx 1.2 ", PlanHeader("tensorrt-rtx", "1.2")),
        ("tensorrt", None),
        ("other 1.2", None),
        ("", None),
    ],
)
def test_the_header_of_an_engine(text: str, header: PlanHeader | None) -> None:
    if header is None:
        with pytest.raises(
            BuildFileError, match="a code block 'plan' must name a product and a version, such as"
        ):
            evidence(("plan", text))
        return
    (found,) = evidence(("plan", text))
    assert isinstance(found, BuildEvidence)
    assert (found.record.plan, found.files) == (header, ("model.plan",))


def test_the_release_of_a_script() -> None:
    def release(options: str) -> str:
        (found,) = evidence_of([ExampleBlock("torch-script", "fires", 1, options, "import torch")], None)
        assert isinstance(found, TorchScriptEvidence)
        return found.script.release

    assert release("--torch-tensorrt 2.8") == release("--other --torch-tensorrt 2.8 more") == "2.8.0"
    for options in ("", "--torch-tensorrt", "2.8 --torch-tensorrt"):
        with pytest.raises(TorchReleaseError, match="unknown Torch-TensorRT release ''"):
            release(options)
