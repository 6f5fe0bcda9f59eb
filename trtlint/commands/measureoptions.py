"""The options of a measurement, without those that it shares with other commands."""

from __future__ import annotations

import click

from trtlint.commands.arguments import bundle
from trtlint.commands.dryoptions import memory_size, release
from trtlint.policy.options import MOST_SECONDS

measure_options = bundle(
    click.option("--inputs", multiple=True, metavar="FILE.npz", help="One batch of real inputs; repeatable."),
    click.option(
        "--load-inputs",
        multiple=True,
        metavar="FILE.json",
        help="Inputs as Polygraphy saves them; repeatable.",
    ),
    click.option(
        "--data-loader-script",
        metavar="FILE.py[:FUNCTION]",
        help="Python code that yields inputs, as Polygraphy takes it. It is run.",
    ),
    click.option(
        "--type",
        type=click.Choice(["fp16", "bf16", "tf32", "all"]),
        default="fp16",
        help="Narrow type; all compares the three (default: fp16).",
    ),
    click.option(
        "--rehearse/--no-rehearse", default=True, help="Whether to compute the outputs in the narrow type."
    ),
    click.option(
        "--layers",
        metavar="FILE",
        help="Layers of an engine (trtexec --exportLayerInfo): rehearse what this build fuses.",
    ),
    click.option(
        "--dry-build",
        metavar="[=VERSION]",
        callback=release,
        help="Rehearse what NVIDIA's builder fuses without a GPU (pip install 'trtlint[rtx]').",
    ),
    click.option(
        "--thorough",
        is_flag=True,
        help="Search on until no node can leave the set to keep in FP32 (default: 20 runs, 30 seconds).",
    ),
    click.option("--batches", type=click.IntRange(min=1), metavar="N", help="Use so many batches at most."),
    click.option(
        "--bound",
        type=click.FloatRange(min=0, min_open=True),
        default=0.01,
        show_default=True,
        help="Error of an output, relative to its greatest magnitude, that is still good.",
    ),
    click.option(
        "--seconds",
        type=click.FloatRange(min=0, min_open=True, max=MOST_SECONDS),
        metavar="N",
        help="Time limit (default: 600 seconds and 0.25 seconds for each MB of the model).",
    ),
    click.option(
        "--memory",
        callback=memory_size,
        metavar="SIZE",
        help="Memory limit, such as 32G (default: 8G and 8 times the model, at most 3/4 of the machine's).",
    ),
)
