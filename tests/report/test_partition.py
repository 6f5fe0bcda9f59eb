"""Tests of text about the parts of a model that an execution provider runs."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.report import partition as module
from trtlint.report.partition import headlines, lines_of, lines_of_targets, partition_in, size_words

NO_BORDERS = {"tensors": 0, "bytes": 0, "unknown": 0}


def partition(*parts: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return the data about a partition."""
    given: dict[str, Any] = {
        "parts": [list(part) for part in parts],
        "nodes": 10,
        "taken": sum(map(len, parts)),
        "left": ["x"],
        "provider": "tensorrt",
        "basis": "predicted",
        "version": "1.4",
        "failure": "",
        "joined": False,
        "borders": NO_BORDERS,
        "splits": [],
        "dropped": [],
    }
    return {**given, **more}


def split(op: str, *nodes: str, **more: Any) -> dict[str, Any]:
    """Return the data about nodes that the provider does not run."""
    return {
        "op": op,
        "nodes": list(nodes),
        "rules": [],
        "why": "",
        "fixes": [],
        "parts": None,
        "left": 0,
        **more,
    }


def report(data: dict[str, Any] | None, target: str = "TensorRT 10.7") -> Any:
    """Return the report of a model."""
    other = SimpleNamespace(kind="log", data={})
    found = () if data is None else (SimpleNamespace(kind="partition", data=data),)
    return SimpleNamespace(target=target, evidence=(other, *found))


def lines(data: dict[str, Any]) -> list[str]:
    """Return the lines about a partition."""
    return lines_of(report(data))


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (
            partition("ab", left=[]),
            "the TensorRT provider runs the whole model in 1 part of 2 nodes (predicted)",
        ),
        (
            partition("a", left=[], provider="nv-tensorrt-rtx", basis="parser"),
            "the TensorRT-RTX provider runs the whole model in 1 part of 1 node (by the parser of "
            "TensorRT-RTX 1.4)",
        ),
        (
            partition(),
            "the TensorRT provider runs no part of the model: all 10 nodes run elsewhere (predicted)",
        ),
        (
            partition(nodes=1),
            "the TensorRT provider runs no part of the model: its only node runs elsewhere (predicted)",
        ),
        (
            partition(nodes=0),
            "the TensorRT provider runs no part of the model: all 0 nodes run elsewhere (predicted)",
        ),
    ],
)
def test_the_only_line(data: dict[str, Any], line: str) -> None:
    assert lines(data) == [line]


def test_parts() -> None:
    assert lines(partition("abc", "d", joined=True)) == [
        "the TensorRT provider runs 4 of 10 nodes (40 %) in 2 parts (predicted)",
        "  several regions form one part; nodes outside this part run before or after the part",
        "  part 1: 3 nodes, a .. c",
        "  part 2: 1 node, d",
    ]
    assert lines(partition("ab", "c", left=[], nodes=3))[0] == (
        "the TensorRT provider runs 3 of 3 nodes (100 %) in 2 parts (predicted)"
    )
    assert lines(partition("ab", nodes=1, taken=1))[0] == (
        "the TensorRT provider runs 1 of 1 node (100 %) in 1 part (predicted)"
    )
    assert lines(partition("ab", nodes=3))[0].endswith("2 of 3 nodes (66 %) in 1 part (predicted)")


@pytest.mark.parametrize(
    ("failure", "found"),
    [
        ("a cycle", ["ONNX Runtime cannot create the session: a cycle"]),
        (
            "shape inference is missing",
            [
                "ONNX Runtime cannot create the session: shape inference is missing",
                "  python -m onnxruntime.tools.symbolic_shape_infer gives names to the dimensions",
            ],
        ),
    ],
)
def test_a_session_that_cannot_be_created(failure: str, found: list[str]) -> None:
    said = lines(partition("ab", failure=failure))
    assert said[:-2] == found
    assert said[-2].startswith("the TensorRT provider would run ")
    assert "would run no part of the model: all 3 nodes would run elsewhere" in "\n".join(
        lines(partition(nodes=3, failure=failure))
    )


