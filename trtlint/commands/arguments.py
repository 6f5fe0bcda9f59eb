"""Options that several commands share, and what their values become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

import click

from trtlint.buildfiles.witnesses import WITNESSES, BuildFiles
from trtlint.policy.options import TargetOptions
from trtlint.target.flags import Flag

_Command = TypeVar("_Command", bound=Callable[..., Any])


def bundle(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Several options as one decorator; help lists them in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _switch(name: str, what: str, *spellings: str) -> Callable[[_Command], _Command]:
    """An option that is on, off, or not given."""
    return click.option(f"--{name}/--no-{name}", *spellings, default=None, help=what)


RULES = click.option(
    "--rules",
    multiple=True,
    metavar="DIR",
    help="Folder of rule files to use as well; repeatable.",
)

SELECTORS = "ids, id prefixes, names or groups."
"""What a selector may be."""

PREVIEW = _switch("preview", "Also run preview rules.")

BUILD = click.option(
    "--build",
    metavar="COMMAND|FILE",
    help="The trtexec command that builds the model, a script with such commands, or Triton's "
    "config.pbtxt: gives the precision, and is checked itself.",
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
    click.option(
        "--gpu", metavar="NAME|smNN,...", help="GPU to build for, such as L4 or sm89, or several: sm75,sm89."
    ),
    _switch("fp16", "As trtexec's --fp16."),
    _switch("bf16", "As trtexec's --bf16."),
    _switch("int8", "As trtexec's --int8."),
    _switch("fp8", "As trtexec's --fp8."),
    _switch("best", "As trtexec's --best."),
    _switch("strongly-typed", "As trtexec's --stronglyTyped.", "--stronglyTyped"),
    _switch("tf32", "TF32 is on unless refused, as in trtexec.", " /--noTF32"),
    click.option(
        "--plugins",
        multiple=True,
        metavar="NAME,...",
        help="Plugins that the build loads besides TensorRT's own, by operator name; '' for none at all.",
    ),
)
"""Options that describe the build, in trtexec's words.
https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html
"""


_LEFT_BEHIND = tuple(
    click.option(f"--{kind}", metavar="FILE", help=words) for kind, words in WITNESSES.items()
)
"""Files that a build leaves behind; as paths they are told by their content."""


build_file_options = bundle(*_LEFT_BEHIND)
"""The options that name what a build left behind."""

target = bundle(*_TARGET)
"""The options that say what is built for."""

build_options = bundle(*_TARGET[2:])
"""The options that describe the build, the version apart."""


def build_files(options: dict[str, Any]) -> BuildFiles:
    """Take the options that name what a build left behind out of all options."""
    return {kind: path for kind in WITNESSES if (path := options.pop(kind)) is not None}


def target_options(options: dict[str, Any]) -> TargetOptions:
    """Take the options that describe the build out of all options."""
    given = ((flag, options.pop(flag.replace("-", "_"))) for flag in get_args(Flag))
    flags = tuple((flag, value) for flag, value in given if value is not None)
    names = options.pop("plugins")
    plugins = tuple(name.strip() for text in names for name in text.split(",") if name.strip())
    return TargetOptions(
        options.pop("trt"), options.pop("rtx"), options.pop("gpu"), flags, plugins if names else None
    )
