"""Tests of option groups, and of command names known from other linters."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tests.inprocess import printed
from trtlint.cli import cli
from trtlint.commands.optiongroups import _PATH, GROUPS, OTHER, grouped


def test_help_shows_groups_the_target_first(tmp_path: Path) -> None:
    for words in (["--help"], ["lint", "--help"]):
        out = printed(tmp_path, *words).out
        headings = [line[:-1] for line in out.splitlines() if line.endswith(":") and line[:-1] in GROUPS]
        assert headings == list(GROUPS)
        assert out.index("--trt VERSION") < out.index("--plugins") < out.index("--select") < out.index("-j")


def test_no_option_is_lost_or_shown_twice() -> None:
    for command in cli.commands.values():
        shown = [option for options in grouped(command.params).values() for option in options]
        own = [param for param in command.params if param.param_type_name == "option"]
        assert sorted(id(option) for option in shown) == sorted(map(id, own))


def test_every_option_of_lint_has_a_group() -> None:
    assert [option.name for option in grouped(cli.commands["lint"].params).get(OTHER, ())] == []


def test_a_short_command_has_one_list(tmp_path: Path) -> None:
    out = printed(tmp_path, "rules", "--help").out
    assert "Options:" in out
    assert "Output:" not in out


@pytest.mark.parametrize(("alias", "command"), [("explain", "rule"), ("check", "lint")])
def test_an_alias_is_the_command(tmp_path: Path, alias: str, command: str) -> None:
    assert printed(tmp_path, alias, "--help") == printed(tmp_path, command, "--help")


def test_a_file_with_the_name_of_an_alias_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "check").write_text("no model")
    assert "check" in printed(tmp_path, "check").out


def test_explain_explains_a_rule(tmp_path: Path) -> None:
    assert "ACC102" in printed(tmp_path, "explain", "ACC102").out


@pytest.mark.parametrize("name", ["inputs", "load_inputs", "data_loader_script"])
def test_inputs_are_the_same_options_in_every_command(name: str) -> None:
    found = [
        param
        for command in ("measure", "convert", "fix")
        for param in cli.commands[command].params
        if isinstance(param, click.Option) and param.name == name
    ]
    assert len(found) == 3
    assert len({(param.metavar, param.multiple) for param in found}) == 1
    uses = {(param.help or "").partition(" ")[2] for param in found}
    assert len(uses) == 1


_NEEDED = {
    "convert": ["m.onnx", "--to", "fp16"],
    "suppress": ["m.onnx", "ACC102", "-o", "x", "--reason", "x"],
    "trend": ["a", "b"],
    "upgrade": ["m.onnx", "--from", "8.6"],
    "rule": ["ACC102"],
    "rules": [],
    "init": [],
}
"""Arguments that a command needs; ``m.onnx`` for the other commands."""
_PATHS = [
    (name, option.opts[0])
    for name, command in sorted(cli.commands.items())
    for option in command.params
    if isinstance(option, click.Option) and not option.hidden and _PATH.match(option.metavar or "")
]
"""Each option that takes a path, with its command."""


@pytest.mark.parametrize(("command", "option"), _PATHS)
def test_an_empty_path_is_not_the_current_folder(tmp_path: Path, command: str, option: str) -> None:
    """A shell passes an empty text for ``--rules "$RULES"`` if the variable is not set."""
    found = printed(tmp_path, command, *_NEEDED.get(command, ["m.onnx"]), option, "")
    error = f"trtlint: {option} is empty; check that your shell variable is set\n"
    assert (found.code, found.err) == (2, error)


@pytest.mark.parametrize("command", ["lint", "fix", "facts", "measure", "skeleton", "test"])
def test_an_empty_argument_is_not_the_current_folder(tmp_path: Path, command: str) -> None:
    found = printed(tmp_path, command, "")
    assert (found.code, found.err) == (2, "trtlint: a path is empty; check that your shell variable is set\n")


def test_empty_values_that_have_a_meaning() -> None:
    assert not any(map(_PATH.match, ("[=FILE.npz|DIR|probe]", "[=VERSION]", "NAME,...", "RULE,...")))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("measure", "m.onnx", "--quiet"), ""),
        (("fix", "m.onnx", "--quiet"), ""),
        (("lint", "m.onnx", "--quit"), " Did you mean '--quiet'?"),
        (("upgrade", "m.onnx", "--fromm", "8.6"), " Did you mean '--from'?"),
    ],
)
def test_only_similar_options_are_suggested(tmp_path: Path, words: tuple[str, ...], hint: str) -> None:
    found = printed(tmp_path, *words)
    assert found.code == 2
    assert found.err.rstrip().endswith(f"No such option {words[2]!r}.{hint}"), found.err
