"""Tests of the HTML page: contents, escaped names, limits and display in a browser."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.conftest import REPOSITORY
from tests.report import handmade
from tests.workspace import Workspace
from trtlint.cli import run
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.finding import SEVERITIES, Finding, ModelReport, Report, Row, Site
from trtlint.facts.facts import Facts
from trtlint.measurement.measurement import MeasuredTensor as Measured
from trtlint.measurement.measurement import Measurement
from trtlint.model.load import Model, load
from trtlint.report.formats import Run, Style
from trtlint.report.html import document

ATTENTION = """
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[1,4,16,8] q, float[1,4,16,8] k, float[1,4,16,8] v) => (float[1,4,16,8] y)
    <float s = {0.6}> {
        a = Mul(q, s)
        kt = Transpose<perm = [0, 1, 3, 2]>(k)
        b = Mul(kt, s)
        scores = MatMul(a, b)
        weights = Softmax(scores)
        y = MatMul(weights, v)
    }
"""
ELEMENTS = """
    html head meta title style body a header main footer section article div p ul li dl dt dd h1 h2 h3 h4
    table thead tbody tr th td code pre strong span figure figcaption details summary wbr
    input label fieldset legend
    svg desc g rect path text
"""
ATTRIBUTES = """
    lang charset http-equiv content name href class id rel role scope tabindex open data-unit aria-label
    aria-labelledby width height viewbox x y dx d rx fill stroke stroke-width stroke-dasharray transform
    text-anchor font-size font-family font-weight type checked
