"""The command line.

Only click is imported here; each command imports what it needs when it runs, so that help and
usage errors cost little.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from trtlint import __version__
from trtlint.commands.options import Flag, LintOptions, TargetOptions
from trtlint.exits import Exit

_Command = TypeVar("_Command", bound=Callable[..., Any])

_HELP = {"help_option_names": ["-h", "--help"]}


class _ClosedPipeError(Exception):
    """A closed pipe under a name that click does not turn into an exit code of its own."""


class _Main(click.Group):
    """A group whose default command is ``lint``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"-h", "--help", "--version"}
        if args and args[0] not in self.commands and args[0] not in own:
            self._refuse_misspelt(args[0])
            args = ["lint", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ClosedPipeError from error

    def _refuse_misspelt(self, word: str) -> None:
        """Tell ``trtlint rulse`` from a file that is not there."""
        near = get_close_matches(word, self.commands, n=2)
        if near and word.isidentifier() and not Path(word).exists():
            commands = " or ".join(f"`trtlint {name}`" for name in near)
            raise click.UsageError(f"no file and no command {word!r}; did you mean {commands}?")

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage("trtlint", "PATH... [OPTIONS]")
        formatter.write_usage("trtlint", "COMMAND [ARGS]...", prefix=" " * len("Usage: "))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        options = [*self.commands["lint"].params, *self.params]
        records = [p.get_help_record(ctx) for p in options if isinstance(p, click.Option)]
        with formatter.section("Options"):
            formatter.write_dl([record for record in records if record is not None])


@click.group(cls=_Main, context_settings=_HELP, no_args_is_help=True)
@click.version_option(__version__, message="trtlint %(version)s")
def cli() -> None:
    """Tell what TensorRT will get wrong, refuse or run slowly in an ONNX model, before it is built.

    What is not said of the build is unknown, not off: findings that depend on it are counted, and
    the options that would settle them are named.

    \b
    trtlint model.onnx --trt 10.7
    trtlint models/ --trt 10.7..11.4 --gpu L4 --fp16
    trtlint rule ACC102
    """


def _switch(name: str, what: str, *spellings: str) -> Callable[[_Command], _Command]:
    """An option that is on, off, or not given."""
    return click.option(f"--{name}/--no-{name}", *spellings, default=None, help=what)


_RULES = click.option(
    "--rules",
    multiple=True,
    metavar="DIR",
    help="Folder of rule files to use as well; repeatable.",
)

_TARGET: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--trt",
        multiple=True,
        metavar="VERSION",
        help="TensorRT to build with, such as 10.7 or a range 10.7..11.4; repeatable.",
    ),
    click.option(
        "--rtx",
        multiple=True,
        metavar="VERSION",
        help="TensorRT-RTX to build with, such as 1.4; repeatable.",
    ),
    click.option("--gpu", metavar="NAME|smNN", help="GPU to build for, such as L4 or sm89."),
    _switch("fp16", "As trtexec's --fp16."),
    _switch("bf16", "As trtexec's --bf16."),
    _switch("int8", "As trtexec's --int8."),
    _switch("fp8", "As trtexec's --fp8."),
    _switch("best", "As trtexec's --best."),
    _switch("strongly-typed", "As trtexec's --stronglyTyped.", "--stronglyTyped"),
    _switch("tf32", "TF32 is on unless refused, as in trtexec.", " /--noTF32"),
)
"""Options that describe the build, in trtexec's words.
https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html
"""


def _target(command: _Command) -> _Command:
    for option in reversed(_TARGET):
        command = option(command)
    return command


