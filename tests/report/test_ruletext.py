"""Text about a rule, taken from its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rules import make_rule
from trtlint.report.ruletext import applies, sections, summary


def test_the_affected_versions_have_the_order_of_products(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, applies="{tensorrt-rtx: '>=1.1', tensorrt: '>=10.7,<10.8'}")
    assert applies(rule) == "TensorRT 10.7, TensorRT-RTX 1.1 and newer"
    assert applies(make_rule(tmp_path, applies="{tensorrt: '>=10.7'}")) == "TensorRT 10.7 and newer"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("The norm overflows. More text.", "The norm overflows."),
        ("The norm overflows: it\nsquares. More text.", "The norm overflows."),
        ("The norm overflows; more text", "The norm overflows."),
        ("Version 10.7 fails. More text.", "Version 10.7 fails."),
        ("A text\nwithout an end", "A text without an end."),
        ("## Heading\n\n# Another\nThe text  has two lines\nand ends.", "The text has two lines and ends."),
        ("## Heading only", ""),
        ("", ""),
    ],
)
def test_the_first_sentence_stands_in_for_the_summary(body: str, words: str, tmp_path: Path) -> None:
    assert summary(make_rule(tmp_path, body)) == words


def test_a_summary(tmp_path: Path) -> None:
    assert summary(make_rule(tmp_path, "Text.", summary="The short sentence.")) == "The short sentence."


BODY = """
Text before.

## How to fix

Do this.

## Background

Why.

## Fires

Model 1.

## References of others

Where.

## Stays silent

Model 2.

## Fixed

Model 3.
"""


def test_sections(tmp_path: Path) -> None:
    assert sections(make_rule(tmp_path, BODY)) == (
        "## How to fix\n\nDo this.",
        "Text before.\n\n## Background\n\nWhy.\n\n## References of others\n\nWhere.",
        "## Fires\n\nModel 1.\n\n## Stays silent\n\nModel 2.\n\n## Fixed\n\nModel 3.",
    )


HEAD = "## How to fix\n\nA finding shows only the advice that fits the model:\n"


@pytest.mark.parametrize(
    ("advice", "words"),
    [
        ("[{do: cast the input to FP32}]", f"{HEAD}\n- Cast the input to FP32"),
        ("[{do: Or cast the input to FP32}]", f"{HEAD}\n- Cast the input to FP32"),
        ("[{do: 'cast the input of {op} to FP32'}]", f"{HEAD}\n- Cast the input of `op` to FP32"),
        (
            "[{tensorrt: '>=10.7', tensorrt-rtx: '>=1.1', do: cast the input to FP32}, "
            "{do: Or keep the node in FP32}]",
            f"{HEAD}\n- TensorRT 10.7 and newer, TensorRT-RTX 1.1 and newer: Cast the input to FP32\n"
            "- Keep the node in FP32",
        ),
        # Advice with less than 20 characters of fixed text is left out.
        ("[{do: 'exactly 20 character{op}'}]", f"{HEAD}\n- Exactly 20 character`op`"),
        ("[{do: 'only 19 characters {op}'}]", ""),
        (
            "[{do: 'only 19 characters {op}'}, {do: cast the input to FP32}]",
            f"{HEAD}\n- Cast the input to FP32",
        ),
    ],
)
def test_advice_without_a_section_about_the_fix(advice: str, words: str, tmp_path: Path) -> None:
    rule = make_rule(tmp_path, "Text.", advice=advice)
    assert sections(rule) == (words, "Text.", "")
