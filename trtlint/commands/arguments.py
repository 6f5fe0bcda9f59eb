"""Command-line options that several commands share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from trtlint.buildfiles.kinds import FILE_KINDS, BuildFiles
from trtlint.policy.options import FailOn, TargetOptions, as_option
from trtlint.runs.evidencefiles import EVIDENCE_FILES
from trtlint.target.flags import Flag

_Command = TypeVar("_Command", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A range of numbers. It rejects NaN, which passes every comparison of click.FloatRange."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert a text to a finite number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


def bundle(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Combine several options into one decorator.  The help lists the options in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _switch(name: str, what: str, *spellings: str) -> Callable[[_Command], _Command]:
    """Return an option with three states: on, off and unset.

    ``what`` describes the feature that the option turns on or off.
    """
    return click.option(f"--{name}/--no-{name}", *spellings, default=None, help=what)


RULES = click.option(
    "--rules",
    multiple=True,
    metavar="DIR",
    help="Also use the rule files in this folder; repeatable.",
)

SELECTORS = "ids, id prefixes, names or groups."
"""Words for the kinds of rule selectors, for option help."""

PREVIEW = _switch("preview", "Also run preview rules.")

CONFIGURATION = bundle(
    click.option("--config", metavar="FILE", help="Use this configuration file instead of the nearest one."),
    click.option(
        "--isolated", is_flag=True, help="Ignore configuration files, and ignore suppressions in models."
    ),
)
"""The options for the configuration file."""

SHOW_CONDITIONAL = click.option(
    "--show-conditional", is_flag=True, help="Also show findings that depend on unset options."
)


def fail_on_option(help: str, default: FailOn | None) -> Callable[[_Command], _Command]:
    """Return the option ``--fail-on``, the lowest severity that makes the command fail."""
    return click.option("--fail-on", type=click.Choice(get_args(FailOn)), default=default, help=help)


BUILD = click.option(
    "--build",
    metavar="COMMAND|FILE",
    help="Check this trtexec command, and take the precision from it. Also accepts a script with such "
    "commands, or a Triton config.pbtxt.",
)

_TARGET: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--trt",
        multiple=True,
        metavar="VERSION",
        help="TensorRT version, such as 10.7, or a range, such as 10.7..11.4; repeatable.",
    ),
    click.option(
        "--rtx",
        multiple=True,
        metavar="VERSION",
        help="TensorRT-RTX version, such as 1.4; repeatable.",
    ),
    click.option(
        "--gpu", metavar="NAME|smNN,...", help="Target GPU, such as L4 or sm89, or several: sm75,sm89."
    ),
    _switch("fp16", "Build with FP16, as trtexec --fp16."),
    _switch("bf16", "Build with BF16, as trtexec --bf16."),
    _switch("int8", "Build with INT8, as trtexec --int8."),
    _switch("fp8", "Build with FP8, as trtexec --fp8."),
    _switch("best", "Build with all precisions, as trtexec --best."),
    _switch(
        "strongly-typed", "Build a strongly typed network, as trtexec --stronglyTyped.", "--stronglyTyped"
    ),
    _switch("tf32", "Allow TF32 (default: allowed, as in trtexec).", " /--noTF32"),
    click.option(
        "--plugins",
        multiple=True,
        metavar="NAME,...",
        help="Operators of plugins that the build loads in addition to TensorRT's own; '' for none.",
    ),
)
"""Options that describe the build, named as in trtexec.
https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html
"""


build_file_options = bundle(
    *(click.option(f"--{kind}", metavar="FILE", help=words) for kind, words in FILE_KINDS.items())
)
"""One option for each kind of build file.  A build file of any kind can also be given as a path argument."""

TARGET = bundle(*_TARGET)
"""The options of the target."""

build_options = bundle(*_TARGET[2:])
"""The options of the target, without the version."""


def evidence_options(*, fix: bool = False) -> Callable[[_Command], _Command]:
    """Return the options for evidence from files. ``fix`` selects the help of ``trtlint fix``."""
    return bundle(
        *(
            click.option(
                as_option(kind.name),
                multiple=True,
                metavar="FILE",
                help=kind.fix_help if fix and kind.fix_help else kind.help,
            )
            for kind in EVIDENCE_FILES
        )
    )


def evidence_files(options: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Take the options for evidence from files out of ``options``, and return their values."""
    return {kind.name: options.pop(kind.name) for kind in EVIDENCE_FILES}


def build_files(options: dict[str, Any]) -> BuildFiles:
    """Take the options for build files out of ``options``, and return their values."""
    return {kind: path for kind in FILE_KINDS if (path := options.pop(kind)) is not None}


def target_options(options: dict[str, Any]) -> TargetOptions:
    """Take the target options out of ``options``, and return their values."""
    given = ((flag, options.pop(flag.replace("-", "_"))) for flag in get_args(Flag))
    flags = tuple((flag, value) for flag, value in given if value is not None)
    names = options.pop("plugins")
    plugins = tuple(name.strip() for text in names for name in text.split(",") if name.strip())
    return TargetOptions(
        options.pop("trt"), options.pop("rtx"), options.pop("gpu"), flags, plugins if names else None
    )
