"""Tests of overlays for graph viewers: their contents, read back by the viewers' packages."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec.structs import replace

from tests.conftest import REPOSITORY
from tests.report import handmade
from tests.workspace import Workspace
from trtlint.cli import run
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.finding import ModelReport, Report, Row
from trtlint.facts.facts import Facts
from trtlint.measurement.measurement import MeasuredTensor as Measured
from trtlint.measurement.measurement import Measurement
from trtlint.model.load import load
from trtlint.report import modelexplorer, netron
from trtlint.report.formats import Run, Style
from trtlint.report.page.behind import PageData

EXAMPLES = REPOSITORY / "examples"
BODY = """
    <ir_version: 8, opset_import: ["" : 17]>
    outer (bool c, float[4] x) => (float[4] y)
    {
        [branch] y = If(c) <
            then_branch = t () => (float[4] a) { [inner] a = Relu(x) },
            else_branch = e () => (float[4] b) { [other] b = Abs(x) }
        >
    }
"""


def laid_over(module: Any, facts: Facts, *paths: str) -> dict[str, Any]:
    """Return the overlay of a finding at these nodes."""
    nodes = {node.path: node for node in facts.model.graph.nodes}
    rows = tuple(Row(path, nodes[path].op, "", "", "culprit", "", nodes[path].index) for path in paths)
    site = replace(handmade.site(0), rows=rows)
    report = Report((ModelReport("m.onnx", "TensorRT 10.7", (replace(handmade.SCALE, sites=(site,)),)),))
    style = Style(files=1, rules=(), root=None, look=lambda path: facts)
    document: dict[str, Any] = json.loads("\n".join(module.document(Run(report, style, {}))))
    return document


def model(folder: Path, text: str, names: dict[int, str] | None = None) -> Facts:
    proto = onnx.parser.parse_model(text)
    for index, name in (names or {}).items():
        proto.graph.node[index].name = name
    onnx.save(proto, folder / "m.onnx")
    return Facts(load(folder / "m.onnx"))


CHAIN = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] y) { a = Relu(x)  b = Sin(a)  y = Abs(b) }
"""


def test_nameless_nodes_are_known_to_netron_by_what_they_compute(tmp_path: Path) -> None:
    facts = model(tmp_path, CHAIN, {0: "first"})
    entries = laid_over(netron, facts, "first", "Sin_1")["metadata"]
    assert [(entry["kind"], entry["target"]) for entry in entries] == [
        ("graph", "g"),
        ("node", "first"),
        ("value", "b"),
    ]
    assert entries[1]["name"] == "error ACC102"
    assert "culprit" in entries[1]["value"]


def test_netron_shows_ranges(tmp_path: Path) -> None:
    site = Measured("first", "Relu", "a", 97344.0, 0.0, 97344.0, "overflow", origin=True, narrow=True)
    measurement = Measurement("m.onnx", "", (), "", 1, "fp16", False, False, 0.1, (site,), (), (), None, ())
    facts = Facts(model(tmp_path, CHAIN, {0: "first"}).model, evidence=[RangeEvidence(measurement)])
    metrics = laid_over(netron, facts, "first")["metrics"]
    assert metrics == [{"kind": "value", "target": "a", "name": "greatest magnitude", "value": 97344.0}]


def test_netron_shows_the_times_of_named_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = model(tmp_path, CHAIN, {0: "first", 2: "last"})
    times = dict(zip(facts.model.graph.nodes, (1.23456789, 2.0, 0.5), strict=True))
    monkeypatch.setattr(PageData, "times", times)
    expected = [
        {"kind": "node", "target": "first", "name": "ms", "value": 1.234568},
        {"kind": "node", "target": "last", "name": "ms", "value": 0.5},
    ]
    assert laid_over(netron, facts, "first")["metrics"] == expected
    monkeypatch.setattr(netron, "_MOST_METRICS", 1)
    assert laid_over(netron, facts, "first")["metrics"] == expected[:1]


def test_bodies_are_known_to_model_explorer(tmp_path: Path) -> None:
    graphs = laid_over(modelexplorer, model(tmp_path, BODY), "branch/then_branch/inner")
    assert set(graphs["outer"]["results"]) == {"branch/then_branch/inner"}
    assert set(graphs["branch/then_branch"]["results"]) == {"inner"}


