"""Tests of the search for lines with known message prefixes."""

from __future__ import annotations

import pytest

from trtlint.buildfiles import line_filter
from trtlint.buildfiles.line_filter import BlockFilter

LITERALS = (b"Parsing ", b"Total Activation Memory")
DATE = "[11/11/2024-11:11:11] "
QUIET = {
    f"{DATE}[V] [TRT] ": (32, "logger"),
    f"{DATE}[I] [TRT] ": (32, "logger"),
    f"{DATE}[TRT] [V] ": (32, "python"),
    f"{DATE}[TRT] [I] ": (32, "python"),
    "[V] ": (4, "logger"),
    "[X] ": (4, "logger"),
    "[V] [TRT] ": (10, "logger"),
    "[X] [TRT] ": (10, "logger"),
}
"""Short prefixes: the start of the message, and the tool that writes the prefix."""
OTHER = ("", DATE, f"{DATE}[W] [TRT] ", f"{DATE}[TRT] [E] ", "[W] ", "[E] [TRT] ", "[V][TRT] ")
FILLER = f"{DATE}[V] [TRT] Tactic: 0x1 Time: 0.1 and words to fill a line\n" * 8


def picked(*lines: str) -> tuple[list[tuple[int, bytes, int]], set[str]]:
    """Return the selected lines (number and start of the message) and the tools."""
    found = BlockFilter(LITERALS)
    data = ("\n".join(lines) + "\n" + FILLER).encode()
    _, _, batches = found.lines(data, 0, len(data), 0)
    return [row for batch in batches for row in zip(*batch, strict=True)], found.shapes


@pytest.mark.parametrize("prefix", QUIET)
def test_quiet_lines_need_a_known_beginning(prefix: str) -> None:
    """Line numbers start at 1."""
    start, tool = QUIET[prefix]
    known = [f"{prefix}{literal.decode()}: a number of words behind it" for literal in LITERALS]
    found, tools = picked(f"{prefix}Something else that nobody wants to read", *known)
    assert found == [(number, line.encode(), start) for number, line in enumerate(known, 2)]
    assert tools == {tool, "logger"}


@pytest.mark.parametrize("prefix", OTHER)
def test_other_lines_always_need_a_look(prefix: str) -> None:
    line = f"{prefix}Something else that nobody wants to read"
    assert picked(line)[0] == [(1, line.encode(), 0)]


def test_lines_are_counted_only_if_all_their_known_bytes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """All messages in this test have the same hash."""
    monkeypatch.setattr(line_filter, "_FACTOR", 0)
    monkeypatch.setattr(line_filter, "_SECOND", 0)
    known = "Total Activation Mem"
    found = BlockFilter([known.encode()])
    found.enough(known.encode(), context=False)
    others = [
        known[:place] + letter + known[place + 1 :]
        for place in (0, 5, 6, 13, 14, 19)
        for letter in (chr(ord(known[place]) - 1), chr(ord(known[place]) + 1))
    ]
    lines = [f"{DATE}[V] [TRT] {text} and the end" for text in (known, *others, f"{known}!", known)]
    data = "\n".join([*lines, "", ""]).encode() + b"x" * 64
    count, end, batches = found.lines(data, 0, data.index(b"xx"), 0)
    expected = [(number, line.encode(), 32) for number, line in enumerate(lines[1:-2], 2)]
    rows = [row for batch in batches for row in zip(*batch, strict=True)]
    assert rows == [*expected, (len(lines) + 1, b"", 0)]
    assert (count, end) == (len(lines) + 1, data.index(b"xx"))
    assert found.counts() == {known.encode(): 3}


@pytest.mark.parametrize("place", range(len("Parsing")))
def test_every_byte_that_is_hashed_distinguishes_lines(place: int) -> None:
    """Six bytes of a short literal are hashed."""
    known = "Parsing "
    other = known[:place] + chr(ord(known[place]) ^ 64) + known[place + 1 :]
    line = f"[V] {other}and a number of words behind it"
    assert picked(line)[0] == ([(1, line.encode(), 4)] if place == 6 else [])
