"""The commands ``init`` and ``doctor``, which a new user runs first."""

from __future__ import annotations

from typing import Any

import click

from trtlint.commands.arguments import BUILD, TARGET, target_options
from trtlint.commands.optiongroups import GroupedCommand
from trtlint.commands.reportoptions import result_option

_HELP = {"help_option_names": ["-h", "--help"]}


@click.command(
    cls=GroupedCommand, context_settings=_HELP, short_help="Write a trtlint.toml with your build settings."
)
@TARGET
@BUILD
@result_option("Write the configuration here (default: trtlint.toml).", default="trtlint.toml")
def init(build: str | None, output: str, **options: Any) -> int:
    """Write a configuration from a build command, from options, or from three questions.

    \b
    trtlint init --trt 10.8 --gpu L4 --build 'trtexec --onnx=model.onnx --fp16'
    """  # noqa: D301 - click keeps the line breaks after \b
    from trtlint.commands.init import run_init

    return run_init(target_options(options), build, output)


@click.command(
    cls=GroupedCommand,
    context_settings=_HELP,
    short_help="Show the packages and tools that are installed or missing.",
)
def doctor() -> int:
    """Show versions, the GPU and the cache, and how to install missing packages."""
    from trtlint.commands.doctor import run_doctor

    return run_doctor()
