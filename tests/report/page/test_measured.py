"""Tests of the tables of measured layers and ranges, cell by cell."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.measurement.measurement import InternalValue, MeasuredTensor, Measurement
from trtlint.report.page.measured import measured


def layer(name: str, ms: float, share: float | None, *nodes: str) -> Any:
    """Return a layer of an engine."""
    paths = tuple(SimpleNamespace(path=node) for node in nodes)
    return SimpleNamespace(name=name, precision="f16", nodes=paths, ms=ms, share=share)


def site(node: str, greatest: float | None, fits: Any, *, origin: bool = False, inside: float = 0.0) -> Any:
    """Return a tensor with its range."""
    inner = (InternalValue("square", inside),) if inside else ()
    return MeasuredTensor(node, "Mul", f"{node} out", greatest, None, None, fits, origin, True, inner)


def shown(layers: list[Any], *sites: Any) -> list[str]:
    """Return the texts of the tables: the summary, then the rows, with ``|`` between cells."""
    found = Measurement("m.onnx", "", (), "", 2, "fp16", False, False, 0.1, sites, (), (), None, ())
    facts = SimpleNamespace(measurement=found if sites else None)
    behind: Any = SimpleNamespace(layers=tuple(layers), facts=facts)
    html = "".join(map(str, measured(behind)))
    rows = re.sub(r"</t[dh]>", "|", html).replace("</tr>", "\n").replace("</summary>", "\n")
    texts = (re.sub(r"<[^>]+>", "", row) for row in rows.splitlines())
    return [text for text in texts if text]


def test_layers() -> None:
    layers = [
        layer("conv", 6.0, 0.6, "/a/Conv", "/a/Relu", "/a/Add"),
        layer("gemm", 3.0, 0.304, "/b/MatMul", "/b/Add"),
        layer("softmax", 0.5, 0.0, "/c/Softmax"),
        layer("copy", 0.5, None),
    ]
    assert shown(layers) == [
        "4 layers take 10 ms",
        "Layer|Type|Nodes|ms|Share|",
        "conv|f16|/a/Conv and 2 more nodes|6|60%|",
        "gemm|f16|/b/MatMul and 1 more node|3|30%|",
        "softmax|f16|/c/Softmax|0.5|0%|",
        "copy|f16||0.5||",
    ]


def test_the_slowest_layers() -> None:
    rows = shown([layer(f"layer {at}", 1.0, 0.05) for at in range(20)])
    assert (rows[0], len(rows), rows[-1]) == ("20 layers take 20 ms", 14, "layer 11|f16||1|5%|")


def test_ranges() -> None:
    assert shown(
        [],
        site("/fine", 1.0, "ok"),
        site("/small", 1e-9, "underflow"),
        site("/large", 70000.0, "overflow"),
        site("/inner", 9.0, "overflow", inside=1e6),
        site("/infinite", None, "overflow"),
        site("/first", 66000.0, "overflow", origin=True),
        site("/second", 67000.0, "overflow", origin=True),
    ) == [
        "6 of 7 tensors leave the range of FP16, measured on 2 batches, generated",
        "Node|Operator||Problem|Greatest magnitude|",
        "/second|Mul|overflow begins here|overflow|67,000|",
        "/first|Mul|overflow begins here|overflow|66,000|",
        "/inner|Mul||overflow|1,000,000|",
        "/large|Mul||overflow|70,000|",
        "/small|Mul||underflow|1e-09|",
        "/infinite|Mul||overflow|not finite|",
    ]


def test_nothing_beyond_the_range_is_one_sentence() -> None:
    assert shown([], site("/fine", 1.0, "ok")) == [
        "0 of 1 tensor leave the range of FP16, measured on 2 batches, generated"
    ]
    assert shown([]) == []


@pytest.mark.parametrize(("count", "rows"), [(12, 14), (13, 14)])
def test_at_most_twelve_ranges(count: int, rows: int) -> None:
    assert len(shown([], *(site(f"/{at}", 7e4, "overflow") for at in range(count)))) == rows
