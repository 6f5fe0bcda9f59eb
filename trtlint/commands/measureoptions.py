"""Options that only ``trtlint measure`` has."""

from __future__ import annotations

import click

from trtlint.commands.arguments import bundle
from trtlint.commands.dryoptions import memory_size, release
from trtlint.policy.options import MOST_SECONDS

measure_options = bundle(
    click.option(
        "--inputs",
        multiple=True,
        metavar="FILE.npz",
        help="Measure on this batch of real inputs; repeatable.",
    ),
    click.option(
        "--load-inputs",
        multiple=True,
        metavar="FILE.json",
        help="Measure on inputs that Polygraphy saved; repeatable.",
    ),
    click.option(
        "--data-loader-script",
        metavar="FILE.py[:FUNCTION]",
        help="Run this Python code, which yields inputs like a Polygraphy data loader.",
    ),
    click.option(
        "--type",
        type=click.Choice(["fp16", "bf16", "tf32", "all"]),
        default="fp16",
        help="Type to measure; all compares the three (default: fp16).",
    ),
    click.option(
        "--rehearse/--no-rehearse",
        default=True,
        help="Simulate the type and compute the output errors (default: on).",
    ),
    click.option(
        "--layers",
        metavar="FILE",
        help="Simulate the fused layers of this engine (trtexec --exportLayerInfo).",
    ),
    click.option(
        "--dry-build",
        metavar="[=VERSION]",
        callback=release,
        help="Simulate the layers that NVIDIA's builder fuses, without a GPU (pip install 'trtlint[rtx]').",
    ),
    click.option(
        "--thorough",
        is_flag=True,
        help="Search for a minimal set of nodes to keep in FP32 (default: stop after 20 runs or 30 seconds).",
    ),
    click.option("--batches", type=click.IntRange(min=1), metavar="N", help="Largest number of batches."),
    click.option(
        "--bound",
        type=click.FloatRange(min=0, min_open=True),
        default=0.01,
        show_default=True,
        help="Largest error of an output that passes, relative to its largest magnitude.",
    ),
    click.option(
        "--seconds",
        type=click.FloatRange(min=0, min_open=True, max=MOST_SECONDS),
        metavar="N",
        help="Time limit in seconds (default: 600 plus 0.25 for each MB of the model).",
    ),
    click.option(
        "--memory",
        callback=memory_size,
        metavar="SIZE",
        help="Memory limit, such as 32G (default: 8G plus 8 times the model, at most 3/4 of the machine).",
    ),
)
