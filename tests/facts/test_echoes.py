"""Tests of log lines that repeat an earlier failure, and of the maximum distance."""

from __future__ import annotations

import pytest

from trtlint.buildfiles.records import Record, Severity
from trtlint.facts.blocks.echoes import echoes, part_of

DESERIALIZE = "Cannot deserialize plugin since corresponding IPluginCreator not found in registry"
INVALID = "In node 5 (parseGraph): INVALID_NODE: Invalid Node - Resize_5"


def record(
    pattern: str, line: int, message: str = "", severity: Severity | None = "E", **groups: str
) -> Record:
    return Record(pattern, line, severity, message, groups)


def repeated(*records: Record) -> dict[int, int]:
    """Return for the line of each repetition the line of the original."""
    found = echoes(records)
    return {each.line: found[id(each)].line for each in records if id(each) in found}


@pytest.mark.parametrize(("line", "found"), [(5, {}), (6, {6: 5}), (10, {10: 5}), (11, {})])
def test_a_library_repeats_a_missing_plugin(line: int, found: dict[int, int]) -> None:
    if line == 5:
        other = record("plugin_library", 6, "Cannot open the library")
        assert repeated(record("plugin_not_found", 5), other) == found
    else:
        assert repeated(record("plugin_not_found", 5), record("plugin_library", line, DESERIALIZE)) == found


@pytest.mark.parametrize(("line", "found"), [(11, {11: 10}), (13, {13: 10}), (14, {}), (10, {})])
def test_an_old_parser_names_the_node_below(line: int, found: dict[int, int]) -> None:
    assert repeated(record("network_refused", 10), record("parser_bare", line)) == found


@pytest.mark.parametrize(("line", "found"), [(6, {}), (7, {7: 10}), (10, {10: 10}), (13, {13: 10}), (14, {})])
def test_a_refusal_names_the_node_of_an_error_near_it(line: int, found: dict[int, int]) -> None:
    specific = record("quantization_refused", 10)
    assert repeated(specific, record("network_refused", line, INVALID)) == found
    assert repeated(specific, record("network_refused", 8, "no node")) == {}


@pytest.mark.parametrize("pattern", ["engine_damaged", "engine_version"])
@pytest.mark.parametrize(("line", "found"), [(11, {10: 11}), (12, {10: 12}), (13, {})])
def test_an_error_above_a_statement_about_the_timing_cache(
    pattern: str, line: int, found: dict[int, int]
) -> None:
    assert repeated(record(pattern, 10), record("timing_cache_unused", line)) == found


def test_files_without_a_name_repeat_the_first_of_their_group() -> None:
    unnamed = [record("plugin_library", line) for line in (10, 11, 12)]
    assert repeated(*unnamed) == {11: 10, 12: 10}
    assert repeated(unnamed[0]) == {}


@pytest.mark.parametrize(("length", "found"), [(19, {}), (20, {10: 12})])
def test_a_sentence_that_the_parser_quotes(length: int, found: dict[int, int]) -> None:
    """Any message can contain a short sentence."""
    sentence = "s" * length
    quoted = record("shape_mismatch", 10, sentence)
    assert repeated(quoted, record("parser_error", 12, f"while parsing: {sentence}")) == found


SENTENCE = "a sentence of the library about shapes"


@pytest.mark.parametrize(
    ("quoted", "parser", "found"),
    [
        (record("shape_mismatch", 10, SENTENCE), record("parser_error", 50, f"x {SENTENCE}"), {10: 50}),
        (record("shape_mismatch", 10, SENTENCE), record("parser_error", 51, f"x {SENTENCE}"), {}),
        # Programs print the errors of the parser again.
        (record("shape_mismatch", 49, SENTENCE), record("parser_error", 9, f"x {SENTENCE}"), {49: 9}),
        (record("shape_mismatch", 50, SENTENCE), record("parser_error", 9, f"x {SENTENCE}"), {}),
        (record("shape_mismatch", 10, SENTENCE), record("parser_error", 11, "something else"), {}),
        (record("shape_mismatch", 10, "short"), record("parser_error", 10, "something else"), {10: 10}),
        (record("api_error", 10, SENTENCE), record("parser_error", 11, f"x {SENTENCE}"), {10: 11}),
        (record("api_error", 10, SENTENCE, code="1"), record("parser_error", 11, f"x {SENTENCE}"), {}),
        (record("cuda_unusable", 10, SENTENCE), record("parser_error", 11, f"x {SENTENCE}"), {}),
        (record("api_error", 10, SENTENCE), record("parser_error", 10, "something else"), {10: 10}),
        (record("shape_mismatch", 10, SENTENCE), record("network_refused", 11, f"x {SENTENCE}"), {}),
    ],
)
def test_an_error_that_the_parser_quotes(quoted: Record, parser: Record, found: dict[int, int]) -> None:
    assert repeated(quoted, parser) == found


INVALID_PROFILE = record("profile_violated", 10, order="MIN<=OPT<=MAX")


def fixed(line: int, size: str = "6") -> Record:
    return record("profile_violated", line, input="x", least="9", most="9", fixed=size)


