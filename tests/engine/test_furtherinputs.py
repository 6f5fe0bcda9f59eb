"""Tests of suggested measurements with the user's inputs, and of their types."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.graphs import facts_of
from trtlint.engine.finding import Severity, Suggestion
from trtlint.engine.furtherinputs import measuring
from trtlint.facts.facts import Facts
from trtlint.target.target import Target

TF32, FP16, BF16, STORED = "target.tf32", "target.fp16", "target.bf16", 'dtype == "f16"'


def facts(type_: str = "float") -> Facts:
    return facts_of(
        f'< ir_version: 10, opset_import: ["" : 22] > g ({type_}[2] x) => ({type_}[2] y) {{ y = Abs (x) }}'
    )


def found(*rule: str) -> Any:
    return SimpleNamespace(rule=rule[0], severity=rule[1], depends=rule[2:])


def entry(id_: str, where: str | None, group: str = "accuracy") -> Any:
    condition = None if where is None else SimpleNamespace(text=where)
    return SimpleNamespace(id=id_, group=group, read=lambda: SimpleNamespace(where=condition))


def suggested(type_: str, *options: str) -> tuple[Suggestion, ...]:
    command = " ".join(("trtlint measure MODEL --inputs batch.npz", *options))
    return (Suggestion("inputs", command, f"the {type_} error of each output, measured with your inputs"),)


WEAK, HALF = Target(version="10.7"), Target(version="10.7", asked=frozenset({"fp16"}))
TRT, FLAG = ("--trt", "10.7"), ("--trt", "10.7", "--fp16")


@pytest.mark.parametrize(
    ("wheres", "stored", "target", "type_", "options"),
    [
        ((TF32,), "float", WEAK, "TF32", ("--type", "tf32", *TRT)),
        ((f"{TF32} and size > 1",), "float", WEAK, "TF32", ("--type", "tf32", *TRT)),
        ((TF32, FP16), "float", WEAK, "BF16", ("--type", "bf16", *TRT)),
        ((f"{BF16} or {TF32}",), "float", WEAK, "BF16", ("--type", "bf16", *TRT)),
        ((BF16,), "float", WEAK, "BF16", ("--type", "bf16", *TRT)),
        ((STORED,), "float", WEAK, "BF16", ("--type", "bf16", *TRT)),
        ((TF32,), "float", HALF, "FP16", FLAG),
        ((FP16,), "float", HALF, "FP16", FLAG),
        ((TF32,), "float16", WEAK, "FP16", TRT),
        ((FP16,), "bfloat16", HALF, "BF16", FLAG),
        ((TF32,), "bfloat16", WEAK, "BF16", TRT),
        ((TF32,), "float", Target(), "TF32", ("--type", "tf32")),
    ],
)
def test_the_type_to_measure(
    wheres: tuple[str, ...], stored: str, target: Target, type_: str, options: tuple[str, ...]
) -> None:
    rules = [entry(f"A{i}", where) for i, where in enumerate(wheres)]
    findings = [found(rule.id, "warning") for rule in rules]
    assert measuring(facts(stored), findings, rules, target) == suggested(type_, *options)


@pytest.mark.parametrize(
    ("severity", "depends", "rule"),
    [
        ("error", (), entry("A", TF32)),
        ("note", (), entry("A", TF32)),
        ("warning", ("--fp16",), entry("A", TF32)),
        ("warning", (), entry("B", TF32)),
        ("warning", (), entry("A", TF32, "performance")),
        ("warning", (), entry("A", None)),
        ("warning", (), entry("A", "target.fp8 or xf16 or f160")),
    ],
)
def test_no_measurement_is_suggested(severity: Severity, depends: tuple[str, ...], rule: Any) -> None:
    assert measuring(facts(), [found("A", severity, *depends)], [rule], WEAK) == ()
    both = [found("A", severity, *depends), found("C", "warning")]
    assert measuring(facts(), both, [rule, entry("C", TF32)], WEAK) != ()
