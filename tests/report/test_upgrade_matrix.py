"""Tests of the matrix of models and refusing releases, in every upgrade format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import onnx
import pytest
from msgspec.structs import replace
from rich.cells import cell_len
from syrupy.assertion import SnapshotAssertion

from tests.report.test_upgradesummary import line, upgrade
from trtlint.cli import run
from trtlint.engine.upgrade import ReleaseAssessment
from trtlint.report.upgradematrix import Matrix, matrix, refusing, text_lines

GELU = """< ir_version: 9, opset_import: ["" : 20] >
g (float[4] x) => (float[4] y, float[4] z) { y = Gelu (x) z = Gelu (y) }"""
SLICE = """< ir_version: 8, opset_import: ["" : 17] >
g (float[8] x, int64[1] axes) => (float[n] y) <int64[1] a = {0}, int64[1] b = {4}>
{ y = Slice (x, a, b, axes) }"""
TAKEN = """< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x) => (float[4] y) { y = Relu (x) }"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("gelu", GELU), ("slice", SLICE), ("taken", TAKEN)):
        onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
    return tmp_path


def written(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["upgrade", "--from", "8.6", "--to", "10.4", "--isolated", *words]) == 0
    return capsys.readouterr().out


NAMES: Sequence[str] = ("gelu.onnx", "slice.onnx", "taken.onnx")


