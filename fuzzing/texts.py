"""Random changes of texts, by line and by word."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_NUMBERS = (
    *("0", "-1", "1.2.3", "1e999", "nan", "9" * 20, "9" * 400, "9" * 5_000, "0x", "1,5", "2147483648"),
    *("٣", "¹", "10.8", "...", "--1", "1e-400"),
)
_PIECES = (
    *(
        "\0",
        "\r",
        "\x1b[31m",
        "\x1b]0;",
        "\ufeff",
        "\ud800",
        "�",
        "\u2028",
        "\t",
        "\\",
        '"',
        "'",
        "[[",
        "{",
        "}",
    ),
    *(
        ":",
        "=",
        "<",
        "&a",
        "*a",
        "!!python/object",
        "|",
        ">",
        "```",
        "---",
        "\x1c",
        "\x85",
        "::error::",
        "##[",
    ),
)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_LONGEST = 200_000


def change_text(text: str, others: Sequence[str], chance: random.Random) -> str:
    """Return a text with one change; the change may insert a part of another text."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    action = chance.randrange(12)
    if action == 0:
        del lines[at]
    elif action == 1:
        lines[at:at] = [lines[at]] * chance.choice((1, 2, 50, 2_000))
    elif action == 2:
        there = chance.randrange(len(lines))
        lines[at], lines[there] = lines[there], lines[at]
    elif action == 3:
        other = chance.choice(others).split("\n")
        start = chance.randrange(len(other))
        lines[at:at] = other[start : start + chance.randint(1, 20)]
    elif action == 4:
        other = chance.choice(others).split("\n")
        lines[at] += chance.choice(other)
    elif action == 5:
        lines[at] = _renumbered(lines[at], chance)
    elif action == 6:
        lines[at] = _repeated(lines[at], chance)
    elif action == 7:
        place = chance.randint(0, len(lines[at]))
        piece = chance.choice(_PIECES) * chance.choice((1, 1, 1, 300))
        lines[at] = lines[at][:place] + piece + lines[at][place:]
    elif action == 8:
        place = chance.randint(0, len(lines[at]))
        lines[at] = lines[at][place : place + chance.randint(0, 60)]
    elif action == 9:
        lines[at] = _words(lines[at], chance)
    elif action == 10:
        lines[at : at + 2] = [chance.choice(("", " ", "\r")).join(lines[at : at + 2])]
    elif chance.random() < 0.2:
        del lines[at:]
    return "\n".join(lines)[:_LONGEST]


def change_bytes(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with some of them changed, removed, inserted or copied."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, min(len(changed), chance.choice((64, 4096, 1 << 20))))
        action = chance.randrange(5)
        if action == 0:
            changed[at : at + 1] = bytes([chance.choice((0, 1, 8, 0x0A, 0x12, 0x7F, 0x80, 0xFF))])
        elif action == 1:
            changed[at : at + 1] = bytes([chance.randrange(256)])
        elif action == 2:
            del changed[at : at + chance.randint(1, 40)]
        elif action == 3:
            changed[at:at] = changed[at : at + chance.randint(1, 400)]
        else:
            changed[at:at] = chance.randbytes(chance.randint(1, 8))
    return bytes(changed)


def _renumbered(line: str, chance: random.Random) -> str:
    found = list(_NUMBER.finditer(line))
    if not found:
        return line + chance.choice(_NUMBERS)
    number = chance.choice(found)
    return line[: number.start()] + chance.choice(_NUMBERS) + line[number.end() :]


def _repeated(line: str, chance: random.Random) -> str:
    start = chance.randint(0, len(line))
    part = line[start : start + chance.randint(1, 30)]
    return line[:start] + part * chance.choice((2, 30, 1_000, 4_000)) + line[start:]


def _words(line: str, chance: random.Random) -> str:
    words = line.split(" ")
    at = chance.randrange(len(words))
    if chance.random() < 0.5:
        words[at : at + 1] = []
    else:
        words[at] = chance.choice(words)
    return " ".join(words)
