"""Tests of the random sample of texts."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from scripts import sample_texts

KINDS = (sample_texts.docstrings, sample_texts.messages, sample_texts.rule_texts, sample_texts.manual)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_the_sample(kind: sample_texts.Draw) -> None:
    first, again, other = ([*islice(kind(random.Random(seed)), 3)] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert all(text.strip() for text in first)


def test_examples_of_rules_are_no_texts() -> None:
    assert not any(
        "```" in text.partition("## ")[2][:6] for text in sample_texts.rule_texts(random.Random(1))
    )
    assert not any("\n## Fires\n" in text for text in sample_texts.rule_texts(random.Random(1)))


def test_a_passage_is_a_paragraph_with_the_block_that_it_introduces() -> None:
    words = "One two three four five six seven eight nine ten eleven"
    code = f"```console\n{words} $ a\n\n{words} $ b\n```"
    text = f"{words} twelve.\n\n{words} twelve:\n\n- first\n\n  below\n- second\n\n{code}\n\nShort."
    assert [*sample_texts.passages(text)] == [
        f"{words} twelve.",
        f"{words} twelve:\n\n- first\n\n  below\n- second",
    ]


@pytest.mark.slow
def test_values_in_messages_are_in_braces() -> None:
    texts = [*islice(sample_texts.messages(random.Random(3)), 40)]
    assert any(text.startswith(("error[", "warning[", "note[")) for text in texts[::2])
    assert any("{" in text for text in texts[1::2])