class TestMatrix:
    def test_quiet(
        self, folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        out = written(capsys, "-q", *NAMES)
        assert out[: out.index("\n\n")] == snapshot

    def test_one_model_has_one_row(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        out = written(capsys, "gelu.onnx")
        assert out[out.index("Refused places") :].splitlines() == [
            "Refused places by release",
            "             8.6-9.3  10.0-10.4",
            "  gelu.onnx        2          .",
        ]

    def test_a_model_that_every_release_takes_has_no_matrix(
        self, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert "Refused places" not in written(capsys, "taken.onnx")
        assert "Refused places by release: none from 8.6 to 10.4\n" in written(capsys, "-q", "taken.onnx")

    def test_json(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (model,) = json.loads(written(capsys, "--format", "json", "gelu.onnx"))["models"]
        assert [line["refused"] for line in model["versions"]] == [2] * 5 + [0] * 5

    def test_markdown(
        self, folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        assert written(capsys, "--format", "markdown", *NAMES) == snapshot

    def test_html(
        self, folder: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
    ) -> None:
        out = written(capsys, "--format", "html", *NAMES)
        assert out[out.index("<main") : out.index("<footer")] == snapshot

    def test_several_outputs(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        written(capsys, "-q", "gelu.onnx", "--output", "markdown:a.md", "--output", "html:a.html")
        assert "| `gelu.onnx` | 2 |  |" in (folder / "a.md").read_text()
        assert "<h2>Refused places by release</h2>" in (folder / "a.html").read_text()


def test_models_that_every_release_accepts_are_left_out_of_pages(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "`taken.onnx` | " not in written(capsys, "--format", "markdown", *NAMES)
    for format in ("markdown", "html"):
        assert "None from 8.6 to 10.4." in written(capsys, "--format", format, "taken.onnx")


def test_columns_wrap_at_the_width() -> None:
    found = Matrix(tuple(f"10.{i}" for i in range(22)), (("a/" + "b" * 60 + ".onnx", tuple(range(22))),))
    lines = list(text_lines(found, 80))
    assert max(map(cell_len, lines)) <= 80
    assert "\n".join(lines).count("10.21") == 1
    assert lines.count("") == 4 - 1


def test_a_long_folder_that_all_share_is_left_out() -> None:
    folder = "/a/" + "long/" * 12
    found = Matrix(("8.6-10.0",), ((f"{folder}one.onnx", (1,)), (f"{folder}sub/two.onnx", (0,))))
    assert [line.split() for line in text_lines(found, 80)] == [
        ["8.6-10.0"],
        ["one.onnx", "1"],
        ["sub/two.onnx", "."],
    ]


def test_a_name_of_forty_characters_is_shown_whole() -> None:
    for name, shown in (("a" * 40, "a" * 40), ("b" + "a" * 40, "..." + "a" * 37)):
        found = Matrix(("8.6",), ((name, (1,)),))
        assert list(text_lines(found, 80)) == [" " * 42 + "  8.6", f"  {shown}    1"]
    # Folders are left out only if a path is too long without that.
    short, long = f"dir/{'a' * 36}", f"dir/{'a' * 37}"
    for name, shown in ((short, short), (long, "a" * 37)):
        found = Matrix(("8.6",), ((name, (0,)), ("dir/b", (12,))))
        other = "dir/b" if name is short else "b"
        wide = len(shown)
        assert list(text_lines(found, 80)) == [
            " " * (wide + 2) + "  8.6",
            f"  {shown}    .",
            f"  {other:{wide}}   12",
        ]


def test_columns_that_do_not_fit_are_below() -> None:
    found = Matrix(("8.6", "10.0-10.2", "11.0"), (("a", (1, 0, 12345)), ("bc", (0, 2, 3))))
    whole = [
        "      8.6  10.0-10.2   11.0",
        "  a     1          .  12345",
        "  bc    .          2      3",
    ]
    assert list(text_lines(found, 27)) == whole
    assert list(text_lines(found, 26)) == [
        *(line[:20] for line in whole),
        "",
        "     11.0".rjust(11),
        "  a   12345",
        "  bc      3",
    ]
    assert list(text_lines(found, 1))[3:5] == ["", "      10.0-10.2"]


def test_releases_with_equal_numbers_share_a_column() -> None:
    def lines(*refused: int) -> tuple[ReleaseAssessment, ...]:
        return tuple(replace(line(f"10.{at}"), refused=number) for at, number in enumerate(refused))

    one, two = upgrade("a", lines(0, 0, 1, 1, 0)), upgrade("b", lines(2, 2, 2, 2, 2))
    assert matrix([one, two]) == Matrix(
        ("10.0-10.1", "10.2-10.3", "10.4"), (("a", (0, 1, 0)), ("b", (2, 2, 2)))
    )
    assert matrix([upgrade("a", lines(0, 0)), upgrade("b", lines(0, 1))]).columns == ("10.0", "10.1")
    assert matrix([]) == Matrix((), ())
    settings = [replace(one, setting="FP16"), replace(one, setting="FP32"), two]
    assert [name for name, _ in matrix(settings).rows] == ["a (FP16)", "a (FP32)", "b"]


def test_models_that_every_release_accepts_are_left_out() -> None:
    rows = (("a", (0, 0)), ("b", (0, 1)), ("c", (1, 0)))
    assert refusing(Matrix(("1", "2"), rows)) == Matrix(("1", "2"), rows[1:])


class TestReleasesThatTakeIt:
    def refusal(self, capsys: pytest.CaptureFixture[str], version: str, name: str) -> tuple[str, object]:
        run(["lint", name, "--trt", version, "--select", "BLD", "--isolated", "--format", "json"])
        (finding,) = json.loads(capsys.readouterr().out)["models"][0]["findings"]
        refusal = finding["refusal"]
        return finding["advice"][-1], (refusal["first_taken_by"], refusal["last_taken_by"])

    def test_a_later_release(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.refusal(capsys, "9.3", "gelu.onnx") == (
            "the nearest newer release that accepts this part of the model is TensorRT 10.0",
            ("10.0", None),
        )

    def test_no_release(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        model = (
            '< ir_version: 8, opset_import: ["" : 17] > g (float[4] x) => (float[4] y) { y = Unknown (x) }'
        )
        model = model.replace("Unknown", "Bernoulli")
        onnx.save(onnx.parser.parse_model(model), folder / "b.onnx")
        words, data = self.refusal(capsys, "10.7", "b.onnx")
        assert words.startswith("no TensorRT release up to 1")
        assert words.endswith(" accepts this part of the model")
        assert data == (None, None)

    def test_an_earlier_release(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        model = """< ir_version: 8, opset_import: ["" : 17] >
        mask (bool[16] m) => (int64[1,N] i) { i = NonZero (m) }"""
        onnx.save(onnx.parser.parse_model(model), folder / "n.onnx")
        run(["lint", "n.onnx", "--rtx", "1.6", "--select", "BLD", "--isolated", "--format", "json"])
        (finding,) = json.loads(capsys.readouterr().out)["models"][0]["findings"]
        words = "this part of the model without the plugin is TensorRT-RTX 1.5"
        assert words in finding["advice"][-1]

    def test_all_refusals_of_a_node_count(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The release names the first that takes the node, not the first without one of its refusals."""
        run(["lint", "slice.onnx", "--trt", "8.6", "--select", "BLD", "--isolated", "--format", "json"])
        findings = json.loads(capsys.readouterr().out)["models"][0]["findings"]
        assert {finding["refusal"]["first_taken_by"] for finding in findings} == {"10.3"}
