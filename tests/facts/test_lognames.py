"""Tests of names of nodes, islands and plugins in log messages, and of error sentences."""

# ruff: noqa: E501 - a graph, a message or a case in one line is read at once

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.records import Log, Record
from trtlint.facts.blocks import lognames
from trtlint.facts.blocks.lognames import (
    cause_of,
    error_code,
    island_of,
    missing_plugin,
    named_in,
    reason,
    said,
    stated,
)


def record(
    pattern: str, line: int = 100, message: str = "m", context: str | None = None, **groups: str
) -> Record:
    return Record(pattern, line, "E", message, groups, context)


def log(*records: Record) -> Log:
    """Return a log with these messages."""
    found: dict[str, tuple[Record, ...]] = {}
    for each in records:
        found[each.pattern] = (*found.get(each.pattern, ()), each)
    return replace(read_log(io.BytesIO(b"")), records=found)


@pytest.mark.parametrize(
    ("own", "names"),
    [
        (record("other"), ()),
        (record("other", node="a"), ("a",)),
        (record("other", layer="a"), ("a",)),
        (record("other", node="a", layer="b"), ("a", "b")),
        (record("other", node="a + b", layer="b + c"), ("a", "b", "c")),
        (record("other", node="{ForeignNode[a...b]}"), ("a", "b")),
        (record("other", node="{ForeignNode[a + b...c + d]}"), ("a", "b", "c", "d")),
        (record("other", node="__myl_Add_myl0_0"), ("__myl_Add_myl0_0",)),
        (record("no_implementation", node="a"), ("a",)),
        (record("island_check", tensor=" t ", node="a"), ("t",)),
        (record("island_check", node="a"), ()),
        (record("branches_differ", branch="b", layer="a"), ("a", "b")),
        (record("branches_differ", branch="a", layer="a"), ("a",)),
        (record("weights_names", names="a, b,c,  , d."), ("a", "b,c", "d")),
        (record("weights_names", names="."), ()),
    ],
)
def test_the_names_in_a_message(own: Record, names: tuple[str, ...]) -> None:
    assert named_in(own, log(own)) == (bool(names), names)


@pytest.mark.parametrize(
    ("own", "others", "names"),
    [
        # Above: the nearest, which is the last.
        (record("weights_overflow"), [record("weights_one", 88, name="a")], ("a",)),
        (record("weights_overflow"), [record("weights_one", 87, name="a")], ()),
        (record("weights_overflow"), [record("weights_one", 101, name="a")], ()),
        (record("weights_overflow"), [record("weights_one", 100, name="a")], ("a",)),
        (record("weights_overflow"), [record("weights_one", 98, name="a"), record("weights_one", 99, name="b")], ("b",)),
        # Below: the nearest, which is the first.
        (record("weights_count"), [record("weights_names", 160, names="a, b")], ("a", "b")),
        (record("weights_count"), [record("weights_names", 161, names="a")], ()),
        (record("weights_count"), [record("weights_names", 99, names="a")], ()),
        (record("weights_count"), [record("weights_names", 101, names="a"), record("weights_names", 102, names="b")], ("a",)),
        # On the same line.
        (record("api_error"), [record("no_implementation", 100, node="a")], ("a",)),
        (record("api_error"), [record("no_implementation", 99, node="a")], ()),
        # Of several patterns the first.
        (record("parser_error"), [record("parsing_failed", 99, output="b"), record("failed_node", 70, name="a")], ("a",)),
        (record("parser_error"), [record("parsing_failed", 99, output="b"), record("failed_node", 59, name="a")], ("b",)),
        (record("plugin_not_found"), [record("network_refused", 112, node="a")], ("a",)),
        # All that was announced up to the line.
        (record("norm_done"), [record("norm_node", 1, node="a"), record("norm_node", 100, node="b"), record("norm_node", 101, node="c")], ("a", "b")),
        (record("norm_done"), [record("norm_node", 1, node="a"), record("norm_node", 2, node="a")], ("a",)),
        (record("norm_done"), [record("attention_node", 1, node="a")], ()),
        (record("other"), [record("norm_node", 1, node="a")], ()),
    ],
)  # fmt: skip
def test_the_names_in_other_messages(own: Record, others: list[Record], names: tuple[str, ...]) -> None:
    assert named_in(own, log(own, *others)) == (False, names)


@pytest.mark.parametrize(
    ("own", "island"),
    [
        (record("no_implementation", node="{ForeignNode[a...b]}."), "{ForeignNode[a...b]}"),
        (record("no_implementation", context="{ForeignNode[a...b]}"), "{ForeignNode[a...b]}"),
        (record("no_implementation", context="{ForeignNode[a...b]}", node="c"), None),
        (record("no_implementation"), None),
        (record("parser_error", node="{ForeignNode[a...b]}"), None),
        (record("other", node="{ForeignNode[a...b]}"), None),
    ],
)
def test_the_island_of_a_failure(own: Record, island: str | None) -> None:
    assert island_of(own) == island


@pytest.mark.parametrize(
    ("groups", "op", "name"),
    [
        ({"plugin": "a", "operator": "b", "missing": "c"}, "d", "a"),
        ({"operator": "b", "missing": "c"}, "d", "b"),
        ({"missing": "c"}, "d", "c"),
        ({}, "d", "d"),
        ({}, None, ""),
    ],
)
def test_the_name_of_a_plugin(groups: dict[str, str], op: str | None, name: str) -> None:
    assert missing_plugin(replace(record("plugin_not_found"), groups=groups), op) == name
    assert missing_plugin(replace(record("parser_error"), groups=groups), op) == ""