@pytest.mark.parametrize(
    ("first", "later", "found"),
    [
        (INVALID_PROFILE, record("no_profile", 50), {50: 10}),
        (INVALID_PROFILE, record("no_profile", 51), {}),
        (INVALID_PROFILE, record("profile_violated", 11, rejected="profile->isValid()"), {11: 10}),
        (INVALID_PROFILE, fixed(11), {}),
        (fixed(10), fixed(11), {11: 10}),
        (
            fixed(10),
            fixed(11, "7"),
            {},
        ),
        (fixed(10), record("no_profile", 11), {}),
        (record("profile_violated", 10), record("profile_violated", 11), {}),
        (record("no_profile", 9), INVALID_PROFILE, {}),
    ],
)
def test_an_error_that_follows_from_a_profile(first: Record, later: Record, found: dict[int, int]) -> None:
    assert repeated(first, later) == found


@pytest.mark.parametrize(
    ("line", "module", "found"), [(11, "tensorrt_rtx", {11: 10}), (13, "tensorrt_rtx", {}), (11, "torch", {})]
)
def test_polygraphy_quotes_python(line: int, module: str, found: dict[int, int]) -> None:
    polygraphy = record("comparison_refused", 10, module="tensorrt_rtx")
    assert repeated(polygraphy, record("api_gone", line, module=module)) == found
    assert repeated(record("comparison_refused", 10), record("api_gone", line)) == {}


def test_a_specific_pattern_leads_its_line() -> None:
    general, specific = record("parser_error", 10), record("quantization_refused", 10)
    other = record("weights_count", 10)
    assert echoes([general, specific, other]) == {id(general): specific, id(other): specific}
    assert echoes([specific, general]) == {id(general): specific}
    assert echoes([general, other]) == {id(other): general}
    assert echoes([record("other", 10)]) == {}


@pytest.mark.parametrize(
    ("records", "found"),
    [
        # The error with a name leads those without, also a later one.
        ([("plugin_library", 10, {}), ("plugin_library", 12, {"path": "a.so"})], {10: 12}),
        ([("plugin_library", 10, {"path": "a.so"}), ("plugin_library", 12, {})], {12: 10}),
        ([("plugin_library", 10, {"path": "a.so"}), ("plugin_library", 12, {"path": "b.so"})], {}),
        ([("plugin_library", 10, {"path": "x/a.so"}), ("plugin_library", 12, {"path": "y\\a.so"})], {12: 10}),
        ([("plugin_library", 10, {"path": "a.so"}), ("provider_library", 12, {"path": "a.so"})], {}),
        ([("model_unreadable", 10, {}), ("plugin_library", 10, {"path": "a.so"})], {10: 10}),
        ([("plugin_library", 10, {}), ("plugin_library", 22, {})], {22: 10}),
        ([("plugin_library", 10, {}), ("plugin_library", 23, {})], {}),
        (
            [("plugin_library", 10, {}), ("plugin_library", 20, {}), ("plugin_library", 30, {})],
            {20: 10, 30: 10},
        ),
        (
            [
                ("plugin_library", 10, {"path": "a.so"}),
                ("plugin_library", 12, {"path": "b.so"}),
                ("plugin_library", 14, {}),
            ],
            {14: 10},
        ),
        ([("out_of_memory", 10, {"path": "a"}), ("out_of_memory", 11, {"path": "a"})], {}),
    ],
)
def test_errors_about_one_file(records: list[tuple[str, int, dict[str, str]]], found: dict[int, int]) -> None:
    assert repeated(*(Record(pattern, line, "E", "", groups) for pattern, line, groups in records)) == found


def test_the_part_that_a_framework_names() -> None:
    named = {
        "model": "m",
        "served": "s",
        "kernel": "k",
        "node": "n",
        "op": "o",
        "engine": "e",
        "segment": "g",
    }
    for key, text in named.items():
        assert part_of(Record("provider_failed", 1, "E", "", {key: text})) == text
    assert part_of(Record("provider_failed", 1, "E", "", {**named, "model": ""})) == "s"
    assert part_of(record("provider_failed", 1)) == ""


@pytest.mark.parametrize("full", ["out_of_memory", "allocation_refused"])
@pytest.mark.parametrize(("line", "found"), [(10, {}), (11, {11: 10}), (13, {13: 10}), (14, {})])
def test_a_warning_has_the_size_of_a_failed_allocation(full: str, line: int, found: dict[int, int]) -> None:
    assert repeated(record(full, 10), record("allocation_refused", line, "", "W")) == found


@pytest.mark.parametrize(("line", "found"), [(11, {11: 10}), (50, {50: 10}), (51, {})])
def test_a_framework_reports_a_part_without_an_engine(line: int, found: dict[int, int]) -> None:
    cause = record("out_of_memory", 10)
    assert repeated(cause, record("provider_failed", line, model="a")) == found


def test_a_framework_repeats_the_cause_for_one_part_alone() -> None:
    cause = record("out_of_memory", 10)
    reports = [
        record("provider_failed", line, model=name) for line, name in ((11, "a"), (12, "a"), (13, "b"))
    ]
    assert repeated(cause, *reports) == {11: 10, 12: 10}
    assert repeated(record("out_of_memory", 10, severity="W"), *reports) == {}
    assert repeated(record("out_of_memory", 10, severity=None), *reports) == {11: 10, 12: 10}


@pytest.mark.parametrize(("line", "found"), [(22, {22: 10}), (23, {})])
def test_one_file_is_one_failure(line: int, found: dict[int, int]) -> None:
    first, second = (record("model_unreadable", at, path="models/a.onnx") for at in (10, line))
    assert repeated(first, second) == found
    assert repeated(first, record("model_unreadable", 11, path="other/a.onnx")) == {11: 10}
    assert repeated(first, record("model_unreadable", 11, path="models/b.onnx")) == {}
    assert repeated(first, record("model_unreadable", 11, op="Relu")) == {11: 10}
