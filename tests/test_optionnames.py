"""Tests that errors name the keyword of each option of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

import trtlint
from trtlint.cli import cli
from trtlint.keywords import Keywords
from trtlint.optionnames import OTHERWISE, unknown_keyword

COMMANDS = ("lint", "fix", "measure", "convert", "upgrade")
PARAMETERS = {"output": "out", "first": "first", "last": "last"}
"""Names of parameters of commands that differ from the option."""


def keywords(command: str) -> set[str]:
    """Return the keywords of the function with the name of a command."""
    return {*inspect.signature(getattr(trtlint, command)).parameters, *Keywords.__annotations__}


def options(command: str) -> Iterator[tuple[str, str]]:
    """Yield each long option of a command, and ``-o``: as a keyword, and the name of its parameter."""
    for option in cli.commands[command].params:
        for spelling in (*option.opts, *option.secondary_opts):
            if spelling.startswith("--") or spelling == "-o":
                yield spelling.lstrip("-").replace("-", "_"), str(option.name)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_keyword_or_a_remedy(command: str) -> None:
    known = keywords(command)
    others = {name: parameter for name, parameter in options(command) if name not in known}
    for name, parameter in others.items():
        message = str(unknown_keyword(name, known))
        keyword = PARAMETERS.get(parameter, parameter)
        if keyword in known:
            assert keyword in message, message
        else:
            assert name in OTHERWISE


def test_every_remedy_is_about_an_option() -> None:
    assert {name for command in COMMANDS for name, _ in options(command)} >= OTHERWISE.keys()


@pytest.mark.parametrize(
    ("command", "keyword", "words"),
    [
        ("lint", "build", "no keyword 'build'; use command="),
        ("lint", "no_fp16", "no keyword 'no_fp16'; use fp16=False"),
        ("lint", "noTF32", "no keyword 'noTF32'; use tf32=False"),
        ("lint", "stronglyTyped", "no keyword 'stronglyTyped'; did you mean 'strongly_typed'?"),
        ("lint", "fail_on", "no keyword 'fail_on'; only trtlint.check has fail_on="),
        ("check", "failon", "no keyword 'failon'; did you mean 'fail_on'?"),
        ("fix", "verfy", "no keyword 'verfy'; did you mean 'verify'?"),
        ("measure", "batch", "no keyword 'batch'; did you mean 'batches'?"),
        (
            "fix",
            "output",
            "no keyword 'output'; use trtlint.write_report for a report, and out= of trtlint.fix and "
            "trtlint.convert for a model",
        ),
    ],
)
def test_errors_name_the_keyword(command: str, keyword: str, words: str) -> None:
    with pytest.raises(trtlint.ArgumentError) as caught:
        getattr(trtlint, command)("model.onnx", **{keyword: True})
    assert str(caught.value) == words


def test_an_upgrade_names_its_versions() -> None:
    with pytest.raises(trtlint.ArgumentError, match=r"'to'; trtlint\.upgrade has last="):
        trtlint.upgrade("model.onnx", "10.6", to="10.7")  # type: ignore[call-arg]
