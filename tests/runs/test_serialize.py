"""Dataclasses as JSON data and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trtlint.engine.finding import Finding, ModelReport
from trtlint.runs import serialize

# Shares and times are numbers; what is no number equals nothing, itself included.
st.register_type_strategy(float, st.floats(allow_nan=False))


def short(kind: type) -> st.SearchStrategy[tuple[Any, ...]]:
    """Tuples of at most two items: a report nests them seven deep, and longer ones outgrow hypothesis."""
    items = get_args(kind)
    if len(items) == 2 and items[1] is ...:
        return st.lists(st.from_type(items[0]), max_size=2).map(tuple)
    return st.tuples(*map(st.from_type, items))


st.register_type_strategy(tuple, short)
HINTS = get_type_hints(Finding)
STORED = {
    each.name: st.from_type(HINTS[each.name]) for each in fields(Finding) if each.metadata.get("stored", True)
}
st.register_type_strategy(Finding, st.builds(Finding, **STORED))
REPORTS = st.from_type(ModelReport)


@given(REPORTS)
@settings(max_examples=20)
def test_a_report_comes_back_as_it_was(report: ModelReport) -> None:
    # The findings that a cause includes are put together for each report that is written.
    def bare(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(replace(finding, includes=()) for finding in findings)

    report = replace(
        report,
        findings=bare(report.findings),
        conditional=bare(report.conditional),
        suppressed=bare(report.suppressed),
    )
    text = json.dumps(serialize.dump(report, ModelReport))
    assert serialize.load(json.loads(text), ModelReport) == report


def test_frames_of_a_source_come_back_although_they_do_not_count_for_equality() -> None:
    from trtlint.model.source import Frame, Source

    source = Source("a.py", 3, frames=(Frame("/home/u/a.py", 3, "f", "x = 1"),))
    assert serialize.load(serialize.dump(source, Source), Source).frames == source.frames


@dataclass(frozen=True)
class Small:
    name: str
    count: int
    parts: tuple[str, ...] = ()
    note: str | None = None


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        "text",
        [],
        ["a"],
        ["a", "1", [], None],
        ["a", True, [], None],
        [1, 1, [], None],
        ["a", 1, "bc", None],
        ["a", 1, [1], None],
        ["a", 1, [], 2],
        ["a", 1, [], None, None],
    ],
)
def test_other_data_are_refused(data: Any) -> None:
    assert serialize.load(["a", 1, ["b"], None], Small) == Small("a", 1, ("b",))
    with pytest.raises(ValueError, match="unexpected"):
        serialize.load(data, Small)


def test_what_has_no_plain_form_is_an_error_of_the_programmer() -> None:
    @dataclass(frozen=True)
    class Odd:
        value: dict[str, int]

    assert [field.name for field in fields(Odd)] == list(get_type_hints(Odd))
    with pytest.raises(TypeError, match="not plain data"):
        serialize.dump(Odd({}), Odd)
