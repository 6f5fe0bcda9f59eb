"""Tests of complete results for small logs."""

from __future__ import annotations

import io

import pytest

from tests.buildfiles.vectors import read_with
from trtlint.buildfiles import log as module
from trtlint.buildfiles import records, toollines
from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.log import LogReader
from trtlint.buildfiles.profile import LayerTime, Profile
from trtlint.buildfiles.records import Log, Record

DATE = "[01/15/2025-17:13:04] "
FRAME = 'Traceback (most recent call last):\n  File "/w/a.py", line 1, in f\n    trt.build()\n'
RUNNING = "&&&& RUNNING TensorRT.trtexec [TensorRT v101303] # trtexec --onnx=a"


def read(text: str, *, vectorised: bool = False) -> Log:
    return read_with(io.BytesIO(text.encode()), vectorised=vectorised)


@pytest.mark.parametrize("vectorised", [False, True])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # continuation lines
        (
            "[E] a\nb\nc\n[W] d\n\ne\n",
            [(1, "other", "E", "a\nb\nc", None), (4, "other", "W", "d\n\ne", None)],
        ),
        ("[E] a\n[I] b\nc\n", [(1, "other", "E", "a", None)]),
        ("[E] a\n[V] b\nc\n", [(1, "other", "E", "a", None)]),
        ("[E] a\nb  \n\n", [(1, "other", "E", "a\nb", None)]),
        ("[W] x" + "\ny" * 60, [(1, "other", "W", "x" + "\ny" * 60, None)]),
        ("[W] x" + "\ny" * 70, [(1, "other", "W", "x" + "\ny" * 60, None)]),
        # a reason on the next line
        (
            "[E] Error Code 2: Internal Error\nreason (x\ny)\nz\n",
            [(1, "api_error", "E", "Error Code 2: Internal Error reason (x y)\nz", None)],
        ),
        (
            "[E] Error Code 2: Internal Error\n  reason\n  more\n",
            [(1, "api_error", "E", "Error Code 2: Internal Error reason more", None)],
        ),
        (
            "[E] due to exception\nwhy\n  more\nrest \n",
            [(1, "other", "E", "due to exception why more\nrest", None)],
        ),
        # lines without a prefix
        ("Building engine\nKilled\n", [(2, "died", None, "Killed", None)]),
        ("Killed\nnext line\n", [(1, "died", None, "Killed", None)]),
        ("[E] a\nKilled\n", [(1, "other", "E", "a", None), (2, "died", None, "Killed", None)]),
        ("nothing\nof a build\n", []),
        ("[E] a\nRuntimeError: tensorrt failed\n",
         [(1, "other", "E", "a", None), (2, "exception", None, "RuntimeError: tensorrt failed", None)]),
        ("[E] a.cpp:1 In function f:\nRuntimeError: tensorrt failed\nKilled\n",
         [(1, "parser_error", "E", "a.cpp:1 In function f:\nRuntimeError: tensorrt failed", None),
          (3, "died", None, "Killed", None)]),
        ("[E] a.cpp:1 In function f:\nb\n[V] x\nRuntimeError: tensorrt failed\n",
         [(1, "parser_error", "E", "a.cpp:1 In function f:\nb", None),
          (4, "exception", None, "RuntimeError: tensorrt failed", None)]),
        # the node that the build works on
        (
            "[W] [TRT] w\n[V] [TRT] Parsing node: a [Conv]\n[W] [TRT] x\n"
            "[V] [TRT] Parsing node: b [Conv]\n[E] y\n",
            [
                (1, "other", "W", "w", None),
                (2, "parse_node", "V", "Parsing node: a [Conv]", None),
                (3, "other", "W", "x", "a [Conv]"),
                (4, "parse_node", "V", "Parsing node: b [Conv]", None),
                (5, "other", "E", "y", "b [Conv]"),
            ],
        ),
        # tracebacks
        (f"{FRAME}RuntimeError: tensorrt failed\n",
         [(4, "exception", None, "RuntimeError: tensorrt failed", None)]),
        (f"tensorrt\n{FRAME}AssertionError\n",
         [(5, "exception", None, "AssertionError at a.py:1 in f", None)]),
        (
            f"[E] a\nb\n{FRAME}AssertionError\n",
            [
                (1, "other", "E", "a\nb", None),
                (6, "exception", None, "AssertionError at a.py:1 in f", None),
            ],
        ),
        (f"tensorrt\n{FRAME}",
         [(2, "exception", None, "a Python traceback that is cut off at a.py:1 in f", None)]),
        (f"other\n{FRAME}", []),
        # several messages on one line, and messages of other loggers
        (
            f"x {DATE}[TRT] [W] a{DATE}[TRT] [E] b\n",
            [(1, "other", "W", "a", None), (1, "other", "E", "b", None)],
        ),
        (f"{DATE}[TRT] [W] a{DATE}[I] Engine built in 2 sec.\n",
         [(1, "other", "W", "a", None), (1, "build_time", "I", "Engine built in 2 sec.", None)]),
        ('[TRT] [E] "quoted"\n', [(1, "other", "E", "quoted", None)]),
        ("2024-01-02 03:04:05,678 - main - WARNING - [TRT] [E] inner\n", [(1, "other", "E", "inner", None)]),
        # severities of verbose lines
        (f"{DATE}[V] [TRT] Parsing node: a [B]\n{DATE}[I] [TRT] Parsing node: a [B]\n",
         [(1, "parse_node", "V", "Parsing node: a [B]", None),
          (2, "parse_node", "I", "Parsing node: a [B]", None)]),
        (f"{DATE}[TRT] [V] Parsing node: a [B]\n{DATE}[TRT] [I] Parsing node: a [B]\n",
         [(1, "parse_node", "V", "Parsing node: a [B]", None),
          (2, "parse_node", "I", "Parsing node: a [B]", None)]),
        (f"{RUNNING}\nKilled\n", [(1, "banner", None, RUNNING, None), (2, "died", None, "Killed", None)]),
    ],
)  # fmt: skip
def test_records(text: str, expected: list[tuple[object, ...]], vectorised: bool) -> None:
    found = [record for records in read(text, vectorised=vectorised).records.values() for record in records]
    rows = [(each.line, each.pattern, each.severity, each.message, each.context) for each in found]
    assert sorted(rows, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    ("text", "dumps"),
    [
        ("[V] [TRT] Layers:\nName: a, LayerType: b\nother\nName: c, LayerType: d\n", [(["a"], [])]),
        ("Layers:\nName: a, LayerType: b\n\nBindings:\nx\n[V] end\ny\n", [(["a"], ["x"])]),
        ("[E] Layers:\nName: a, LayerType: b\n", [(["a"], [])]),
        ("[W] x\nLayers:\nName: a, LayerType: b\n", [(["a"], [])]),
        (f"{DATE}[I] Layers:\nName: a, LayerType: b\n{DATE}[I] x\nName: c, LayerType: d\n", [(["a"], [])]),
        (
            "[V] Engine Layer Information:\nLayer(C): a, Tactic: 1\nLayers:\nName: b, LayerType: c\n",
            [(["a"], []), (["b"], [])],
        ),
        ("[V] Layers:\n[V] Layers:\nName: a, LayerType: b\nx\n", [(["a"], [])]),
        ("[V] Layers:\n\n", []),
    ],
)
def test_lists_of_layers(text: str, dumps: list[tuple[list[str], list[str]]]) -> None:
    found = read(text).dumps
    rows = [
        ([layer.name for layer in each.layers], [tensor.name for tensor in each.tensors]) for each in found
    ]
    assert rows == dumps


