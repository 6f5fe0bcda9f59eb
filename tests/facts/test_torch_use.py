"""Tests of problems in save and export calls, by release."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from trtlint.engine.evidence.torch import TorchScriptEvidence
from trtlint.facts.facts import Facts
from trtlint.facts.of_torch.torch_use import TorchUseFact, _formats
from trtlint.torch_tensorrt.calls import TorchScript
from trtlint.torch_tensorrt.uses import TorchUse

SAVE = TorchUse(
    function="torch_tensorrt.save",
    product="graph",
    format="",
    retrace=None,
    sure=True,
    inputs="items",
    arg_inputs="none",
    threads=False,
    quantized=False,
    private=False,
    strict=None,
    compiled=0,
    others=False,
    dynamic=False,
    source="a.py",
    line=7,
)
EXPORT = replace(SAVE, function="torch.export.export", product="", quantized=True)
NO_INPUTS: dict[str, Any] = {"inputs": "none", "arg_inputs": "none"}


def facts(minor: int, *uses: TorchUse) -> list[TorchUseFact]:
    evidence = TorchScriptEvidence(TorchScript("a.py", f"2.{minor}.0", (), uses))
    return [
        fact for fact in Facts(None, evidence=[evidence]).of("torch_use") if isinstance(fact, TorchUseFact)
    ]


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({}, {}),
        (NO_INPUTS, {10: "no inputs", 11: "no inputs", 13: "no inputs"}),
        ({**NO_INPUTS, "others": True}, {}),
        ({**NO_INPUTS, "retrace": True}, dict.fromkeys((6, 8, 9, 10, 11, 13), "no inputs")),
        ({**NO_INPUTS, "retrace": False}, {}),
        ({**NO_INPUTS, "sure": False}, {}),
        ({**NO_INPUTS, "product": ""}, {}),
        ({**NO_INPUTS, "format": "exported_program"}, {10: "no inputs", 11: "no inputs", 13: "no inputs"}),
        ({**NO_INPUTS, "format": "torchscript"}, {}),
        ({**NO_INPUTS, "format": None}, {}),
        ({"inputs": "none", "arg_inputs": "items"}, {}),
        ({"inputs": "specs"}, {10: "specs"}),
        ({"inputs": "none", "arg_inputs": "specs"}, {6: "specs", 8: "specs", 9: "specs", 10: "specs"}),
        ({"inputs": "tensor"}, dict.fromkeys((10, 11, 13), "tensor")),
        ({"inputs": "none", "arg_inputs": "tensor"}, dict.fromkeys((10, 11, 13), "tensor")),
        ({"arg_inputs": "items"}, dict.fromkeys((6, 8, 9, 10, 11, 13), "twice")),
        ({"inputs": "tensor", "arg_inputs": "tensor"}, dict.fromkeys((6, 8, 9, 10, 11, 13), "twice")),
        (
            {"inputs": "specs", "arg_inputs": "specs"},
            {**dict.fromkeys((6, 8, 9, 10), "specs"), 11: "twice", 13: "twice"},
        ),
        ({"format": "onnx"}, dict.fromkeys((6, 8, 9, 10, 11, 13), "format")),
        ({"format": "aot_inductor"}, {6: "format"}),
        ({"format": "executorch"}, dict.fromkeys((6, 8, 9, 10, 11), "format")),
        ({"product": "torchscript"}, dict.fromkeys((6, 8, 9, 10, 11, 13), "torchscript")),
        ({"product": "torchscript", "format": "torchscript"}, dict.fromkeys((8, 10, 11, 13), "torchscript")),
        ({"product": "module"}, dict.fromkeys((6, 8, 9, 10, 11, 13), "module")),
        ({"product": "program"}, {}),
        ({"product": "program", "format": "torchscript"}, dict.fromkeys((6, 8, 9, 10, 11, 13), "program")),
    ],
)
def test_problems_of_save(changes: dict[str, Any], problems: dict[int, str]) -> None:
    """``problems`` contains the releases in which the call fails."""
    found = {minor: facts(minor, replace(SAVE, **changes))[0].problem for minor in (6, 8, 9, 10, 11, 13)}
    assert {minor: problem for minor, problem in found.items() if problem} == problems


def test_releases_that_refuse_torchscript_in_each_format() -> None:
    saved = replace(SAVE, product="torchscript", format="torchscript")
    assert [minor for minor in range(5, 15) if facts(minor, saved)[0].problem] == [8, 10, 11, 12, 13]


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({}, {5: "strict", 6: "strict"}),
        ({"strict": True}, {5: "strict", 6: "strict", 7: "strict"}),
        ({"strict": False}, {}),
        ({"private": True}, {6: "private"}),
        ({"private": True, "strict": True}, {6: "private"}),
        ({"quantized": False}, {}),
        ({"sure": False}, {}),
        ({"inputs": "tensor", "quantized": False}, dict.fromkeys((5, 6, 7), "arguments")),
        ({"inputs": "list"}, dict.fromkeys((5, 6, 7), "arguments")),
    ],
)
def test_problems_of_an_export(changes: dict[str, Any], problems: dict[int, str]) -> None:
    found = {minor: facts(minor, replace(EXPORT, **changes))[0].problem for minor in (5, 6, 7)}
    assert {minor: problem for minor, problem in found.items() if problem} == problems


@pytest.mark.parametrize(
    ("minor", "use", "reason"),
    [
        (9, SAVE, ""),
        (9, replace(SAVE, format="onnx"), "torch_tensorrt.save does not support the format onnx"),
        (9, replace(SAVE, product="torchscript"), "torch_tensorrt.save cannot write a TorchScript module without output_format='torchscript'"),
        (8, replace(SAVE, product="torchscript"), "torch_tensorrt.save cannot write a TorchScript module"),
        (9, replace(SAVE, product="module"), "torch_tensorrt.save needs a compiled graph module or an exported program, but the call passes a torch.nn.Module"),
        (9, replace(SAVE, product="program", format="torchscript"), "an exported program cannot be saved as TorchScript"),
        (10, replace(SAVE, inputs="none"), "torch_tensorrt.save traces the compiled module again and needs example inputs, but the call passes none"),
        (10, replace(SAVE, inputs="specs"), "torch_tensorrt.save needs tensors as inputs, but the call passes torch_tensorrt.Input"),
        (10, replace(SAVE, inputs="tensor"), "torch_tensorrt.save needs a list of inputs, but the call passes one tensor"),
        (9, replace(SAVE, arg_inputs="items"), "the call passes both inputs and arg_inputs"),
        (6, replace(EXPORT, inputs="list"), "torch.export.export needs a tuple of example arguments"),
        (6, EXPORT, "torch.export.export traces the quantizers of ModelOpt in strict mode"),
        (6, replace(EXPORT, private=True), "torch.export._trace._export traces the quantizers of ModelOpt in strict mode"),
    ],
)  # fmt: skip
def test_the_reason_in_words(minor: int, use: TorchUse, reason: str) -> None:
    assert facts(minor, use)[0].reason == reason


def test_formats_by_release() -> None:
    first, both = ("exported_program", "torchscript"), ("exported_program", "torchscript", "aot_inductor")
    assert [_formats(minor) for minor in (7, 8, 11, 12)] == [first, both, both, (*both, "executorch")]


def test_each_call_is_a_fact() -> None:
    other = replace(SAVE, function="torch_tensorrt.runtime.weight_streaming")
    text = replace(EXPORT, source="", format=None)
    found = facts(8, other, replace(SAVE, product="program", format="torchscript"), text)
    assert [
        (fact.function, fact.minor, fact.product, fact.format, fact.problem, fact.place) for fact in found
    ] == [
        ("torch_tensorrt.save", 8, "program", "torchscript", "program", "a.py:7"),
        ("torch.export.export", 8, "", None, "", "torch.export.export"),
    ]
    assert {(fact.node, fact.chain, fact.release) for fact in found} == {(None, (), "2.8.0")}
    assert Facts(None).of("torch_use") == ()