"""


class Parsed(HTMLParser):
    """Parser that collects the elements, attributes and texts of a page like a browser."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.others: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.others.append(data)

    def handle_pi(self, data: str) -> None:
        self.others.append(data)

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute."""
        return [value for _, each, value in self.attributes if each == name]


def page(report: Report, facts: Facts | None = None, *, show_conditional: bool = False) -> str:
    """Return the page of a report whose models all have these facts."""
    style = Style(files=1, rules=(), root=None, show_conditional=show_conditional, look=lambda path: facts)
    return "\n".join(document(Run(report, style, {})))


def attention(folder: Path, **names: str) -> tuple[Report, Facts]:
    """Return a finding at an attention block of a real graph, with optional other node names."""
    proto = onnx.parser.parse_model(ATTENTION)
    for node, name in zip(
        proto.graph.node, ("mul_q", "turn", "mul_k", "scores", "softmax", "mix"), strict=True
    ):
        node.name = names.get(name, f"/attn/{name}")
    file = folder / "model.onnx"
    onnx.save(proto, file)
    model = load(file)
    chosen = [node for node in model.graph.nodes if node.op != "Transpose"]
    labels = ("√scale on Q", "√scale on K", "", "", "")
    rows = tuple(
        Row(node.path, node.op, node.output.type_text, "", label, "", node.index)
        for node, label in zip(chosen, labels, strict=True)
    )
    site = replace(handmade.site(0), rows=rows)
    finding = replace(handmade.SCALE, sites=(site,))
    return Report((ModelReport("model.onnx", "TensorRT 10.7", (finding,)),)), Facts(model)


def body(text: str) -> str:
    """Return a page without its style (whose digest varies) and the version number."""
    text = re.sub(r"sha256-[\w+/=]+", "sha256-…", text)
    text = re.sub(r"trtlint \d[^\s<\"]*\d", "trtlint N", text)
    return re.sub(r"<style>.*</style>", "<style>…</style>", text, flags=re.DOTALL).replace("><", ">\n<")


# What it shows.


def test_a_block_is_drawn(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    assert body(page(*attention(tmp_path))) == snapshot


def test_a_page_without_the_models(snapshot: SnapshotAssertion) -> None:
    models = (*handmade.one_model().models, handmade.unreadable(), handmade.clean_model())
    assert body(page(Report(models, ("one note of the run",)), show_conditional=True)) == snapshot


def test_lines_lead_through_what_is_not_drawn(tmp_path: Path) -> None:
    texts = Parsed(page(*attention(tmp_path))).texts
    assert "Transpose" in texts  # between the input and the scale on K
    assert {"input", "output"} <= set(texts)


def test_a_model_that_has_changed_is_not_drawn(tmp_path: Path) -> None:
    report, facts = attention(tmp_path)
    (model,) = report.models
    site = model.findings[0].sites[0]
    moved = replace(site, rows=tuple(replace(row, index=(row.index or 0) + 1) for row in site.rows))
    changed = replace(model, findings=(replace(model.findings[0], sites=(moved,)),))
    parsed = Parsed(page(Report((changed,)), facts))
    assert parsed.elements["pre"] == 1
    assert "Transpose" not in parsed.texts


def test_several_targets_say_what_changes() -> None:
    texts = Parsed(page(handmade.several_targets())).texts
    assert "10.7 (gone from 10.8)" in texts
    assert "10.6 → 10.7" in texts


def test_links_of_the_page_lead_somewhere(tmp_path: Path) -> None:
    for report, facts in (
        attention(tmp_path),
        (handmade.several_targets(), None),
        (handmade.one_model(), None),
    ):
        parsed = Parsed(page(report, facts, show_conditional=True))
        ids = parsed.values("id")
        assert len(ids) == len(set(ids))
        inside = [value[1:] for value in parsed.values("href") if value.startswith("#")]
        assert inside
        assert set(inside) <= set(ids)
        named = {name for value in parsed.values("aria-labelledby") for name in value.split()}
        assert named <= set(ids)


def test_shapes_have_their_colours_without_the_style(tmp_path: Path) -> None:
    text = page(*attention(tmp_path))
    shapes = re.findall(r"<(?:rect|path|text)\b[^>]*>", text)
    assert len(shapes) > 20
    assert not [shape for shape in shapes if " fill=" not in shape]
    assert " style=" not in text


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio ."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_texts_are_readable_in_both_themes_and_on_paper() -> None:
    style = (REPOSITORY / "trtlint/report/page/page.css").read_text(encoding="utf-8")
    themes = [
        dict(re.findall(r"--([\w-]+): (#\w+)", theme))
        for theme in re.findall(r":root {(.*?)}", style, re.DOTALL)
    ]
    assert len(themes) == 3
    for theme in themes:
        colours = {
            name: value if len(value) == 7 else "#" + "".join(2 * digit for digit in value[1:])
            for name, value in {**themes[0], **theme}.items()
        }
        meanings = ("error", "warning", "note", "conditional", "good")
        pairs = [
            (name, ground) for name in (*meanings, "ink", "muted", "link") for ground in ("surface", "ground")
        ]
        pairs += [pair for name in meanings for pair in ((name, f"{name}-tint"), ("muted", f"{name}-tint"))]
        assert not [pair for pair in pairs if contrast(colours[pair[0]], colours[pair[1]]) < 4.5]
        assert contrast(colours["edge"], colours["ground"]) > 3
        assert contrast(colours["mark"], colours["ground"]) > 3


def test_names_without_an_end_take_no_more_room(tmp_path: Path) -> None:
    text = page(*attention(tmp_path, mul_q="/" + 300_000 * "x", scores=100_000 * "y/"))
    assert len(text) < 150_000


def test_from_the_command_line(work: Workspace) -> None:
    assert run(["models/a.onnx", "--output", "html:report.html", "-q"]) == 1
    assert run(["models/a.onnx", "--output", "html:again.html", "-q"]) == 1  # out of the cache
    text = (work.path / "report.html").read_text(encoding="utf-8")
    assert text == (work.path / "again.html").read_text(encoding="utf-8")
    parsed = Parsed(text)
    assert parsed.elements["article"] == 2
    assert parsed.elements["svg"] == 3  # two blocks and the strip
    assert "The block at " in parsed.texts


def test_measured_times_are_shown(work: Workspace) -> None:
    layers: list[dict[str, object]] = [
        {"Name": name, "LayerType": "kgen", "Inputs": [], "Outputs": [], "Metadata": f"[ONNX Layer: {name}]"}
        for name in ("/blocks.0/Relu", "/blocks.1/Relu", "/head/Sin")
    ]
    times = [
        {"name": layer["Name"], "timeMs": ms, "averageMs": ms, "medianMs": ms, "percentage": 10 * ms}
        for layer, ms in zip(layers, (6.0, 3.0, 1.0), strict=True)
    ]
    (work.path / "layers.json").write_text(json.dumps({"Layers": layers, "Bindings": []}))
    (work.path / "profile.json").write_text(json.dumps([{"count": 1}, *times]))
    build = ("--layers", "layers.json", "--profile", "profile.json")
    assert run(["models/a.onnx", *build, "--output", "html:report.html", "-q"]) == 1
    parsed = Parsed((work.path / "report.html").read_text(encoding="utf-8"))
    assert "3 layers take 10 ms" in parsed.texts
    assert "6 ms" in parsed.texts  # in the box of the node
    assert any("bars show milliseconds" in text for text in parsed.texts)


def test_measured_ranges_are_shown(tmp_path: Path) -> None:
    report, facts = attention(tmp_path)
    sites = (
        Measured("/attn/mul_q", "Mul", "a", 97344.0, -3.0, 97344.0, "overflow", origin=True, narrow=True),
        Measured("/attn/softmax", "Softmax", "weights", 1.0, 0.0, 1.0, "ok", origin=False, narrow=True),
    )
    found = Measurement("m.onnx", "", (), "", 1, "fp16", False, False, 0.1, sites, (), (), None, ())
    parsed = Parsed(page(report, Facts(facts.model, evidence=[RangeEvidence(found)])))
    assert "1 of 2 tensors leave the range of FP16, measured on 1 batch, generated" in parsed.texts
    assert {"up to 97,344", "up to 1", "overflow begins here"} <= set(parsed.texts)


@pytest.mark.slow
def test_nothing_of_it_is_read_unless_asked_for(work: Workspace) -> None:
    code = (
        "import sys; from trtlint.cli import run; run(['models/a.onnx', '-q', '--isolated', *sys.argv[1:]]);"
        "print(*(n for n in sys.modules if n.startswith(('trtlint.report.page', 'trtlint.report.html'))))"
    )

    def read(*options: str) -> str:
        command = [sys.executable, "-c", code, *options]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        return done.stdout.splitlines()[-1]

    assert read("--output", "sarif:a.sarif") == ""
    assert "trtlint.report.html" in read("--output", "html:a.html").split()


# Names of strangers.

nasty = st.text(max_size=60) | st.sampled_from(
    [
        "</title><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "]]><!--",
        "-->",
        "</style><svg onload=alert(1)>",
        "javascript:alert(1)",
        "' onmouseover='x",
        "&lt;b&gt;&#60;b&#62;",
        "`<b>`",
        "\u202e\x00\ud800<b>",
        "##[stop-commands]x",
        "::warning::x",
    ]
)


def harmless(text: str) -> None:
    parsed = Parsed(text)
    assert set(parsed.elements) <= set(ELEMENTS.split())
    assert {name for _, name, _ in parsed.attributes} <= set(ATTRIBUTES.split())
    assert not parsed.others
    assert all(value.startswith(("#", "https://")) for value in parsed.values("href"))
    text.encode()


@pytest.mark.slow
@given(name=nasty, other=nasty)
@settings(max_examples=60, deadline=None)
def test_names_never_become_markup(name: str, other: str) -> None:
    row = Row(name, other, name, other, name, "", None)
    site = Site(name, other, other, None, (row, row), name)
    finding = replace(
        handmade.SCALE,
        rule=name or "x",
        name=other,
        message=name,
        sites=(site, site, replace(site, node=other)),
        applies=other,
        advice=(name, other),
        references=(name, f"https://{other}", "https://example.org/a"),
        said=(other,),
        depends=(name,),
        evidence_level=name,
    )
    model = ModelReport(name, other, (finding,), (finding,), notes=(name,))
    text = page(Report((model, replace(model, path=f"{name}2")), (other,)), show_conditional=True)
    harmless(text)
    assert Parsed(text).elements["article"] == 4
    assert "##[" not in text


@pytest.mark.slow
@given(
    name=st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60)
    | nasty.filter(lambda text: text.isprintable() and text != "")
)
@settings(max_examples=20, deadline=None)
def test_names_in_a_graph_never_become_markup(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    text = page(*attention(folder, mul_q=name, scores=f"{name}/x"))
    harmless(text)
    assert Parsed(text).elements["svg"] == 2


def test_the_hostile_report() -> None:
    harmless(page(handmade.hostile()))


# Bounds.


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """Return a chain of 10,000 operators in modules."""
    ops = ("Relu", "Sin", "Abs", "Neg", "Exp", "Sqrt", "Tanh", "Sigmoid", "Softplus", "Erf")
    nodes = [
        onnx.helper.make_node(
            ops[index % 10], [f"v{index}"], [f"v{index + 1}"], name=f"/layers.{index // 200}/block/{index}"
        )
        for index in range(10_000)
    ]
    ends = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 768, 56, 56])
        for name in ("v0", "v10000")
    ]
    file = tmp_path_factory.mktemp("large") / "large.onnx"
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:])
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), file
    )
    return load(file)


def found(model: Model, findings: int, sites: int, rows: int = 12) -> Report:
    """Return findings at blocks of neighbouring nodes."""
    nodes = model.graph.nodes

    def site(start: int) -> Site:
        start %= len(nodes) - rows
        chosen = tuple(
            Row(
                node.path,
                node.op,
                node.output.type_text,
                "what it does",
                "a culprit" if at in (2, 5) else "",
                "",
                node.index,
            )
            for at, node in enumerate(nodes[start : start + rows])
        )
        return Site(
            chosen[0].node, chosen[0].op, f"layers.{start // 200}.block", None, chosen, f"{start:016x}"
        )

    def finding(number: int) -> Finding:
        return replace(
            handmade.SCALE,
            rule=f"XYZ{number}",
            severity=SEVERITIES[number % 3],
            fingerprint=f"{number:016x}",
            sites=tuple(site(number * 190 + 7 * place) for place in range(sites)),
        )

    return Report((ModelReport(str(model.path), "TensorRT 10.7", tuple(map(finding, range(findings)))),))


@pytest.mark.slow
def test_a_large_model_with_many_findings(large: Model) -> None:
    report = found(large, 50, 1)
    style = Style(files=1, rules=(), root=None, look=lambda path: Facts(load(Path(path))))
    start = time.process_time()
    text = "\n".join(document(Run(report, style, {})))
    assert time.process_time() - start < 30  # 2 seconds on an idle machine
    assert len(text.encode()) < 1_000_000
    assert Parsed(text).elements["figure"] == 51


@pytest.mark.slow
def test_many_sites_take_no_more_room(large: Model) -> None:
    few, many = (len(page(found(large, 2, sites, rows=3), Facts(large))) for sites in (100, 20_000))
    assert many < few + 10_000


@pytest.mark.slow
def test_many_findings_take_no_more_room(large: Model) -> None:
    text = page(found(large, 3_000, 1), Facts(large))
    assert len(text.encode()) < 1_800_000
    parsed = Parsed(text)
    assert parsed.elements["article"] == 150
    assert "2,600 more findings are not in this table." in parsed.texts


def test_many_models_take_no_more_room() -> None:
    models = [replace(handmade.one_model().models[0], path=f"m{number}.onnx") for number in range(2_000)]
    text = page(Report(tuple(models)))
    assert len(text.encode()) < 1_800_000
    assert "1,600 more models are not in this table." in text


# A real browser.

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder; yield its address and the requested paths."""
    asked: list[str] = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, format: str, *args: object) -> None:
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("hostile", [False, True])
def test_a_browser_fetches_nothing_and_complains_of_nothing(tmp_path: Path, hostile: bool) -> None:
    assert BROWSER is not None
    report, facts = attention(tmp_path, mul_q="<img src=/x.png onerror=alert(1)>" if hostile else "/attn/q")
    (tmp_path / "report.html").write_text(page(report, facts), encoding="utf-8")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path / 'user'}",
    ]
    with served(tmp_path) as (address, asked):
        done = subprocess.run(
            [BROWSER, *flags, "--dump-dom", f"{address}/report.html"],
            capture_output=True,
            timeout=120,
            check=True,
        )
    complaints = [line for line in done.stderr.decode().splitlines() if "CONSOLE" in line]
    assert complaints == []
    assert asked == ["/report.html"]
    shown = done.stdout.decode()
    assert "Findings by severity" in shown
    harmless(shown)
    assert Parsed(shown).elements["svg"] == 2
