"""Tests of facts as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct

from tests.graphs import model_of
from trtlint.facts.base import Fact, Step
from trtlint.model.origin import Origin
from trtlint.model.source import Source
from trtlint.report.facts import FactEntry, dumps, lines, summary

MODEL = model_of("""
< ir_version: 8, opset_import: ["" : 17] >
g (float[4] x) => (float[4] y) { y = Relu (x) }
""")
NODE = MODEL.graph.nodes[0]


class Inner(Struct, frozen=True):
    low: float
    many: tuple[object, ...]


class Sample(Fact, frozen=True):
    roles: ClassVar[Mapping[str, str]] = {"it": "the node"}

    inner: Inner
    unknown: int | None
    flag: bool
    empty: str
    value: object
    other: object


FACT = Sample(
    node=NODE,
    chain=(Step(NODE, "it", "a\x1bb", "label"),),
    inner=Inner(float("-inf"), (1, None, 0.25)),
    unknown=None,
    flag=True,
    empty="",
    value=NODE.output,
    other=NODE,
)
ENTRY = FactEntry(FACT, Origin("blocks.0", source=Source("net/a.py", 3, "forward")))


def test_text() -> None:
    assert list(lines([ENTRY])) == [
        "test_facts (1)",
        "",
        f"  {NODE.path} (Relu)",
        "    module: blocks.0",
        "    exported from net/a.py:3 in forward",
        "    inner.low   -inf",
        "    inner.many  [1, unknown, 0.25]",
        "    unknown     unknown",
        "    flag        yes",
        '    empty       ""',
        "    value       y f32[4]",
        f"    other       {NODE.path}",
        f"    chain: it: {NODE.path} (a\\x1bb)",
    ]


def test_json() -> None:
    (fact,) = json.loads(dumps([ENTRY]))
    assert fact == {
        "kind": "test_facts",
        "place": NODE.path,
        "module": "blocks.0",
        "source": {"path": "net/a.py", "line": 3, "function": "forward"},
        "fields": {
            "inner": {"low": "-inf", "many": [1, None, 0.25]},
            "unknown": None,
            "flag": True,
            "empty": "",
            "value": {"name": "y", "type": "f32[4]"},
            "other": NODE.path,
        },
        "chain": [{"node": NODE.path, "op": "Relu", "role": "it", "detail": "a\x1bb", "label": "label"}],
    }


def test_summary() -> None:
    assert list(summary({"attention": 12, "node": 1234})) == ["attention       12", "node         1,234"]
