"""Tests of the diff of a converted model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx

from trtlint.report.convertdiff import difference

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] y) {
        a = Exp(x)
        b = Sin(a)
        c = Abs(b)
        d = Cos(c)
        e = Neg(d)
        f = Tan(e)
        y = Erf(f)
    }"""


def draft(after: str | None) -> Any:
    """Return a conversion before it is written."""
    source = SimpleNamespace(path=Path("dir/m.onnx"), proto=onnx.parser.parse_model(MODEL))
    converted = None if after is None else SimpleNamespace(proto=onnx.parser.parse_model(after))
    return SimpleNamespace(source=source, converted=converted)


def test_a_difference() -> None:
    assert list(difference(draft(MODEL.replace("Cos", "Relu")))) == [
        "--- a/m.onnx\n",
        "+++ b/m.onnx\n",
        "@@ -3,5 +3,5 @@\n",
        " b = Sin (a)\n",
        " c = Abs (b)\n",
        "-d = Cos (c)\n",
        "+d = Relu (c)\n",
        " e = Neg (d)\n",
        " f = Tan (e)\n",
    ]


def test_no_difference() -> None:
    assert list(difference(draft(None))) == []
    assert list(difference(draft(MODEL))) == []
