"""Options that several commands share: the inputs of a model, time limits and memory limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from trtlint.commands.arguments import FiniteRange, bundle
from trtlint.commands.dryoptions import memory_size
from trtlint.policy.options import MOST_SECONDS


def input_options(verb: str) -> Callable[[Any], Any]:
    """Return a decorator that adds the options for the inputs of a model.

    Args:
        verb: first word of the option help, such as ``Measure``.
    """
    return bundle(
        click.option(
            "--inputs",
            multiple=True,
            metavar="FILE.npz",
            help=f"{verb} on the inputs in this .npz file; repeatable.",
        ),
        click.option(
            "--load-inputs",
            multiple=True,
            metavar="FILE.json",
            help=f"{verb} on the inputs in this Polygraphy file; repeatable.",
        ),
        click.option(
            "--data-loader-script",
            metavar="FILE.py[:FUNCTION]",
            help="Run this Python script, and use the inputs from its data loader. Polygraphy defines the "
            "form of the loader.",
        ),
    )


def limit_options(seconds: str) -> Callable[[Any], Any]:
    """Return a decorator that adds the options ``--seconds`` and ``--memory``.

    Args:
        seconds: the help text of ``--seconds``.
    """
    return bundle(
        click.option(
            "--seconds",
            type=FiniteRange(min=0, min_open=True, max=MOST_SECONDS),
            metavar="N",
            help=seconds,
        ),
        click.option(
            "--memory",
            callback=memory_size,
            metavar="SIZE",
            help="Memory limit, such as 32G (default: 8G plus 8 times the size of the model, "
            "at most 3/4 of the machine's memory).",
        ),
    )