def test_from_the_command_line(work: Workspace) -> None:
    assert run(["models/a.onnx", "--output", "netron:n.json", "--output", "model-explorer:e.json", "-q"]) == 1
    names = [entry["name"] for entry in json.loads((work.path / "n.json").read_text())["metadata"]]
    assert names == ["trtlint", "error XYZ901", "error XYZ901", "warning XYZ902"]
    (graph,) = json.loads((work.path / "e.json").read_text()).values()
    assert len(graph["results"]) == 3
    assert run(["models", "--output", "netron:n.json"]) == 2
    assert run(["models/a.onnx", "--output", "netron:n.txt"]) == 2


def overlays(folder: Path, format: str) -> dict[str, Path]:
    """Return the overlays of the examples by model."""
    found = {}
    for file in sorted(EXAMPLES.glob("*.onnx")):
        out = folder / f"{file.stem}.json"
        run([str(file), "--trt", "10.7", "--gpu", "L4", "--isolated", "-q", "--output", f"{format}:{out}"])
        found[str(file)] = out
    return found


NETRON = """
import fs from 'fs';
const [folder, ...files] = process.argv.slice(2);
const { View } = await import(`${folder}/view.js`);
const base = await import(`${folder}/base.js`);
for (const file of files) {
    const view = { _model: {} };
    const stream = new base.BinaryStream(fs.readFileSync(file));
    const taken = await View.prototype.attach.call(view, { identifier: file, stream });
    const { metadata } = JSON.parse(fs.readFileSync(file));
    const told = view._model.attachment.metadata;
    const shown = metadata.map((entry) => told[entry.kind]({ name: entry.target }));
    console.log(JSON.stringify([taken, shown]));
}
"""


@pytest.mark.skipif(
    find_spec("netron") is None or shutil.which("node") is None, reason="no Netron, or no node"
)
def test_netron_reads_its_attachment(tmp_path: Path) -> None:
    spec, node = find_spec("netron"), shutil.which("node")
    assert spec is not None
    assert spec.origin is not None
    assert node is not None
    (tmp_path / "attach.mjs").write_text(NETRON, encoding="utf-8")
    found = overlays(tmp_path, "netron")
    command = [node, str(tmp_path / "attach.mjs"), str(Path(spec.origin).parent), *map(str, found.values())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    for (file, out), line in zip(found.items(), done.stdout.splitlines(), strict=True):
        taken, shown = json.loads(line)
        assert taken
        names = {
            name for node in load(Path(file)).graph.nodes for name in (node.proto.name, node.output.name)
        }
        for entry, arguments in zip(json.loads(out.read_text())["metadata"], shown, strict=True):
            assert (entry["name"], entry["value"]) in [(each["name"], each["value"]) for each in arguments]
            assert entry["kind"] == "graph" or entry["target"] in names
        assert len(shown) > 1


EXPLORER = """
import json, sys
import model_explorer
from model_explorer.node_data_builder import GraphNodeData, ModelNodeData, NodeDataResult
from model_explorer_onnx.main import ONNXAdapter
for model, overlay in zip(sys.argv[1::2], sys.argv[2::2]):
    converted = ONNXAdapter().convert(model, {})["graphs"]
    graphs = {graph.id: {node.id for node in graph.nodes} for graph in converted}
    config = model_explorer.config()
    config.add_model_from_path(model)
    config.add_node_data_from_path(overlay)
    data = {}
    for name, graph in json.load(open(overlay)).items():
        results = {node: NodeDataResult(**result) for node, result in graph.pop("results").items()}
        data[name] = GraphNodeData(results=results, **graph)
    ModelNodeData(data).to_json_string()
    coloured = [
        node for name, graph in data.items() for node in graph.results
        if node in graphs.get(name, ())
    ]
    print(json.dumps([len(coloured), max(len(graph.results) for graph in data.values())]))
"""


@pytest.mark.skipif(find_spec("model_explorer_onnx") is None, reason="no Model Explorer")
def test_model_explorer_colours_the_nodes(tmp_path: Path) -> None:
    found = overlays(tmp_path, "model-explorer")
    arguments = [word for file, out in found.items() for word in (file, str(out))]
    command = [sys.executable, "-c", EXPLORER, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    for file, line in zip(found, done.stdout.splitlines(), strict=True):
        coloured, asked = json.loads(line)
        assert asked
        # Whatever has no name gets one of Model Explorer's own.
        named = all(node.proto.name for node in load(Path(file)).graph.nodes)
        assert coloured == asked or not named, file
