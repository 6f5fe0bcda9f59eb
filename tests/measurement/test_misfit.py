"""Tests of messages for models that do not fit FP16 or cannot be measured."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests import schemas
from trtlint.cli import run
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.facts.facts import Facts
from trtlint.facts.of_trial.tensor_range import TensorRange
from trtlint.measurement.measurement import KeptNodes, Measurement, from_data, read_measurement, to_data
from trtlint.model.load import load

pytest.importorskip("onnxruntime")

BROKEN = """
< ir_version: 8, opset_import: ["" : 17] >
broken (float[4] x) => (float[4] y)
{ [root] r = Sqrt (x)  [double] y = Add (r, r) }
"""


def chain(products: int) -> onnx.ModelProto:
    """Return matrix products beyond FP16 with a small final result."""
    weight = np.eye(4, dtype=np.float32)
    names = ["x", *(f"h{index}" for index in range(products)), "y"]
    nodes = [helper.make_node("Mul", ["x", "large"], ["h0"], name="enlarge")]
    nodes += [
        helper.make_node("MatMul", [names[index], "w"], [names[index + 1]], name=f"product_{index}")
        for index in range(1, products)
    ]
    nodes.append(helper.make_node("Div", [nodes[-1].output[0], "large"], ["y"], name="reduce"))
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", 1, [4, 4])],
        [helper.make_tensor_value_info("y", 1, [4, 4])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.float32(60_000), "large")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.savez("x.npz", x=np.full((4, 4), 3, np.float32))
    np.savez("negative.npz", x=np.full(4, -1, np.float32))
    onnx.save(chain(20), "chain.onnx")
    onnx.save(onnx.parser.parse_model(BROKEN), "broken.onnx")
    return tmp_path


def test_a_model_of_which_most_must_stay_in_fp32(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["measure", "chain.onnx", "--inputs", "x.npz", "-o", "ranges.json"]
    assert run(arguments) == 1
    out = capsys.readouterr().out
    assert "FP16 is unsuitable for this model: 21 of its 21 nodes, and 19 of its 19 matrix products" in out
    assert "product_3" not in out.partition("does not fit")[2]
    assert "--layerPrecisions" not in out
    assert "trtlint convert" not in out
    assert "trtlint measure chain.onnx --inputs x.npz --type bf16" in out
    data = json.loads(Path("ranges.json").read_text(encoding="ascii"))
    jsonschema.validate(data, schemas.load("trtlint.measure/1"))
    assert data["kept"]["fits"] is False
    assert data["kept"]["products"] == {"kept": 19, "all": 19}
    found = read_measurement(Path("ranges.json"))
    assert not found.fits
    assert to_data(found) == data


def test_what_reads_such_a_measurement_does_not_advise_to_keep_the_nodes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["measure", "chain.onnx", "--inputs", "x.npz", "-o", "ranges.json"])
    capsys.readouterr()
    assert run(["chain.onnx", "--trt", "11.0", "--fp16", "--ranges", "ranges.json"]) == 1
    out = capsys.readouterr().out
    assert "NUM101" in out
    assert "Build without FP16: so much of this model would have to stay in FP32" in out
    assert "trtlint measure prints the smallest set" not in out
    assert run(["fix", "chain.onnx", "--ranges", "ranges.json", "--trt", "11.0", "-o", "fixed.onnx"]) == 2
    err = capsys.readouterr().err
    assert "FP16 is unsuitable for this model: 21 of its 21 nodes" in err
    assert "nodes_to_exclude" not in err


def test_a_fact_says_so(folder: Path) -> None:
    run(["measure", "chain.onnx", "--inputs", "x.npz", "-o", "ranges.json"])
    measurement = read_measurement(Path("ranges.json"))
    facts = Facts(load(Path("chain.onnx")), evidence=[RangeEvidence(measurement)])
    found = [fact for fact in facts.of("tensor_range") if isinstance(fact, TensorRange)]
    assert found
    assert all(fact.misfit for fact in found)


@pytest.mark.parametrize(
    ("kept", "fits"),
    [
        (KeptNodes(nodes=("a",) * 12, computing=12, products=1, kept_products=1), True),
        (KeptNodes(nodes=("a",) * 13, computing=30), False),
        (KeptNodes(nodes=("a",) * 13, computing=60, products=30, kept_products=10), True),
        (KeptNodes(nodes=("a",) * 13, computing=60, products=30, kept_products=11), False),
        (KeptNodes(nodes=("a",) * 156, computing=172), False),
        (KeptNodes(nodes=("a",) * 13, computing=39), True),
        (KeptNodes(nodes=("a",) * 13, computing=38), False),
        (KeptNodes(nodes=("a",) * 20, computing=60, products=3, kept_products=1), True),
        (KeptNodes(nodes=("a",) * 20, computing=60, products=2, kept_products=1), False),
        (KeptNodes(), True),
    ],
)
def test_it_fits_where_little_is_kept(kept: KeptNodes, fits: bool) -> None:
    assert kept.fits is fits


def test_a_measurement_without_the_counts_can_be_read(folder: Path) -> None:
    run(["measure", "chain.onnx", "--inputs", "x.npz", "-o", "ranges.json"])
    data = json.loads(Path("ranges.json").read_text(encoding="ascii"))
    for field in ("nodes", "products", "fits"):
        del data["kept"][field]
    assert from_data(data).fits


@pytest.mark.parametrize("more", [[], ["--no-rehearse"], ["--format", "json"]])
def test_outputs_that_are_not_finite_in_fp32_cannot_be_measured(
    more: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("x.npz", x=np.full(4, -1, np.float32))
    assert run(["measure", "broken.onnx", "--inputs", "x.npz", "-o", "ranges.json", *more]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "error: broken.onnx: cannot be measured: every output (y) contains infinity or NaN in FP32 on "
        "these inputs; the first"
        " tensor that is not finite is r, of node root; give realistic inputs with --inputs\n"
    )
    assert not Path("ranges.json").exists()


def test_made_up_inputs_that_give_nothing_finite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "broken.onnx"]) == 3
    assert "give real inputs (--inputs)" in capsys.readouterr().err


def test_without_an_output_of_a_float_type_ranges_alone_count(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = chain(2)
    del model.graph.output[:]
    model.graph.node.append(helper.make_node("Shape", ["y"], ["best"]))
    model.graph.output.append(helper.make_tensor_value_info("best", 7, None))
    onnx.save(model, "best.onnx")
    assert run(["measure", "best.onnx", "--inputs", "x.npz"]) == 1
    assert "no output has a float type" in capsys.readouterr().out


OLD = {"error_fp16": 0.5, "runs": 3, "verified": True}


def test_results_of_earlier_releases_have_no_counts() -> None:
    """Without the number of nodes, many kept nodes count as few."""
    paths = tuple(map(str, range(1000)))
    found = KeptNodes.parse(paths, OLD)
    assert found is not None
    assert found == KeptNodes(paths, 0.5, 3, True, found.computing)
    assert found.fits
    assert KeptNodes.parse(paths, {**OLD, "nodes": {"all": 0}}) == found
    assert KeptNodes.parse(paths, {**OLD, "nodes": {}, "products": {}}) == found
    assert KeptNodes.parse(paths, None) is None


def test_results_are_read_as_they_are_written() -> None:
    kept = KeptNodes(("a", "b"), None, 7, True, 60, 5, 2, ("b",), False)
    assert KeptNodes.parse(("a", "b"), kept.document) == kept


@pytest.mark.parametrize(
    ("files", "batches", "on"),
    [
        ((), 1, "1 batch, generated"),
        (("data/a.npz",), 1, "1 batch of a.npz"),
        (("a.npz", "b.npz"), 2, "2 batches of a.npz and 1 more file"),
        (("a.npz", "b.npz", "c.npz"), 1200, "1,200 batches of a.npz and 2 more files"),
    ],
)
def test_the_inputs_in_words(files: tuple[str, ...], batches: int, on: str) -> None:
    found = Measurement("m", "", files, "", batches, "fp16", False, False, 0.1, (), (), (), None, ())
    assert found.on == on
