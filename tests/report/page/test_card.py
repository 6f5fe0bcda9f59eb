"""Tests of one finding card, part by part."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from tests.report import handmade
from trtlint.engine.finding import Finding
from trtlint.model.source import Source
from trtlint.report.page import card as module
from trtlint.report.page.card import CardEntry, card, ticked
from trtlint.report.page.markup import LONGEST, clipped

EXPLAINED = "manual.example.org/rules/ACC104/"


def shown(finding: Finding, **more: Any) -> list[str]:
    """Return the lines of text of a finding."""
    given = {"target": "", "room": 100_000, **more}
    seen, conditional = given.pop("seen", ""), given.pop("conditional", False)
    entry = CardEntry(finding, seen, "f1", "m.onnx", conditional)
    element, _ = card(entry, None, number="p1", **given)
    html = re.sub(r"</(?:h\d|p|li|dt|dd|summary|pre)>", "\n", element)
    texts = (re.sub(r"<[^>]+>", "", line).rstrip() for line in html.splitlines())
    return [text for text in texts if text]


def part(finding: Finding, first: str, last: str, **more: Any) -> list[str]:
    """Return the lines between two lines of a finding."""
    lines = shown(finding, **more)
    return lines[lines.index(first) + 1 : lines.index(last) if last else None]


def test_a_finding() -> None:
    assert shown(handmade.CLIP) == [
        "note ACC104 tf32-conv-clip",
        "an FP32 convolution is followed by clip-like bounds while TF32 is on",
        "n7",
        "   |",
        "   |  n7  Conv  f32[1,32,56,56]",
        "   |  n8  Clip  f32[1,32,56,56]  0 to 6",
        "   |  ^^ clip",
        "   |",
        "What to do",
        "Build with --noTF32.",
        "Or leave the clip to the caller.",
        "Evidence and confidence",
        "Applies to",
        "TensorRT 8.6 or newer, SM 8.0 or newer",
        "Confidence",
        "medium, user-reported",
        "Seen in",
        "node n7: f32[1,32,56,56]",
        "Explained",
        EXPLAINED,
    ]


def test_a_finding_without_sites() -> None:
    bare = replace(handmade.CLIP, sites=(), said=(), advice=(), applies="")
    assert shown(bare) == [
        "note ACC104 tf32-conv-clip",
        "an FP32 convolution is followed by clip-like bounds while TF32 is on",
        "Evidence and confidence",
        "Confidence",
        "medium, user-reported",
        "Explained",
        EXPLAINED,
    ]


def test_a_conditional_finding_of_several_targets() -> None:
    lines = shown(replace(handmade.FLAG, depends=("--fp16", "--gpu")), seen="10.7 to 10.9", conditional=True)
    assert lines[0] == "conditional ACC101 fp16-decomposed-norm"
    start = lines.index("Evidence and confidence")
    assert lines[start + 1 :][:6] == [
        "Depends on",
        "--fp16 or --no-fp16, --gpu (not given)",
        "Applies to",
        "TensorRT 8.6 or newer, SM 8.0 or newer",
        "Seen for",
        "10.7 to 10.9",
    ]


def test_sources_are_links() -> None:
    html, _ = card(CardEntry(handmade.SCALE, "", "f1", "m.onnx", False), None, "", "p1", 0)
    url = "https://github.com/NVIDIA/TensorRT/issues/4333"
    assert f'<a href="{url}" rel="noreferrer noopener">' in html


def test_an_equal_finding_is_collapsed() -> None:
    lines = shown(handmade.CLIP, repeated=True)
    assert lines[3] == "Same message as above: details"
    assert [*lines[:3], *lines[4:]] == shown(handmade.CLIP)


SITE = handmade.CLIP.sites[0]
NAMED = handmade.SCALE.sites[0]


@pytest.mark.parametrize(
    ("finding", "words"),
    [
        (replace(handmade.CLIP, sites=(SITE, SITE)), "n7 and 1 more place"),
        (replace(handmade.CLIP, sites=(SITE, SITE, SITE)), "n7 and 2 more places"),
        (
            replace(handmade.CLIP, sites=(NAMED,)),
            "blocks.0.attn · exported from net/attention.py:57 in forward",
        ),
        (
            replace(handmade.CLIP, sites=(replace(NAMED, module=None, node=""),)),
            "Exported from net/attention.py:57 in forward",
        ),
        (
            replace(handmade.CLIP, ms=1.5, share=0.126),
            "n7 · 1.5 ms, 13% of the time of all layers",
        ),
        (replace(handmade.CLIP, ms=1.5), "n7"),
        (replace(handmade.CLIP, share=0.126), "n7"),
    ],
)
def test_the_place_of_a_finding(finding: Finding, words: str) -> None:
    assert shown(finding)[2] == words


@pytest.mark.parametrize(("excess", "drawn"), [(0, False), (1, True)])
def test_a_drawing_beyond_the_room_is_left_out(excess: int, drawn: bool) -> None:
    size = len("\n".join(shown(handmade.CLIP)[3:8]))
    entry = CardEntry(handmade.CLIP, "", "f1", "m.onnx", False)
    html, length = card(entry, None, "", "p1", size + excess)
    assert ("<pre" in html, length > 0) == (drawn, drawn)


def places(*names: str, sources: int = 0) -> Finding:
    """Return a finding at these nodes."""
    sites = [
        replace(SITE, node=name, source=Source("net.py", at, "f") if at < sources else None)
        for at, name in enumerate(names)
    ]
    return replace(handmade.CLIP, sites=tuple(sites))


def test_places_of_one_site_are_not_listed() -> None:
    assert shown(places("/a"))[-1] == EXPLAINED


def test_places_are_listed_with_their_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    found = places("/a/X", "/b/Y", "/c/Z", sources=2)
    listed = ["3 places", "/a/X", "/b/Y", "/c/Z"]
    sources = ["Exported from", "net.py:0 in f", "net.py:1 in f"]
    assert part(found, EXPLAINED, "") == [*listed, *sources]
    assert part(places("/a/X", "/b/Y", "/c/Z"), EXPLAINED, "") == listed
    monkeypatch.setattr(module, "_PLACES", 2)
    monkeypatch.setattr(module, "_SOURCES", 1)
    assert part(found, EXPLAINED, "") == [
        *listed[:3],
        "and 1 more",
        *sources[:2],
        "and 1 more",
    ]
    monkeypatch.setattr(module, "_PLACES", 3)
    monkeypatch.setattr(module, "_SOURCES", 2)
    assert part(found, EXPLAINED, "") == [*listed, *sources]
    monkeypatch.setattr(module, "_MOST_SITES", 1)
    assert part(found, EXPLAINED, "") == ["3 places", "/a/X", *sources[:2]]


@pytest.mark.parametrize(
    ("most", "lines"),
    [(3, ["a", "b", "c"]), (2, ["a", "b", "and 1 more place"]), (1, ["a", "and 2 more places"])],
)
def test_evidence_beyond_the_limit_is_counted(
    most: int, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_EVIDENCE", most)
    monkeypatch.setattr(module, "evidence_lines", lambda finding, drawn: finding.said)
    assert part(replace(handmade.CLIP, said=("a", "b", "c")), "Seen in", "Explained") == lines


@pytest.mark.parametrize(
    ("words", "html"),
    [
        ("plain", "plain"),
        ("a `b` c", "a <code>b</code> c"),
        ("`b`", "<code>b</code>"),
        ("a `b", "a `b"),
        ("a `b` `c", "a `b` `c"),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
    ],
)
def test_words_between_backticks_are_code(words: str, html: str) -> None:
    assert ticked(words) == html


def test_long_texts_are_shortened() -> None:
    assert clipped("12345", 5) == "12345"
    assert clipped("123456", 5) == "12345 …"
    assert clipped(LONGEST * "x") == LONGEST * "x"
    assert clipped(LONGEST * "x" + "y") == LONGEST * "x" + " …"
