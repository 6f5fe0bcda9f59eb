"""Tests of ``trtlint measure``: band, other types, build layers and page."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.commands.test_measure import measured
from tests.measurement.test_measuring import GRAPHS, NORM
from trtlint.cli import run
from trtlint.commands import measure
from trtlint.model.errors import ModelError
from trtlint.model.load import Model
from trtlint.runs import progress

pytest.importorskip("onnxruntime")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a norm that depends on fusion, an attention, and inputs."""
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(0)
    onnx.save(onnx.parser.parse_model(NORM), "norm.onnx")
    np.savez("norm.npz", x=numbers.standard_normal((2, 16, 64)).astype(np.float32) * 300)
    onnx.save(onnx.parser.parse_model(GRAPHS["attention"]), "attention.onnx")
    shapes = {"q": (1, 4, 16, 32), "k": (1, 4, 32, 16), "v": (1, 4, 16, 32)}
    batch = {name: numbers.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    np.savez("attention.npz", **batch)  # type: ignore[arg-type]
    return tmp_path


def test_the_text_says_what_the_verdict_depends_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "norm.onnx", "--inputs", "norm.npz"]) == 1
    said = capsys.readouterr().out
    assert "FP16: depends on the build: within tolerance only if the builder fuses" in said
    assert "on both sides of the bound of 0.01" in said
    assert "  only products and model outputs are rounded  0.000" in said
    assert run(["measure", "attention.onnx", "--inputs", "attention.npz"]) == 0
    assert "FP16: fine\n" in capsys.readouterr().out


def test_all_types_are_in_one_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["measure", "attention.onnx", "--inputs", "attention.npz", "--type", "all"]
    assert run([*arguments, "-o", "ranges.json"]) == 0
    said = capsys.readouterr().out
    assert [
        line.split()[0] for line in said.splitlines() if line.startswith(("  FP16", "  BF16", "  TF32"))
    ] == [*("FP16", "BF16", "TF32")]
    assert "so other 16-bit types were not measured" not in said  # which is for a file with its own types
    assert "types within tolerance: FP16, BF16, TF32" in said or "types within tolerance: FP16, TF32" in said
    data = json.loads(Path("ranges.json").read_text(encoding="ascii"))
    assert [each["type"] for each in data["types"]] == ["bf16", "tf32"]
    assert run(["attention.onnx", "--ranges", "ranges.json"]) == 0
    data = measured("attention.onnx", "--inputs", "attention.npz", "--type", "tf32")
    assert data["type"] == "tf32"
    assert data["verdict"] == "fine"
    assert data["error"].keys() == {"rounded", "fused", "accumulated"}


def layers(*names: list[str]) -> str:
    """Return layer information with one layer per list of nodes."""
    return json.dumps(
        {
            "Layers": [
                {
                    "Name": " + ".join(nodes),
                    "LayerType": "kgen",
                    "Inputs": [],
                    "Outputs": [],
                    "Metadata": "\x1e".join(f"[ONNX Layer: {node}]" for node in nodes),
                }
                for nodes in names
            ]
        }
    )


@pytest.mark.parametrize(("split", "verdict", "code"), [(False, "fine", 0), (True, "broken", 1)])
def test_the_layers_of_an_engine_decide(split: bool, verdict: str, code: int, folder: Path) -> None:
    names = ["mu", "d", "square", "variance", "shifted", "root", "y"]
    text = NORM
    for name in names:
        text = text.replace(f"\n  {name} =", f"\n  [{name}] {name} =")
    onnx.save(onnx.parser.parse_model(text), "named.onnx")
    Path("layers.json").write_text(layers(names[:3], names[3:]) if split else layers(names), encoding="utf-8")
    data = measured("named.onnx", "--inputs", "norm.npz", "--layers", "layers.json")
    assert data["verdict"] == verdict
    assert data["build"]["source"] == "layers.json"
    assert data["build"]["layers"] == 1 + split
    assert data["build"]["nodes"] == 7
    assert run(["measure", "named.onnx", "--inputs", "norm.npz", "--layers", "layers.json"]) == code


def test_layers_of_another_model_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("layers.json").write_text(layers(["elsewhere"]), encoding="utf-8")
    arguments = ["measure", "norm.onnx", "--inputs", "norm.npz", "--layers"]
    assert run([*arguments, "layers.json"]) == 2
    assert "layers.json" in capsys.readouterr().err
    assert run([*arguments, "nowhere.json"]) == 2
    assert run([*arguments, "layers.json", "--dry-build"]) == 2