@pytest.mark.parametrize(
    ("own", "failed", "expected"),
    [
        (record("parser_error", op="A", output="a"), [], ("A", "a")),
        (record("parser_error"), [], (None, None)),
        (record("parser_error"), [record("parsing_failed", 60, op="B", output="b")], ("B", "b")),
        (record("parser_error"), [record("parsing_failed", 59, op="B", output="b")], (None, None)),
        (record("parser_error"), [record("parsing_failed", 101, op="B", output="b")], (None, None)),
        (record("parser_error", op="A"), [record("parsing_failed", 99, op="B", output="b")], ("A", "b")),
        (
            record("parser_error"),
            [record("parsing_failed", 90, op="A"), record("parsing_failed", 99, op="B")],
            ("B", None),
        ),
        (record("parser_error"), [record("parsing_failed", 99, op="", output="")], (None, None)),
        (record("api_error"), [record("parsing_failed", 100, op="B", output="b")], (None, None)),
        (record("weights_count"), [record("parsing_failed", 100, op="B", output="b")], (None, None)),
        (record("no_implementation"), [record("parsing_failed", 100, op="B", output="b")], (None, None)),
        (record("other"), [record("parsing_failed", 100, op="B", output="b")], (None, None)),
        (record("plugin_not_found"), [record("parsing_failed", 60, op="B", output="b")], ("B", "b")),
    ],
)
def test_the_operator_and_output_of_a_message(
    own: Record, failed: list[Record], expected: tuple[str | None, str | None]
) -> None:
    known = log(own, *failed)
    assert (stated(own, known, "op"), stated(own, known, "output")) == expected


FAILURE = record("no_implementation", 5000, context="a")


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], None),
        ([record("tactic_memory", 4999, "x")], 0),
        ([record("tactic_memory", 5000, "x")], 0),
        ([record("tactic_memory", 5001, "x")], None),
        ([record("tactic_memory", 5000 - lognames._FAR, "x")], 0),
        ([record("tactic_memory", 5000 - lognames._FAR - 1, "x")], None),
        ([record("tactic_memory", 4999, "m")], None),
        ([record("tactic_memory", 4999, "x", "a")], 0),
        ([record("tactic_memory", 4999, "x", "b")], None),
        ([record("parser_error", 4999, "x")], None),
        ([record("tactic_memory", 4000, "x"), record("out_of_memory", 4900, "y"), record("island_check", 4800, "z")], 1),
    ],
)  # fmt: skip
def test_the_cause_of_a_failure(others: list[Record], expected: int | None) -> None:
    assert cause_of(FAILURE, log(FAILURE, *others)) is (None if expected is None else others[expected])
    for pattern in ("parser_error", "other"):
        assert cause_of(replace(FAILURE, pattern=pattern), log(FAILURE, *others)) is None


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("", ""),
        (" \n ", ""),
        ("plain words.", "plain words."),
        ("Error Code 4: API Usage Error (Network has no profile. In validate at /_src/network.cpp:4023)", "Network has no profile"),
        ("4: [network.cpp::validate::3062] Error Code 4: Internal Error (Network has no profile.)", "Network has no profile."),
        ("IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not. In a::b at /x/y.cpp:1 In c at /z.cpp:2)", "Could not"),
        ("Error[10]: Error Code: 9: Internal Error (Why.)", "Why."),
        ("API Usage Error (kept)", "API Usage Error (kept)"),
        ("Error Code 1: Myelin ([shape.cpp:175: ~op_streamer]\nError during y\nError is:\nThere are 2 inputs. In f at /a.cpp:3)", "Error during y Error is: There are 2 inputs"),
        ("2: [a.cpp::b::1] Error Code 2: OutOfMemory (Requested size was 9 bytes.)", "OutOfMemory (Requested size was 9 bytes.)"),
        ("first:\n  second", "first: second"),
        ("first\n  second", "first"),
        ("something failed onnxOpImporters.cpp:12", "something failed"),
        ("something failed onnxOpImporters.js:12", "something failed onnxOpImporters.js:12"),
        ("[a.cpp:1: f] the reason", "the reason"),
        ("[a.cpp:1: f] [b.cpp:2: g] the reason", "[b.cpp:2: g] the reason"),
        ("\n".join(["[a.cpp:1: f]", *"bcdefghij"]), "b c d e f g h"),
        ("[a.cpp:1: f]", "[a.cpp:1: f]"),
    ],
)  # fmt: skip
def test_the_sentence_of_an_error(message: str, words: str) -> None:
    assert reason(message) == words


def test_what_a_message_says() -> None:
    long = "Error Code 4: API Usage Error (the reason)"
    assert said(record("api_error", message=long)) == "the reason"
    assert said(record("api_error", message=long, why=" w ", what="x")) == "w"
    assert said(record("api_error", message=long, what=" x ")) == "x"
    assert said(record("other", message=long, why="w")) == "the reason"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("no code", ""),
        ("Error Code 4: API Usage Error (why)", "API Usage Error"),
        ("Error Code 4: API Usage Error: why", "API Usage Error"),
        ("x: Error Code 12: Cuda Runtime", "Cuda Runtime"),
        ("Error Code: 4: x", ""),
    ],
)
def test_the_kind_of_an_error(message: str, code: str) -> None:
    assert error_code(message) == code
