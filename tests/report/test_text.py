"""Tests of the text report."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import threading
from itertools import groupby

import pytest
from msgspec.structs import replace
from rich.text import Text as RichText
from syrupy.assertion import SnapshotAssertion

from tests.report import handmade
from tests.report.screen import stream
from trtlint.engine import targets
from trtlint.engine.finding import ModelReport, Report, Row, Site
from trtlint.model.sources import repository
from trtlint.report import concise, counts, drawing, locations, names, wording
from trtlint.report.escape import clean, clean_block
from trtlint.report.formats import Style
from trtlint.report.layout import hang, shorten
from trtlint.report.text import TextReport, render


def text(report: Report, width: int | None = None) -> str:
    with stream(width) as out:
        render(report, out)
    return out.getvalue()


def short(report: Report, *, show_conditional: bool = False) -> str:
    """Return a report with one line for each finding."""
    out = io.StringIO()
    style = Style(files=1, rules=(), root=repository(), show_conditional=show_conditional)
    writer = concise.writer(out, style)
    for _, models in groupby(report.models, key=lambda model: model.path):
        writer.add(list(models))
    writer.close(report.notes)
    return out.getvalue().rstrip("\n")


MIXED = Report((handmade.unreadable(), handmade.clean_model(), *handmade.one_model().models))


@pytest.mark.parametrize("width", [None, 60, 80, 120])
def test_one_model(width: int | None, snapshot: SnapshotAssertion) -> None:
    assert text(handmade.one_model(), width) == snapshot


def test_conditional_findings_shown(snapshot: SnapshotAssertion) -> None:
    report = handmade.one_model()
    with stream(100) as out:
        writer = TextReport(out, show_conditional=True)
        writer.add(report.models)
        writer.close(report.notes)
    shown = out.getvalue()
    assert "hidden" not in shown
    assert shown == snapshot


def test_several_targets(snapshot: SnapshotAssertion) -> None:
    assert text(handmade.several_targets(), 100) == snapshot


def test_several_files(snapshot: SnapshotAssertion) -> None:
    assert text(MIXED, 100) == snapshot


def test_concise(snapshot: SnapshotAssertion) -> None:
    mixed = short(MIXED)
    several = short(handmade.several_targets(), show_conditional=True)
    assert f"{mixed}\n\n{several}" == snapshot


def test_hostile_names(snapshot: SnapshotAssertion) -> None:
    report = handmade.hostile()
    for shown in (text(report), text(report, 70), short(report)):
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "\x07" not in shown
        assert "[/]" in shown or "…" in shown
    assert text(report) == snapshot


def test_clean_model_is_said_to_be_clean() -> None:
    assert text(Report((handmade.clean_model(),))) == "clean.onnx: no findings for TensorRT 10.7\n"


def test_many_clean_models_are_counted() -> None:
    models = tuple(handmade.clean_model(f"{i}.onnx") for i in range(40))
    assert text(Report(models)) == "no findings in 40 models for TensorRT 10.7\n"


@pytest.mark.parametrize("width", [60, 80])
def test_lines_fit(width: int) -> None:
    lines = text(handmade.one_model(), width).splitlines()
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [1, 20, 40])
def test_narrow_terminals_lose_nothing(width: int) -> None:
    words = re.sub(r"[\s|]", "", text(handmade.one_model(), width))
    for part in ("TensorRT10.7fusesthiswrongly", "√scaleonQ", "puttheWholescale0.125onQ".lower()):
        assert part.lower() in words.lower()


def on_terminal(report: Report, monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    """Return the output on a real terminal of 80 columns."""
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", **environment}.items():
        monkeypatch.setenv(name, value)
    master, slave = pty.openpty()
    chunks: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # Linux says so when the other side is closed
            while chunk := os.read(master, 65536):
                chunks.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with os.fdopen(slave, "w", encoding="utf-8") as file:
        render(report, file)
    reader.join()
    os.close(master)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def test_colours_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = on_terminal(handmade.one_model(), monkeypatch)
    assert "\x1b[1;31merror[ACC102]" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m|\x1b]8;[^\x1b]*\x1b\\", "", coloured) == text(handmade.one_model(), 80)
    assert "\x1b" not in text(handmade.one_model(), 80)


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = on_terminal(handmade.one_model(), monkeypatch, NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", plain)


def test_findings_of_a_rule_stand_together() -> None:
    scale, clip = handmade.SCALE, handmade.CLIP
    again = replace(scale, message="another message", fingerprint="ffffffffffffffff")
    shown = text(Report((ModelReport("m.onnx", "TensorRT 10.7", findings=(scale, clip, again)),)))
    assert re.findall(r"^\w+\[(\w+)\]", shown, re.MULTILINE) == ["ACC102", "ACC102", "ACC104"]
    assert shown.count("Upgrade to TensorRT 10.8") == 1
    assert "applies to, help, confidence, see: as above" in shown


def rows(count: int, *labelled: int) -> tuple[Row, ...]:
    return tuple(Row(f"/n{i}/Add", "Add", label="here" if i in labelled else "") for i in range(count))


def drawn(lines: list[RichText]) -> str:
    return "\n".join(line.plain for line in lines)


def test_long_blocks_are_elided_and_culprits_kept() -> None:
    picture = drawn(drawing.draw([drawing.Marks(rows(30, 2, 20), "bold")], None))
    assert "/n2/" in picture
    assert "/n20/" in picture
    assert len(re.findall(r"/n\d+/", picture)) == 8
    assert picture.count("...") == 2
    assert (
        len(re.findall(r"/n\d+/", drawn(drawing.draw([drawing.Marks(rows(30, *range(12)), "bold")], None))))
        == 12
    )


def test_a_rule_that_marks_a_node_several_times_is_named_once() -> None:
    marks = [drawing.Marks(rows(2, 1), "bold", name) for name in ("BLD206", "BLD206", "BLD202")]
    assert "BLD206, BLD202: here" in drawn(drawing.draw(marks, None))


def test_operators_are_named_where_names_do_not_tell() -> None:
    named = (Row("/a/Add", "Add"), Row("/a/Mul", "Mul"))
    unnamed = (Row("n0", "Add"), Row("/a/Mul", "Mul"))
    assert "Add  " not in drawn(drawing.draw([drawing.Marks(named, "bold")], None))
    assert "n0      Add" in drawn(drawing.draw([drawing.Marks(unnamed, "bold")], None))


def test_carets_stand_below_the_last_part_of_the_name() -> None:
    picture = drawn(drawing.draw([drawing.Marks((Row("/attn/宽/Mul", "Mul", label="here"),), "bold")], None))
    _, row, carets, _ = picture.split("\n")
    # A wide character takes two cells, so the carets are one character further left in the string.
    assert carets.index("^") - 1 == row.index("Mul")
    assert carets.endswith("^^^ here")


@pytest.mark.parametrize(
    ("name", "width", "short"),
    [
        ("/attn/Mul", 20, "/attn/Mul"),
        ("/model/encoder/layers.0/attention/self/MatMul", 30, "/model/…/attention/self/MatMul"),
        ("/model/encoder/layers.0/attention/self/MatMul", 22, "/model/…/self/MatMul"),
        ("/model/encoder/layers.0/attention/self/MatMul", 14, "…/self/MatMul"),
        ("/model/encoder/layers.0/attention/self/MatMul", 10, "…/MatMul"),
        ("model/encoder/layers/MatMul", 20, "model/…/MatMul"),
        ("/model/encoder/MatMul", None, "/model/encoder/MatMul"),
        ("node_scaled_dot_product_attention_12", 16, "node_sca…tion_12"),
    ],
)
def test_long_names_keep_their_last_part(name: str, width: int | None, short: str) -> None:
    assert shorten([name], width) == [short]


def test_names_of_one_folder_are_shortened_alike() -> None:
    folder = "/model/layers.0/self_attn"
    names = [f"{folder}/Mul", f"{folder}/MatMul_1", f"{folder}/Softmax"]
    assert shorten(names, 30) == [
        "/model/…/self_attn/Mul",
        "/model/…/self_attn/MatMul_1",
        "/model/…/self_attn/Softmax",
    ]


def test_words_are_never_broken() -> None:
    url = "https://example.org/" + "x" * 60
    lines = hang(RichText("= see: "), RichText(f"at {url} or there"), 40)
    assert [line.plain for line in lines] == ["= see: at", f"       {url}", "       or there"]


def test_collapsed_names() -> None:
    assert names.collapse([f"blocks.{i}.attn" for i in range(3)]) == ["blocks.*.attn"]
    assert names.collapse(["stages.0.blocks.1.a", "stages.3.blocks.1.a", "head"]) == [
        "stages.*.blocks.1.a",
        "head",
    ]
    assert names.collapse(["only.7.one"]) == ["only.7.one"]


def test_places_are_summarised() -> None:
    def place(module: str) -> Site:
        return replace(handmade.CLIP.sites[0], module=module, rows=())

    def header(*modules: str) -> str:
        finding = replace(handmade.CLIP, sites=tuple(map(place, modules)))
        return text(Report((ModelReport("m.onnx", "", findings=(finding,)),))).splitlines()[1].strip()

    assert header("a") == "--> m.onnx  a"
    assert header("a", "a", "a") == "--> m.onnx  a  (+2 more there)"
    assert header("a.0", "a.1") == "--> m.onnx  a.0  (+1 more: a.1)"
    assert header("a", "b", "c", "d", "e") == "--> m.onnx  a  (+4 more: b, c, d, ...)"


def test_lines_of_a_log_are_named_once() -> None:
    at = [replace(handmade.CLIP.sites[0], node=f"logs/build.log:{n}", rows=()) for n in (20, 31)]

    def report(count: int) -> Report:
        finding = replace(handmade.CLIP, sites=tuple(at[:count]))
        return Report((ModelReport("logs/build.log", "", findings=(finding,)),))

    assert "--> logs/build.log:20\n" in text(report(1))
    assert "--> logs/build.log:20  (+1 more: 31)\n" in text(report(2))
    line, *_ = short(report(2)).splitlines()
    assert line.startswith("logs/build.log:20: note[ACC104] ")
    (spot,) = locations.overview(report(2), None).spots
    assert wording.site_of(spot) == "logs/build.log at line 20 (+1 more: line 31)"


def test_what_is_refuted_says_so() -> None:
    finding = replace(handmade.SCALE, standing="refuted", confidence="low", said=("layer attn: fused",))
    shown = text(Report((ModelReport("m.onnx", "", findings=(finding,)),)))
    assert "= confidence: low, maintainer-confirmed; refuted by the evidence\n" in shown


def test_clean() -> None:
    assert clean("plain [bold] é 宽") == "plain [bold] é 宽"
    assert clean("a\x1b\n\t\x00\u2028\ud800\U000e0001") == r"a\x1b\n\t\x00\u2028\ud800\U000e0001"
    assert clean("a\u034fb\u3164\ufe0f\U000e0101") == r"a\u034fb\u3164\ufe0f\U000e0101"
    assert clean_block("a\nb\x1b") == "a\nb\\x1b"


def test_targets_in_words() -> None:
    assert targets.labels(["TensorRT 10.7, SM 8.9", "TensorRT 10.8, SM 8.9"]) == ["10.7", "10.8"]
    assert targets.labels(["TensorRT 10.7", "TensorRT-RTX 1.4"]) == ["TensorRT 10.7", "TensorRT-RTX 1.4"]
    assert targets.labels(["TensorRT 10.7"]) == ["TensorRT 10.7"]
    assert targets.labels(["TensorRT 10.7", "TensorRT 10.7 FP16"]) == ["10.7", "10.7 FP16"]
    assert targets.labels(["FP16 SM 8.9", "SM 8.9"]) == ["FP16 SM", "SM"]
    versions = ["10.6", "10.7", "10.8", "10.9"]
    assert targets.seen_for([1], versions) == "10.7 (gone from 10.8)"
    assert targets.seen_for([0, 1], versions) == "10.6 to 10.7 (gone from 10.8)"
    assert targets.seen_for([2, 3], versions) == "from 10.8 on"
    assert targets.seen_for([0, 2, 3], versions) == "10.6 (gone from 10.7), from 10.8 on"
    assert targets.seen_for([0, 1, 2, 3], versions) == "all 4 targets, 10.6 to 10.9"


def test_targets_as_a_span() -> None:
    versions = ["10.7", "10.8", "10.9"]
    assert (
        targets.span([f"TensorRT {v}, SM 8.9 (L4)" for v in versions]) == "TensorRT 10.7 to 10.9, SM 8.9 (L4)"
    )
    assert targets.span([f"TensorRT {v}" for v in versions]) == "TensorRT 10.7 to 10.9"
    assert targets.span(["TensorRT 10.7"]) == "TensorRT 10.7"
    assert targets.span(["TensorRT 10.7", "TensorRT-RTX 1.4"]) == "2 targets"
    products = ["TensorRT 10.7", "TensorRT 10.8", "TensorRT-RTX 1.4"]
    assert targets.seen_for([0, 2], targets.labels(products)) == "TensorRT 10.7, TensorRT-RTX 1.4"


def test_graver_rules_come_first_over_several_targets() -> None:
    merged = targets.merge([[handmade.CLIP], [handmade.SCALE], [handmade.FLAG]])
    assert [item.finding.severity for item in merged] == ["error", "warning", "note"]


def test_hidden_findings_name_the_options() -> None:
    finding = handmade.FLAG
    assert counts.hidden([]) == ""
    assert counts.hidden([finding, finding, replace(finding, depends=("--gpu",))]) == (
        "3 conditional findings hidden: give --fp16 or --no-fp16 (2), --gpu (1), "
        "or see them with --show-conditional"
    )
