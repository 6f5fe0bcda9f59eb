"""Define the options that only ``trtlint measure`` has."""

from __future__ import annotations

import click

from trtlint.commands.arguments import FiniteRange, bundle
from trtlint.commands.dryoptions import release
from trtlint.commands.inputoptions import input_options, limit_options

measure_options = bundle(
    input_options("Measure"),
    click.option(
        "--type",
        type=click.Choice(["fp16", "bf16", "tf32", "all"]),
        default="fp16",
        help="Type to measure; `all` compares fp16, bf16 and tf32 (default: fp16).",
    ),
    click.option(
        "--rehearse/--no-rehearse",
        default=True,
        help="Simulate the type and compute the output errors (default: on).",
    ),
    click.option(
        "--layers",
        metavar="FILE",
        help="Simulate the fused layers in this layer information (trtexec --exportLayerInfo).",
    ),
    click.option(
        "--dry-build",
        metavar="[=VERSION]",
        callback=release,
        help="Build without a GPU (TensorRT-RTX), and simulate the fused layers of that build.",
    ),
    click.option(
        "--thorough",
        is_flag=True,
        help="Search longer for a smaller set of nodes to keep in FP32 (default: 20 runs or 30 seconds).",
    ),
    click.option(
        "--batches",
        type=click.IntRange(min=1),
        metavar="N",
        help="Largest number of batches (default: 1024; for generated inputs, 1).",
    ),
    click.option(
        "--bound",
        type=FiniteRange(min=0, min_open=True),
        default=0.01,
        show_default=True,
        help="Largest accepted error of an output, relative to the largest magnitude of this output.",
    ),
    limit_options(
        "Time limit of the measurement in seconds (default: 600 s plus 0.25 s per MB of the model)."
    ),
)
