"""Tests of the table of trtexec's options."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from packaging.version import Version

from trtlint.knowledge import data
from trtlint.knowledge.flags import RejectedFlag, flag_histories, known_flags, nearest_flag, rejected_flag
from trtlint.knowledge.releases import minors


def test_every_edge_is_a_release_line_and_in_order() -> None:
    for history in flag_histories().values():
        edges = [history.since, history.deprecated, history.removed]
        known = [edge for edge in edges if edge is not None]
        assert known == sorted(set(known), key=Version), history.name
        assert {*known, *filter(None, [history.noop]), *(history.absent or ())} <= {*minors("tensorrt")}
        assert history.removed is None or history.instead, f"{history.name} has no replacement"


def test_every_option_has_a_source() -> None:
    table = data("flags")
    for row in table["flags"]:
        assert row["sources"]
        assert all(table["pages"][key].startswith("https://") for key in row["sources"])


def test_no_option_is_listed_twice() -> None:
    always = [flag for row in data("flags")["always"] for flag in row]
    changing = [row["flag"] for row in data("flags")["flags"]]
    assert len({*always, *changing}) == len(always) + len(changing)


def test_it_agrees_with_the_collected_knowledge(shared: Path) -> None:
    rows = yaml.safe_load((shared / "knowledge" / "versions.yaml").read_text(encoding="utf-8"))
    histories = flag_histories()
    for change in rows["trtexec_flag_changes"]:
        line = "9.0" if change["at"] == "9.x" else change["at"]
        for text in change.get("added", ()):
            flag = text.split(" ")[0]
            restored = histories[flag].absent
            lines = minors("tensorrt")
            assert line == histories[flag].since or (restored and lines[lines.index(restored[1]) + 1] == line)
        for text in change.get("removed", ()):
            flag = text.split(" ")[0]
            absent = histories[flag].absent
            assert line == (absent[0] if "back in" in text and absent else histories[flag].removed), flag
        for flag in change.get("noop", ()):
            assert histories[flag].noop == line


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("--minshapes", "--minShapes"),
        ("--saveengine", "--saveEngine"),
        ("--layerPrecision", "--layerPrecisions"),
        ("--fp16", None),
        ("--fp17", "--fp16"),
        ("--fp15", "--fp16"),
        ("--FP17", "--fp16"),
        ("--hepl", "--help"),
        ("--onxx", "--onnx"),
        ("--bset", "--best"),
        ("--fpx", "--fp8"),
        ("--fp4", None),
        ("--int2", None),
        ("--bsxt", None),
        ("--xc", None),
        ("--halff", None),
        ("--bogus", None),
        ("--ourOwnOption", None),
    ],
)
def test_nearest(name: str, meant: str | None) -> None:
    assert nearest_flag(name) == meant
    assert meant is None or meant in known_flags()


@pytest.mark.parametrize(
    ("name", "release", "removed", "added"),
    [
        ("--workspace", "10.3.0", "10.0", ""),
        ("--workspace", None, "10.0", ""),
        ("--workspace", "8.6.1", "", ""),
        ("--int4", "10.0.1", "", "10.1"),
        ("--safetyPlugins", "10.15.1", "", "10.16"),
        ("--safetyPlugins", "10.16.0", "", ""),
        ("--safetyPlugins", "10.12.0", "", "10.13"),
        ("--consistency", "10.4.0", "", "10.13"),
        ("--int4", "11.0.0", "11.0", ""),
        ("--int4", None, "11.0", ""),
        ("--int4", "10.1", "", ""),
        ("--onnx", "10.3.0", "", ""),
    ],
)
def test_why_a_release_rejects_an_option(name: str, release: str | None, removed: str, added: str) -> None:
    found = rejected_flag(name, release)
    assert (found.removed, found.added) == (removed, added)
    assert bool(found.instead) is bool(removed)


def test_a_misspelt_option_is_rejected() -> None:
    assert rejected_flag("--saveEngin", None) == RejectedFlag(instead="--saveEngine")
    assert rejected_flag("--unheard", None) == RejectedFlag()
