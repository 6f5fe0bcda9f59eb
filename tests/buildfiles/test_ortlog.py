"""The partition in logs of ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.inprocess import printed
from tests.partition.test_predict import TWO_UNIQUES, write
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.ortlog import OrtLog, ort_log
from trtlint.report.schemas import load

STAMP = "2026-11-01 10:00:00.123456789"
VERIFY = "session_state.cc:1148 VerifyEachNodeIsAssignedToAnEp"


def lines(parts: int, *left: str) -> str:
    """The lines of a session whose nodes are listed."""
    said = (
        f"{STAMP} [I:onnxruntime:, tensorrt_execution_provider.cc:2611 GetCapability] [TensorRT EP] Graph is "
        f"partitioned and number of subgraphs running on TensorRT execution provider is {parts}\n"
        f"{STAMP} [V:onnxruntime:, {VERIFY}] Node placements\n"
        f"{STAMP} [V:onnxruntime:, {VERIFY}]  Node(s) placed on [TensorrtExecutionProvider]. "
        f"Number of nodes: {parts}\n"
        f"{STAMP} [V:onnxruntime:, {VERIFY}]   TRTKernel_graph_g_1_0 (TensorrtExecutionProvider_1_0)\n"
        f"{STAMP} [V:onnxruntime:, {VERIFY}]  Node(s) placed on [CPUExecutionProvider]. Number of nodes: "
        f"{len(left)}\n"
    )
    return said + "".join(f"{STAMP} [V:onnxruntime:, {VERIFY}]   {each}\n" for each in left)


def read(folder: Path, text: str) -> OrtLog:
    """Read a log of some lines."""
    path = folder / "ort.log"
    path.write_text(text)
    found = ort_log(read_log(str(path)), path)
    assert found is not None
    return found


def test_parts_and_nodes_of_other_providers(tmp_path: Path) -> None:
    found = read(tmp_path, lines(3, "Unique (u1)", "Unique (u2)", "MemcpyFromHost (Memcpy)"))
    assert (found.provider, found.parts, found.copies, found.line) == ("TensorRT", 3, 1, 1)
    assert found.others is not None
    assert [(each.op, each.name) for each in found.others] == [("Unique", "u1"), ("Unique", "u2")]


@pytest.mark.parametrize(
    ("text", "provider", "parts"),
    [
        ("[TensorRT EP] Whole graph will run on TensorRT execution provider", "TensorRT", 1),
        ("[TensorRT EP] No graph will run on TensorRT execution provider", "TensorRT", 0),
        (
            "[NvTensorRTRTX EP] Graph is partitioned and number of subgraphs running on Nv executio provider "
            "is 7",
            "NvTensorRTRTX",
            7,
        ),
    ],
)
def test_sentences_of_the_providers(tmp_path: Path, text: str, provider: str, parts: int) -> None:
    found = read(tmp_path, f"{STAMP} [I:onnxruntime:, x.cc:1 GetCapability] {text}\n")
    assert (found.provider, found.parts) == (provider, parts)


def test_all_nodes_on_one_provider(tmp_path: Path) -> None:
    text = "All nodes placed on [TensorrtExecutionProvider]. Number of nodes: 1"
    found = read(tmp_path, f"{STAMP} [V:onnxruntime:, {VERIFY}]  {text}\n")
    assert (found.parts, found.others) == (1, ())


@pytest.mark.parametrize(
    ("parts", "left", "standing"),
    [(3, ("Unique (u1)", "Unique (u2)"), "confirmed"), (1, (), "refuted"), (3, ("Unique (u1)",), "refuted")],
)
def test_a_log_confirms_or_refutes_the_prediction(
    tmp_path: Path, parts: int, left: tuple[str, ...], standing: str
) -> None:
    path, log = write(tmp_path, TWO_UNIQUES), tmp_path / "ort.log"
    log.write_text(lines(parts, *left))
    arguments = ("--log", str(log), "--trt", "10.13", "--format", "json", "--exit-zero")
    document = json.loads(printed(tmp_path, "lint", str(path), *arguments).out)
    jsonschema.validate(document, load("trtlint.report/1"))
    assert document["models"][0]["partition"]["log"]["standing"] == standing
