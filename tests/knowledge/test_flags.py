"""Tests of the table of trtexec's options."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from trtlint.knowledge.flags import flag_histories, known_flags, nearest_flag
from trtlint.knowledge.releases import releases


def lines() -> set[tuple[int, int]]:
    found = {tuple(release.number.release[:2]) for release in releases("tensorrt")}
    return {(major, minor) for major, minor in found}


def test_every_edge_is_a_release_line_and_in_order() -> None:
    for history in flag_histories().values():
        edges = [history.since, history.deprecated, history.removed]
        known = [edge for edge in edges if edge is not None]
        assert known == sorted(set(known)), history.name
        assert set(known) | ({history.noop} if history.noop else set()) <= lines(), history.name
        assert history.sources
        assert all(url.startswith("https://") for url in history.sources)
        assert history.removed is None or history.instead, f"{history.name} has no replacement"


def test_no_option_is_listed_twice() -> None:
    from trtlint.knowledge import data

    always = [flag for row in data("flags")["always"] for flag in row]
    changing = [row["flag"] for row in data("flags")["flags"]]
    assert len({*always, *changing}) == len(always) + len(changing)


def test_it_agrees_with_the_collected_knowledge(shared: Path) -> None:
    rows = yaml.safe_load((shared / "knowledge" / "versions.yaml").read_text(encoding="utf-8"))
    histories = flag_histories()
    for change in rows["trtexec_flag_changes"]:
        line = (9, 0) if change["at"] == "9.x" else tuple(map(int, change["at"].split(".")))
        for text in change.get("added", ()):
            flag = text.split(" ")[0]
            restored = histories[flag].absent
            assert line == histories[flag].since or (
                restored and (restored[1][0], restored[1][1] + 1) == line
            )
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
        ("--ourOwnOption", None),
    ],
)
def test_nearest(name: str, meant: str | None) -> None:
    assert nearest_flag(name) == meant
    assert meant is None or meant in known_flags()
