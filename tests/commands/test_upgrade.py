"""Reports of ``trtlint upgrade``."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

from trtlint.commands.upgrade import UpgradeOptions, _write
from trtlint.files.problem import Problem
from trtlint.report import document
from trtlint.report.upgradejson import dumps
from trtlint.report.upgradepages import page

PROBLEMS = [Problem("a.onnx", "damaged"), Problem("b.onnx", "too large")]


@pytest.mark.parametrize(
    ("format_", "expected"),
    [
        ("json", dumps([], PROBLEMS) + "\n"),
        ("markdown", document.markdown(page([], PROBLEMS))),
        ("html", document.html(page([], PROBLEMS))),
        ("full", ""),
    ],
)
def test_formats_of_a_report(format_: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = cast("UpgradeOptions", None)
    consumed: list[Any] = []

    def report(results: Any, file: Any, *rest: Any) -> Any:
        consumed.append((list(results), file, *rest))
        return iter(())

    monkeypatch.setattr("trtlint.commands.upgrade._reported", report)
    _write(PROBLEMS, format_, file := io.StringIO(), options)
    assert file.getvalue() == expected
    assert consumed == ([(PROBLEMS, file, options, True)] if format_ == "full" else [])