def test_the_lists_of_layers_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(
        f"Layers:\nName: {name}, LayerType: c\nName: {name}{name}, LayerType: c\n" for name in "abcd"
    )
    monkeypatch.setattr(module, "_DUMPS", 3)
    found = read(text).dumps
    assert [[layer.name for layer in dump.layers] for dump in found] == [
        ["a", "aa"],
        ["b", "bb"],
        ["c", "cc"],
    ]
    monkeypatch.setattr(module, "_LAYERS", 3)
    found = read(text).dumps
    assert [[layer.name for layer in dump.layers] for dump in found] == [["a", "aa"], ["b"]]


def test_the_number_of_warnings_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_LOUD", 3)
    found = read("[W] a\n[E] b\n[F] c\n")
    assert (found.notes, dict(found.severities)) == ((), {"W": 1, "E": 1, "F": 1})
    found = read("[W] a\n[E] b\n[F] c\n[W] d\n")
    assert found.notes == ("more than 3 warnings and errors; trtlint ignored the rest of the log",)


def test_records_are_stored_in_order() -> None:
    assert read("[E] a\n[W] b\nKilled\n").records == {
        "other": (Record("other", 1, "E", "a"), Record("other", 2, "W", "b")),
        "died": (Record("died", 3, None, "Killed", {"how": "Killed"}),),
    }


