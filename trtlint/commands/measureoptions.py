"""Options that only ``trtlint measure`` has."""

from __future__ import annotations

import click

from trtlint.commands.arguments import bundle
from trtlint.commands.dryoptions import release
from trtlint.commands.inputoptions import input_options, limit_options

measure_options = bundle(
    input_options("Measure"),
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
        help="Simulate the layers that NVIDIA's builder fuses, without a GPU.",
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
    limit_options("600 plus 0.25 for each MB of the model"),
)
