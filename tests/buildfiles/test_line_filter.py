"""The search of a block for lines whose messages have known beginnings."""

from __future__ import annotations

import pytest

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
"""Prefixes of messages that say little: where the message begins, and the tool that writes them."""
OTHER = ("", DATE, f"{DATE}[W] [TRT] ", f"{DATE}[TRT] [E] ", "[W] ", "[E] [TRT] ", "[V][TRT] ")
FILLER = f"{DATE}[V] [TRT] Tactic: 0x1 Time: 0.1 and words to fill a line\n" * 8


def picked(*lines: str) -> tuple[list[tuple[int, bytes, int]], set[str]]:
    """The lines that need a look, each with its number and where its message begins, and the tools."""
    found = BlockFilter(LITERALS)
    data = ("\n".join(lines) + "\n" + FILLER).encode()
    _, _, batches = found.lines(data, 0, len(data), 0)
    return [row for batch in batches for row in zip(*batch, strict=True)], found.shapes


@pytest.mark.parametrize("prefix", QUIET)
def test_quiet_lines_need_a_known_beginning(prefix: str) -> None:
    """The numbers of lines count from 1."""
    start, tool = QUIET[prefix]
    known = [f"{prefix}{literal.decode()}: a number of words behind it" for literal in LITERALS]
    found, tools = picked(f"{prefix}Something else that nobody wants to read", *known)
    assert found == [(number, line.encode(), start) for number, line in enumerate(known, 2)]
    assert tools == {tool, "logger"}


@pytest.mark.parametrize("prefix", OTHER)
def test_other_lines_always_need_a_look(prefix: str) -> None:
    line = f"{prefix}Something else that nobody wants to read"
    assert picked(line)[0] == [(1, line.encode(), 0)]
