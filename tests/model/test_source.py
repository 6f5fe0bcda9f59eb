"""Tests of Python source lines, and of their shortened paths."""

from __future__ import annotations

import pytest

from trtlint.model.source import Frame, Source


@pytest.mark.parametrize(
    ("path", "parts", "shown", "installed"),
    [
        ("/w/models/net.py", ("w", "models", "net.py"), "models/net.py", ""),
        ("net.py", ("net.py",), "net.py", ""),
        ("", (), "", ""),
        ("./a/../b.py", ("a", "b.py"), "a/b.py", ""),
        ("/home/me/net.py", ("home", "me", "net.py"), "net.py", ""),
        ("/home/me/w/a/net.py", ("home", "me", "w", "a", "net.py"), "a/net.py", ""),
        ("/Users/me/net.py", ("Users", "me", "net.py"), "net.py", ""),
        ("/root/net.py", ("root", "net.py"), "net.py", ""),
        ("home/me/net.py", ("home", "me", "net.py"), "me/net.py", ""),
        (r"C:\Users\me\net.py", ("Users", "me", "net.py"), "net.py", ""),
        ("d:/w/net.py", ("w", "net.py"), "w/net.py", ""),
        (
            "/usr/lib/site-packages/timm/layers/norm.py",
            ("usr", "lib", "site-packages", "timm", "layers", "norm.py"),
            "layers/norm.py",
            "timm/layers/norm.py",
        ),
        (
            "/v/site-packages/a/dist-packages/b.py",
            ("v", "site-packages", "a", "dist-packages", "b.py"),
            "dist-packages/b.py",
            "b.py",
        ),
        ("site-packages", ("site-packages",), "site-packages", ""),
    ],
)
def test_paths_of_lines(path: str, parts: tuple[str, ...], shown: str, installed: str) -> None:
    frame = Frame(path, 3)
    assert (frame.parts, frame.shown, frame.installed) == (parts, shown, installed)


def test_a_long_path_of_an_installed_file_is_cut() -> None:
    parts = [str(number) for number in range(13)]
    assert Frame("/site-packages/" + "/".join(parts[:12]), 1).installed == "/".join(parts[:12])
    assert Frame("/site-packages/" + "/".join(parts), 1).installed == "/".join(parts[:12])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Source("a.py", 3), "x.py:3"),
        (Source("a.py", 3, "forward"), "x.py:3 in forward"),
        (Source("a.py", 3, package="timm"), "x.py:3 (timm)"),
        (Source("a.py", 3, "forward", package="timm"), "x.py:3 in forward (timm)"),
        (Source("a.py", 3, "forward", package="timm", via="b.py:4"), "b.py:4, called from x.py:3"),
    ],
)
def test_lines_in_words(source: Source, words: str) -> None:
    assert source.at("x.py") == words
    assert str(source) == words.replace("x.py", "a.py")


def test_frames_do_not_distinguish_lines() -> None:
    assert Source("a.py", 3, frames=(Frame("a.py", 3),)) == Source("a.py", 3)
    assert Source("a.py", 3) != Source("a.py", 4)
    assert Source("a.py", 3, found=True) != Source("a.py", 3)
