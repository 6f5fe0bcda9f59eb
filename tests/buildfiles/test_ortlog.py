"""Tests of partitions in ONNX Runtime logs."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.inprocess import printed
from tests.partition.test_predict import TWO_UNIQUES, write
from tests.schemas import load
from trtlint.buildfiles import ortlog
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.ortlog import NodePlacement, OrtLog, ort_log

STAMP = "2026-11-01 10:00:00.123456789"
VERIFY = "session_state.cc:1148 VerifyEachNodeIsAssignedToAnEp"


def lines(parts: int, *left: str) -> str:
    """Return the log lines of a session that lists its nodes."""
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


def head(provider: str, count: int, *, every: bool = False) -> str:
    nodes = "All nodes" if every else "Node(s)"
    return f"{STAMP} [V:onnxruntime:, {VERIFY}]  {nodes} placed on [{provider}]. Number of nodes: {count}\n"


def node(text: str) -> str:
    return f"{STAMP} [V:onnxruntime:, {VERIFY}]   {text}\n"


def sentence(text: str) -> str:
    return f"{STAMP} [I:onnxruntime:, x.cc:1 GetCapability] {text}\n"


CPU, CUDA, TRT, RTX = (f"{name}ExecutionProvider" for name in ("CPU", "CUDA", "Tensorrt", "NvTensorRTRTX"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            head(CPU, 1) + node("Unique (u)") + head(TRT, 2) + node("T (t)") + head(CUDA, 2)
            + node("MemcpyToHost (m)") + node("Add ()"),
            OrtLog("TensorRT", 2, (NodePlacement("Unique", "u"), NodePlacement("Add", "")), 1, 0),
        ),
        (head(RTX, 3) + head(TRT, 4), OrtLog("NvTensorRTRTX", 7, (), 0, 0)),
        (
            node("Lost (l)") + head(CPU, 1) + node("Add (a)"),
            OrtLog("", None, (NodePlacement("Add", "a"),), 0, 0),
        ),
        (head(CPU, 5, every=True) + node("Add (a)"), OrtLog("", None, (), 0, 0)),
        (
            head(CPU, 5, every=True) + head(CPU, 1) + node("Add (a)"),
            OrtLog("", None, (NodePlacement("Add", "a"),), 0, 0),
        ),
        (
            sentence("[TensorRT EP] No graph will run on TensorRT execution provider")
            + sentence("[TensorRT EP] Whole graph will run on TensorRT execution provider"),
            OrtLog("TensorRT", 1, None, 0, 2),
        ),
        (
            sentence("[TensorRT EP] Whole graph will run on TensorRT execution provider")
            + sentence("[NvTensorRTRTX EP] No graph will run on Nv") + head(TRT, 4),
            OrtLog("NvTensorRTRTX", 0, (), 0, 2),
        ),
    ],
)  # fmt: skip
def test_the_partition_of_a_log(tmp_path: Path, text: str, expected: OrtLog) -> None:
    assert read(tmp_path, text) == expected


def test_a_log_that_cannot_be_read_again_has_no_nodes(tmp_path: Path) -> None:
    path = tmp_path / "ort.log"
    path.write_text(head(CPU, 1) + node("Add (a)"))
    log = read_log(str(path))
    assert ort_log(log, None) == OrtLog("", None, None, 0, 0)
    path.unlink()
    assert ort_log(log, path) == OrtLog("", None, (), 0, 0)
    path.write_text("words\n")
    assert ort_log(read_log(str(path)), path) is None


def test_the_nodes_of_a_log_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines_ = [head(CPU, 3), *(node(f"Add ({name})") for name in "abc")]

    def names() -> str:
        others = read(tmp_path, "".join(lines_)).others
        assert others is not None
        return "".join(each.name for each in others)

    for most, found in ((2, "ab"), (3, "abc")):
        monkeypatch.setattr(ortlog, "_MOST_NODES", most)
        assert names() == found
    size = len(lines_[0]) + len(lines_[1])
    for most, found in ((size, "a"), (size + 1, "ab")):
        monkeypatch.setattr(ortlog, "_MOST_BYTES", most)
        assert names() == found
    monkeypatch.setattr(ortlog, "_MOST_BYTES", 1 << 20)
    for most, found in ((len(lines_[0]), "abc"), (len(lines_[1]) - 3, "")):
        monkeypatch.setattr(ortlog, "_LONGEST", most)
        assert names() == found
