"""Tests that every field of facts and every function of the rule language is used."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.conftest import REPOSITORY
from trtlint.facts.kinds import fact_class, kinds
from trtlint.language.functions import FUNCTIONS

FOR_HOUSE_RULES = {
    "build.has_log", "build.has_profile", "cost.flops", "cost.intensity", "engine.reformat_ms",
    "layer.input_types", "layer.output_types", "weights.subnormal_fp16", "weights.vanishing_fp16",
}  # fmt: skip
"""Fields that no built-in rule reads, kept for custom rules as counterparts of used fields."""


@cache
def conditions() -> str:
    """Return the texts in the rule language."""
    rules = sorted((REPOSITORY / "rules").rglob("*.md"))
    fronts = [rule.read_text(encoding="utf-8").partition("\n---\n")[0] for rule in rules]
    knowledge = sorted((REPOSITORY / "trtlint/knowledge").glob("*.yaml"))
    return "\n".join([*fronts, *(file.read_text(encoding="utf-8") for file in knowledge)])


@cache
def read_names() -> frozenset[str]:
    """Return the words of conditions, and the attributes and quoted names in the sources of the package."""
    found = set(re.findall(r"\w+", conditions()))
    for file in (REPOSITORY / "trtlint").rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        found |= set(re.findall(r"\.(\w+)", source)) | set(re.findall(r"""["'](\w+)["']""", source))
    return frozenset(found)


def test_every_field_of_a_fact_is_read() -> None:
    unread = {
        f"{kind}.{name}"
        for kind in kinds()
        for name in fact_class(kind).__annotations__
        if name not in ("kind", "roles") and name not in read_names()
    }
    assert unread == FOR_HOUSE_RULES


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_the_language_is_used(name: str) -> None:
    assert re.search(rf"(?<![.\w]){name}\(", conditions())
