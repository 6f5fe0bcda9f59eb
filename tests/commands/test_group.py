"""Tests of the first word: a command name, or ``lint`` by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.shell_completion import CompletionItem

from trtlint.commands.group import ClosedPipeError, Main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the current folder with some files."""
    monkeypatch.chdir(tmp_path)
    for name in ("check", "--format", "-x", "-", "ruled"):
        Path(name).touch()
    Path("-l").symlink_to("nowhere")


def main() -> Main:
    """Return a group of commands."""
    return Main("trtlint", commands={name: click.Command(name) for name in ("lint", "rule", "rules", "fix")})


def parsed(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Return the words that click receives."""
    monkeypatch.setattr(click.Group, "parse_args", lambda _, __, words: words)
    group = main()
    return group.parse_args(click.Context(group), list(words))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), []),
        (("m.onnx",), ["lint", "m.onnx"]),
        (("lint", "m.onnx"), ["lint", "m.onnx"]),
        (("rule", "ACC102"), ["rule", "ACC102"]),
        (("--trt", "10.7", "fix"), ["lint", "--trt", "10.7", "fix"]),
        (("--help",), ["--help"]),
        (("-h", "m.onnx"), ["-h", "m.onnx"]),
        (("--version",), ["--version"]),
        (("version",), ["--version"]),
        (("help", "m.onnx"), ["--help", "m.onnx"]),
        (("explain", "ACC102"), ["rule", "ACC102"]),
        (("explain", "check"), ["rule", "check"]),
        # A file of this name is linted.
        (("check", "m.onnx"), ["lint", "check", "m.onnx"]),
        (("m.onnx", "explain"), ["lint", "m.onnx", "explain"]),
        (("-", "m.onnx"), ["lint", "-", "m.onnx"]),
        (("--", "-x"), ["lint", "--", "-x"]),
        (("models/rulse",), ["lint", "models/rulse"]),
        (("ruled",), ["lint", "ruled"]),
        (("wholly",), ["lint", "wholly"]),
    ],
)
def test_the_command_of_some_words(
    words: tuple[str, ...], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parsed(monkeypatch, *words) == expected


def test_an_alias_without_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("check").unlink()
    assert parsed(monkeypatch, "check", "m.onnx") == ["lint", "m.onnx"]
    Path("m.onnx").touch()
    assert parsed(monkeypatch, "check", "m.onnx") == ["lint", "m.onnx"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("rulse",),
            "'rulse' is neither a file nor a command; did you mean `trtlint rule` or `trtlint rules`?",
        ),
        (("fx", "m.onnx"), "'fx' is neither a file nor a command; did you mean `trtlint fix`?"),
        (
            ("m.onnx", "--format"),
            "'--format' is both an option and a file; write ./--format, or put -- before files",
        ),
        (("-x",), "'-x' is both an option and a file; write ./-x, or put -- before files"),
        (("-l",), "'-l' is both an option and a file; write ./-l, or put -- before files"),
    ],
)
def test_words_that_are_refused(
    words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(click.UsageError) as error:
        parsed(monkeypatch, *words)
    assert error.value.message == message


def closed(*_: Any, **__: Any) -> Any:
    raise BrokenPipeError


def test_a_closed_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    group = main()
    context = group.make_context("trtlint", ["rule"])
    monkeypatch.setattr(click.Group, "invoke", closed)
    monkeypatch.setattr(click.Group, "make_context", closed)
    with pytest.raises(ClosedPipeError):
        group.invoke(context)
    with pytest.raises(ClosedPipeError):
        group.make_context("trtlint", ["rule"])


def test_completions_of_the_shell() -> None:
    lint = click.Command("lint", params=[click.Option(["--format"]), click.Option(["--fail-on"])])
    group = Main("trtlint", commands={"lint": lint, "facts": click.Command("facts")})
    context = click.Context(group, info_name="trtlint")

    def found(text: str) -> list[tuple[Any, str]]:
        items: list[CompletionItem] = group.shell_complete(context, text)
        return [(item.value, item.type) for item in items]

    assert found("f") == [("facts", "plain"), ("f", "file")]
    assert found("--f") == [("--format", "plain"), ("--fail-on", "plain")]


def test_the_usage() -> None:
    text = main().get_usage(click.Context(main()))
    assert text == "Usage: trtlint PATH... [OPTIONS]\n       trtlint COMMAND [ARGS]..."
