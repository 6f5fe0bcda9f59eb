"""Tests of globs for paths and node names."""

from __future__ import annotations

import pytest

from trtlint.files import globs
from trtlint.files.globs import matches_name, matches_path


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("a.onnx", "a.onnx", True),
        ("a.onnx", "x/y/a.onnx", True),
        ("a.onnx", "x/ya.onnx", False),
        ("a.onnx", "a.onnx/x", False),
        ("*.onnx", "x/a.onnx", True),
        ("?.onnx", "x/a.onnx", True),
        ("?.onnx", "x/.onnx", False),
        ("a?", "a", False),
        ("x/*", "x/a", True),
        ("x/*", "x/", True),
        ("x/*", "x/y/a", False),
        ("x/?", "x//", False),
        ("x?y", "x/y", False),
        ("x/*/a", "x/y/a", True),
        ("x/*/a", "x/y/z/a", False),
        ("*/a", "x/a", True),
        ("*/a", "a", False),
        ("*a*b*", "xaybz", True),
        ("*a*b*", "xbya", False),
        ("x/", "x/a", True),
        ("x/", "x/y/a", True),
        ("x/", "y/x/a", False),
        ("x/", "x", False),
        ("./x/a", "x/a", True),
        ("./a", "x/a", True),
        ("**/a", "a", True),
        ("**/a", "x/y/a", True),
        ("**/a", "x/ya", False),
        ("x/**/a", "x/a", True),
        ("x/**/a", "x/y/z/a", True),
        ("x/**/a", "xy/a", False),
        ("**", "x/y", True),
        ("x**", "x/y/z", True),
        ("x**y", "x/z/y", True),
        ("x**", "y/x", False),
        ("**/x/*.onnx", "a/x/b.onnx", True),
        ("**/x/*.onnx", "a/x/y/b.onnx", False),
        ("**/*/a", "a", False),
        ("**/*/a", "x/a", True),
        ("[a]", "a", False),
        ("[a]", "[a]", True),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_paths(glob: str, path: str, expected: bool) -> None:
    assert matches_path(glob, path) is expected


@pytest.mark.parametrize(("most", "expected"), [(2, True), (1, False)])
def test_the_number_of_wildcards_is_limited(
    monkeypatch: pytest.MonkeyPatch, most: int, expected: bool
) -> None:
    monkeypatch.setattr(globs, "_MOST_STARS", most)
    assert matches_path("a*b*", "axby") is expected


@pytest.mark.parametrize(
    ("glob", "name", "expected"),
    [
        ("/a/*", "/a/b/c", True),
        ("/a/?", "/a/b", True),
        ("/a/?", "/a/bc", False),
        ("/a[0]", "/a[0]", True),
        ("/a[0]", "/a0", False),
        ("/a[!b]*", "/a[!b]/c", True),
        ("a", "A", False),
        ("a", "ab", False),
        ("b", "ab", False),
        ("*", "a\nb", True),
    ],
)
def test_names(glob: str, name: str, expected: bool) -> None:
    assert matches_name(glob, name) is expected
