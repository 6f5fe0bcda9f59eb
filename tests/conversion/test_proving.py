"""Tests of engine counts and their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.conversion import proving
from trtlint.conversion.proving import EngineCounts, build, counts, parse
from trtlint.dry_build.result import ParserMessage
from trtlint.errors import TrtlintError

NAMES = {
    "_gemm_mha_v2_myl0_3": (1, 0),
    "__myl_AddMeanSubMulMeanAddSqrtDivMulMulAdd_myl0_1": (0, 1),
    "__myl_AddMulMeanAddSqrtDivMulMul_myl0_1": (0, 1),
    "__myl_Gnor_myl0_0": (0, 1),
    "__myl_ReshAddMeanSubMulMean_myl0_4": (0, 0),
    "/a/MatMul_myl0_0": (0, 0),
}
"""Names of layers of TensorRT-RTX with the fused attention and normalizations that they count as."""


def engine(*names: str) -> Any:
    """Return a build with layers of these names."""
    layers = [SimpleNamespace(name=name, tactic=None) for name in names]
    record = SimpleNamespace(layers=SimpleNamespace(layers=layers), log=None)
    return SimpleNamespace(record=record, result=SimpleNamespace(built=True, version="1.7"))


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_fused_kernels_are_counted_by_name(name: str, expected: tuple[int, int]) -> None:
    found = counts(engine(name))
    assert (found.attention, found.norms, found.layers) == (*expected, 1)


def test_a_build_without_layers_counts_nothing() -> None:
    assert counts(SimpleNamespace(record=None)) == EngineCounts()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "narrow", "result", "verdict", "text"),
    [
        (["__myl_Gnor"], None, ["__myl_Gnor"], "proven", "builds the converted model"),
        (["__myl_Gnor"], None, ["__myl_Mean", "__myl_Sqrt"], "unproven", "0 fused normalizations, but 1 in"),
        (["a"], ["_gemm_mha_v2"], ["a"], "unproven", "some operators must stay in FP32"),
        (["_gemm_mha_v2"], None, ["a"], "failed", "1 in the source model"),
        (["a"], None, ["a", "b", "c", "d"], "unproven", "have at most 1 layers"),
    ],
    ids=["same", "norm", "needs FP32", "attention", "layers"],
)
def test_a_result_is_compared_with_the_better_build(
    monkeypatch: pytest.MonkeyPatch,
    source: list[str],
    narrow: list[str] | None,
    result: list[str],
    verdict: str,
    text: str,
) -> None:
    builds = {"source": engine(*source), "result": engine(*result), "narrow": engine(*(narrow or ()))}
    monkeypatch.setattr(proving, "dry_build", lambda path, **_: builds[path.name])
    found = build(Path("result"), Path("source"), Path("narrow") if narrow else None, None)
    assert found.verdict == verdict
    assert text in found.text
    assert found.figures["layers"]["result"] == len(result)


def failing(*names: str) -> Callable[..., SimpleNamespace]:
    """Return a replacement of ``dry_build`` that fails for some models, and rejects the others."""

    def dry_build(path: Path, **_: object) -> SimpleNamespace:
        if path.name in names:
            raise TrtlintError(f"{path.name} exceeds the memory limit")
        result = SimpleNamespace(
            version="1.7.1", parsed=False, built=False, errors=(), cause="bad", signal=""
        )
        return SimpleNamespace(result=result)

    return dry_build


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("source", "trtlint could not build the source model: source exceeds the memory limit"),
        ("result", "trtlint could not build the converted model: result exceeds the memory limit"),
        ("narrow", "TensorRT-RTX 1.7.1 builds neither the source model nor the converted model"),
    ],
)
def test_a_build_that_does_not_run_is_explained(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.setattr(proving, "dry_build", failing(name))
    found = build(Path("result"), Path("source"), Path("narrow"), None)
    assert (found.verdict, found.text) == ("unproven", text)


def test_a_source_that_cannot_be_parsed_is_not_called_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proving, "dry_build", failing("source"))
    check, nodes = parse(Path("result"), Path("source"))
    assert check is not None
    assert (check.verdict, nodes) == ("unproven", ())
    assert check.text == (
        "TensorRT-RTX 1.7.1 rejects the converted model: the parser stopped without a result: bad; "
        "trtlint could not parse the source model: source exceeds the memory limit"
    )


@pytest.mark.parametrize(
    ("node", "op", "text"),
    [("/q", "MatMulInteger", "false (MatMulInteger at /q)"), ("", "Mod", "false (Mod)"), ("", "", "false")],
)
def test_an_error_of_the_parser_names_its_node(
    monkeypatch: pytest.MonkeyPatch, node: str, op: str, text: str
) -> None:
    error = ParserMessage("UNSUPPORTED_NODE", node, op, 0, "false", "checkMatMulInteger")
    result = SimpleNamespace(version="1.7.1", parsed=False, errors=(error,))
    monkeypatch.setattr(proving, "dry_build", lambda *_, **__: SimpleNamespace(result=result))
    check, _ = parse(Path("result"), Path("source"))
    assert check is not None
    assert check.text == f"TensorRT-RTX 1.7.1 rejects both the converted model and the source model: {text}"