def test_the_text_of_records_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_ROOM", 6)
    monkeypatch.setattr(records, "_OTHERS", 3)
    assert [each.message for each in read("[E] abc\n[E] def\n[E] g\n").records["other"]] == ["abc", "def"]
    found = read("[E] a\n" * 5)
    assert (len(found.records["other"]), found.counts["other"]) == (3, 5)


def tool(*lines: str) -> Log:
    return read("".join(f"{DATE}[I] {line}\n" for line in lines))


def test_options_of_a_tool() -> None:
    found = tool(
        "=== Build Options ===", "Precision: FP32", "Max batch: explicit batch", "Precision: FP16", "",
        "Empty:", "note", "Later: 3", "=== Device Information ===", "Compute Capability: 8.9",
        "=== Other ===", "Lost: 4", "=== Performance summary ===", "Other: 5: 6",
    )  # fmt: skip
    assert {name: dict(values) for name, values in found.options.items()} == {
        "Build Options": {"Precision": "FP32", "Max batch": "explicit batch", "Empty": ""},
        "Device Information": {"Compute Capability": "8.9"},
        "Performance summary": {"Other": "5: 6"},
    }
    assert (found.settings.precision, found.settings.sm) == ({"fp32"}, 89)
    assert dict(found.settings.found) == {"strongly_typed": 2, "precision": 2, "sm": 10}


def test_the_number_of_options_is_limited() -> None:
    found = tool("=== Build Options ===", *(f"o{number}: 1" for number in range(1001)))
    assert list(found.options["Build Options"]) == [f"o{number}" for number in range(1000)]


def test_tables_of_layer_times(monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(*names: str) -> list[str]:
        return ["=== Profile (2 iterations ) ===", *(f"{name} 4.0 2.0 50.0" for name in names)]

    def table(*names: str) -> Profile:
        return Profile(tuple(LayerTime(name, 2, 0.5) for name in names))

    found = tool(*rows("a", "b"), "", "c 4.0 2.0 50.0", *rows("d", "Total", "e"), *rows("f"))
    assert found.profiles == (table("a", "b"), table("d"), table("f"))
    assert tool(*rows()).profiles == ()
    monkeypatch.setattr(toollines, "_TABLES", 1)
    assert tool(*rows("a", "Total"), *rows("b", "Total")).profiles == (table("a"),)
    monkeypatch.setattr(toollines, "_TABLES", 9)
    monkeypatch.setattr(toollines, "_ROWS", 2)
    assert tool(*rows("a", "Total"), *rows("b", "Total"), *rows("c", "Total")).profiles == (
        table("a"),
        table("b"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2.5", 2.5), ("-1e3", -1000.0), ("inf", None), ("nan", None), ("x", None), ("", None)],
)
def test_numbers_of_a_record(text: str, expected: float | None) -> None:
    assert Record("p", 1, None, "", {"seconds": text}).number("seconds") == expected
    assert Record("p", 1, None, "").number("seconds") is None


def test_durations_are_sums_over_the_builds() -> None:
    found = tool("Engine built in 3.5 sec.", "Engine built in 2 sec.")
    assert found.seconds() == {"build": 5.5}
    assert read("[W] x\n").seconds() == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[W] x\n", True), ("x\n", False), ("", False), (f"{DATE}[I] x\n", True), ("Killed\n", True),
        ("Layers:\nName: a, LayerType: b\n", True),
    ],
)  # fmt: skip
def test_text_that_is_a_log(text: str, expected: bool) -> None:
    assert read(text).is_log is expected


def test_a_source_that_cannot_be_read() -> None:
    closed = io.BytesIO(b"[V] a")
    closed.close()
    with pytest.raises(BuildFileError, match=r"^cannot read the log: I/O operation on closed file"):
        LogReader(closed)

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("no device")

    with pytest.raises(BuildFileError, match=r"^cannot read the log: no device$"):
        LogReader(Broken())