@pytest.mark.skipif(find_spec("tensorrt_rtx_bindings") is None, reason="needs trtlint[rtx]")
def test_a_dry_build_tells_what_is_fused(folder: Path) -> None:
    data = measured("attention.onnx", "--inputs", "attention.npz", "--dry-build")
    assert data["build"]["source"].startswith("dry build, TensorRT-RTX ")
    assert data["build"]["error"] < 0.01
    assert data["verdict"] == "fine"


class Tags(HTMLParser):
    """Parser that collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_has_the_band_the_chart_and_the_graph(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["measure", "norm.onnx", "--inputs", "norm.npz", "--type", "all", "--format", "html"]) == 1
    out = capsys.readouterr().out
    assert "<script" not in out
    page = Tags()
    page.feed(out)
    text = " ".join(page.text)
    for words in (
        "depends on the build",
        "products accumulate in FP16",
        "Keep in FP32",
        "TF32",
        "overflow begins here",
    ):
        assert words in text
    assert page.tags.count("svg") >= 7 + 1  # a bar for each tensor, and the nodes to keep


def test_a_progress_bar_counts_the_runs_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_INTERVAL", 0)
    with measure._progress() as show:
        show({"doing": "ranges"})
        show({"doing": "search", "run": 5, "most": 20})
        show({"doing": "what comes later"})
    assert "run 5 of at most 20" in terminal.getvalue()
    assert "what comes later" in terminal.getvalue()
    monkeypatch.setattr("sys.stderr", silent := io.StringIO())
    with measure._progress() as show:
        show({"doing": "ranges"})
    assert silent.getvalue() == ""


def test_the_progress_bar_is_there_before_the_model_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    @contextlib.contextmanager
    def shown() -> Iterator[None]:
        events.append("bar")
        yield

    def load(path: Path) -> Model:
        events.append("read")
        raise ModelError(f"{path}: cut")

    monkeypatch.setattr(measure, "_progress", shown)
    monkeypatch.setattr(measure, "load", load)
    assert run(["measure", "norm.onnx"]) == 3
    assert events == ["bar", "read"]


def test_the_search_says_where_it_is(tmp_path: Path) -> None:
    from tests.measurement.test_measuring import feeds_of
    from trtlint.measurement.inputs import Inputs
    from trtlint.measurement.measure import MeasurementRequest
    from trtlint.measurement.measure import measure as measure_model

    model = onnx.parser.parse_model(NORM)
    onnx.save(model, tmp_path / "m.onnx")
    np.savez(tmp_path / "m.npz", **feeds_of(model, 300.0))  # type: ignore[arg-type]
    said: list[Mapping[str, Any]] = []
    request = MeasurementRequest(str(tmp_path / "m.onnx"), "m.onnx", Inputs((str(tmp_path / "m.npz"),)))
    found = measure_model(request, progress=said.append)
    assert [each["doing"] for each in said[:5]] == ["ranges", "rehearsal", "fused", "accumulated", "search"]
    assert found.kept is not None
    assert [each["run"] for each in said if "run" in each] == [*range(1, found.kept.runs + 1)]
    assert found.kept.runs <= 20


def test_bf16_is_no_advice_where_it_was_measured_and_is_not_fine(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["measure", "norm.onnx", "--inputs", "norm.npz"]
    assert run(arguments) == 1
    assert "--type bf16" in capsys.readouterr().out
    assert run([*arguments, "--type", "all", "--bound", "0.001"]) == 1
    said = capsys.readouterr().out
    assert "BF16" in said
    assert "--type bf16" not in said


def test_the_types_of_a_file_in_16_bits_are_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GRAPHS["attention"].replace("float[", "float16[")
    onnx.save(onnx.parser.parse_model(text), "half.onnx")
    assert run(["measure", "half.onnx", "--type", "all"]) == 0
    said = capsys.readouterr().out
    assert "the model already has FP16 types, so other 16-bit types were not measured" in said


def test_the_page_warns_of_generated_inputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "attention.onnx", "--format", "html"]) == 0
    said = capsys.readouterr().out
    assert "The inputs are generated, so the errors prove little" in said
    assert "on 1 batch, generated" in said