@pytest.mark.parametrize(
    ("borders", "words"),
    [
        ({"tensors": 1, "bytes": 5, "unknown": 0}, "1 tensor at the borders of parts: 5 bytes"),
        (
            {"tensors": 3, "bytes": 2048, "unknown": 2},
            "3 tensors at the borders of parts: 2.0 KB, not counting 2 of dynamic size",
        ),
    ],
)
def test_tensors_at_borders(borders: dict[str, int], words: str) -> None:
    assert lines(partition("ab", borders=borders))[2:] == [f"  {words}"]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (split("Exp", "a"), ["  left to other providers: 1 Exp node: a"]),
        (
            split("Exp", "a", "b", "c", why="no kernel"),
            ["  left to other providers: 3 Exp nodes (no kernel): a, b, c"],
        ),
        (
            split("Exp", *"abcd", why="no kernel", rules=["BLD1", "BLD2"]),
            ["  left to other providers: 4 Exp nodes [BLD1, BLD2]: a, b, c, ..."],
        ),
        (
            split("Exp", "a", fixes=["f", "g"]),
            ["  left to other providers: 1 Exp node: a", "    trtlint fix tries f, g"],
        ),
        (
            split("Exp", "a", fixes=["f"], parts=1, left=2),
            [
                "  left to other providers: 1 Exp node: a",
                "    trtlint fix tries f; if TensorRT accepted these nodes, there would be 1 part as now, "
                "and 2 nodes left to other providers",
            ],
        ),
        (
            split("Exp", "a", parts=0),
            [
                "  left to other providers: 1 Exp node: a",
                "    if TensorRT accepted these nodes, there would be 0 parts, and 0 nodes left to "
                "other providers",
            ],
        ),
    ],
)
def test_nodes_that_are_left(found: dict[str, Any], words: list[str]) -> None:
    assert lines(partition("ab", splits=[found]))[2:] == words


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ({"standing": "open", "parts": 1, "left": None, "copies": 1}, []),
        (
            {"standing": "confirmed", "parts": 1, "left": None, "copies": 0},
            ["  the log of ONNX Runtime shows 1 part, as predicted"],
        ),
        (
            {"standing": "refuted", "parts": 2, "left": ["a"], "copies": 3},
            [
                "  the log of ONNX Runtime shows 2 parts, 1 node on other providers, 3 added copies, which "
                "refutes the prediction"
            ],
        ),
        (
            {"standing": "confirmed", "parts": None, "left": [], "copies": 0},
            ["  the log of ONNX Runtime shows 0 nodes on other providers, as predicted"],
        ),
    ],
)
def test_a_log_of_onnx_runtime(log: dict[str, Any], words: list[str]) -> None:
    assert lines(partition("ab", log=log))[2:] == words
    assert lines(partition("ab", log=None))[2:] == []


def test_lines_beyond_the_limits_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    data = partition(
        "a", "b", "c", splits=[split(op, "n") for op in ("Exp", "Sin", "Cos")], dropped=["p", "q", "r"]
    )
    whole = [
        "  part 1: 1 node, a",
        "  part 2: 1 node, b",
        "  part 3: 1 node, c",
        "  left to other providers: 1 Exp node: n",
        "  left to other providers: 1 Sin node: n",
        "  left to other providers: 1 Cos node: n",
        "  not run by the provider: p",
        "  not run by the provider: q",
        "  not run by the provider: r",
    ]
    for name in ("_MOST_PARTS", "_MOST_SPLITS"):
        monkeypatch.setattr(module, name, 3)
    assert lines(data)[1:] == whole
    for name in ("_MOST_PARTS", "_MOST_SPLITS", "_MOST_PLACES"):
        monkeypatch.setattr(module, name, 2)
    assert lines(data)[1:] == [
        *whole[:2],
        "  and 1 more part",
        *whole[3:5],
        "  and 1 more operator type",
        *whole[6:8],
    ]


def test_targets_with_the_same_partition_share_their_lines() -> None:
    some, none = partition("ab"), partition()
    first, second = lines(some)
    (other,) = lines(none)
    assert [*lines_of_targets([report(some, "A"), report(some, "B")])] == [first, second]
    assert [*lines_of_targets([report(some, "A"), report(none, "B"), report(some, "C")])] == [
        f"A, C: {first}",
        second,
        f"B: {other}",
    ]
    assert [*lines_of_targets([])] == []
    assert headlines([report(some), report(none), report(None), report(some)]) == [first, other]


def test_a_report_without_a_partition() -> None:
    assert (partition_in(report(None)), lines_of(report(None))) == (None, [])
    data = partition("ab")
    assert partition_in(report(data)) == data


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1.0 KB"),
        (1536, "1.5 KB"),
        ((1 << 20) - 1, "1024.0 KB"),
        (1 << 20, "1.0 MB"),
        (1 << 30, "1.0 GB"),
        (5 << 29, "2.5 GB"),
    ],
)
def test_sizes(size: int, words: str) -> None:
    assert size_words(size) == words
