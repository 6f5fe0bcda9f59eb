"""Tests of the index of fixed texts against a search for each text."""

from __future__ import annotations

import random
import re

from trtlint.buildfiles.patterns import Literals, table

TEXTS = [text for pattern in table().patterns for text in (*pattern.starts, *pattern.contains)]
NOISE = " ".join(f"Loading tile {number} of plate, plane and place" for number in range(100))


def each(texts: list[str], message: str) -> list[tuple[int, int]]:
    """Search for each text separately."""
    return [(place, message.find(text)) for place, text in enumerate(texts) if text in message]


def test_texts_are_found_in_their_order() -> None:
    texts = ["not supported", "rror", "is not", "rror", "fire", "TRT: is"]
    assert Literals(texts).inside("Error: this is not supported") == [(0, 15), (1, 1), (2, 12), (3, 1)]
    assert Literals(texts).inside("") == []
    assert Literals([]).inside("Error") == []


def test_a_word_that_ends_or_begins_elsewhere_is_found() -> None:
    texts = ["ot fin", "annot find an", " DLA", "(0xC0", "é über", "核心 已"]
    message = "cannot find any DLAs (0xC0000) café überall 核心 已杀死"
    assert Literals(texts).inside(message) == each(texts, message)
    assert len(each(texts, message)) == len(texts)


def test_the_texts_of_the_table_are_found_wherever_they_stand() -> None:
    index, draw = Literals(TEXTS), random.Random(7)
    for text in TEXTS:
        around = ["", " ", "_", "x", "9", "(", "Zé"]
        middle = f"{draw.choice(around)}{text}{draw.choice(around)}{draw.choice(TEXTS)[1:]}"
        message = draw.choice(("", "a b ", "x")) + middle
        assert index.inside(message) == each(TEXTS, message), text


def test_most_texts_are_not_searched_in_a_long_message() -> None:
    index = Literals(TEXTS)
    assert len(index.candidates(NOISE)) < len(set(TEXTS)) / 3
    assert index.inside(NOISE) == []


def test_no_pattern_skips_to_a_word_from_each_place_of_a_message() -> None:
    slow = re.compile(r"(?:^|[(|:])\[\^\\n\]\*[A-Za-z ]")
    assert [pattern.name for pattern in table().patterns if slow.search(pattern.regex)] == []