@cli.command(context_settings=_HELP, short_help="Lint models; what `trtlint PATH...` does.")
@click.argument("paths", nargs=-1, metavar="PATH...")
@_target
@_RULES
@click.option("--select", multiple=True, metavar="RULE,...", help="Only these: ids, id prefixes or names.")
@click.option("--ignore", multiple=True, metavar="RULE,...", help="Not these: ids, id prefixes or names.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["full", "concise", "json"]),
    default="full",
    help="How findings are written.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    default="error",
    help="Mildest finding that gives exit code 1 (default: error).",
)
@click.option("--exit-zero", is_flag=True, help="Exit code 0 whatever is found.")
@click.option("--show-conditional", is_flag=True, help="Also what depends on options not given.")
@click.option(
    "--explain-miss",
    nargs=2,
    metavar="RULE NODE",
    help="Say why a rule does not fire at a node.",
)
def lint(**options: Any) -> int:
    """Lint ONNX files, and folders searched for them.

    Exit code: 0 clean, 1 findings at or above --fail-on, 2 wrong usage or rule file, 3 a file that
    cannot be read, 4 a bug in trtlint.
    """
    # Modules, classes and rules live until the end: looking for garbage while they load only costs.
    gc.disable()
    from trtlint.commands.lint import run_lint

    if not options["paths"]:
        raise click.UsageError("no path given: trtlint PATH... (see trtlint --help)")
    target = _target_options(options)
    return run_lint(LintOptions(target=target, format=options.pop("format_"), **options))


@cli.command(context_settings=_HELP, short_help="Show what trtlint sees in a model.")
@click.argument("model", metavar="MODEL")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only facts of this kind; repeatable.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
def facts(model: str, kinds: tuple[str, ...], format_: str) -> int:
    """Show the facts of an ONNX file: what rules look at, field by field."""
    from trtlint.commands.facts import run_facts

    return run_facts(model, kinds, as_json=format_ == "json")


@cli.command(context_settings=_HELP, short_help="List the rules.")
@_RULES
def rules(rules: tuple[str, ...]) -> int:
    """List the rules: what they find, how grave it is, for which versions, and on what they rest."""
    from trtlint.commands.rules import run_rules

    return run_rules(rules)


@cli.command(context_settings=_HELP, short_help="Explain a rule.")
@click.argument("key", metavar="ID|NAME")
@_RULES
def rule(key: str, rules: tuple[str, ...]) -> int:
    """Explain a rule: what it does, why it is a risk, which versions, how to fix it."""
    from trtlint.commands.rules import run_rule

    return run_rule(key, rules)


@cli.command(context_settings=_HELP, short_help="Run the examples of rule files.")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
def test(paths: tuple[str, ...]) -> int:
    """Run the examples in rule files, trtlint's own if no path is given.

    Exit code: 0 all hold, 1 one fails, 2 a rule file is wrong.
    """
    from trtlint.commands.examples import run_examples

    return run_examples(paths)


def _target_options(options: dict[str, Any]) -> TargetOptions:
    """Take the options that describe the build out of all options."""
    given = ((flag, options.pop(flag.replace("-", "_"))) for flag in get_args(Flag))
    flags = tuple((flag, value) for flag, value in given if value is not None)
    return TargetOptions(options.pop("trt"), options.pop("rtx"), options.pop("gpu"), flags)


def run(args: Sequence[str]) -> int:
    """Run the command line; every error becomes one line on standard error and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # Names in a model can hold what the locale's encoding cannot write.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(list(args), prog_name="trtlint", standalone_mode=False) or 0
        sys.stdout.flush()
        return int(code)
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
    except (BrokenPipeError, _ClosedPipeError):
        # Leave nothing for Python to flush, and complain of, at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.BROKEN_PIPE
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    except click.ClickException as error:
        _complain(error.format_message())
        return Exit.USAGE
    except Exception as error:  # noqa: BLE001 - the user gets one line, not a traceback
        from trtlint.commands.bugs import describe

        _complain(describe(error))
        return Exit.BUG


def _complain(message: str) -> None:
    from trtlint.report.escape import clean

    click.echo(f"trtlint: {clean(' '.join(message.split()))}", err=True)
