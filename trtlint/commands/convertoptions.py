"""The command line of ``trtlint convert``."""

from __future__ import annotations

from typing import Any

import click

from trtlint.commands.arguments import BUILD, TARGET, FiniteRange, bundle, target_options
from trtlint.commands.inputoptions import input_options, limit_options
from trtlint.commands.optiongroups import GroupedCommand
from trtlint.commands.reportoptions import HTML, report_options, take_outputs

_options = bundle(
    click.option(
        "--to", "type_", type=click.Choice(["fp16", "bf16"]), required=True, help="Type to convert to."
    ),
    report_options(
        "Write the converted model to this file, or to this folder "
        "(default: MODEL.fp16.onnx or MODEL.bf16.onnx)."
    ),
    input_options("Measure"),
    click.option(
        "--keep",
        multiple=True,
        metavar="NODE|OP|PATTERN",
        help="Keep nodes in FP32 by name, by operator type, or by a name with `*`; repeatable.",
    ),
    click.option(
        "--io",
        type=click.Choice(["fp32", "fp16", "bf16"]),
        default="fp32",
        help="Type of the inputs and outputs of the model (default: fp32).",
    ),
    click.option(
        "--tolerance",
        type=FiniteRange(min=0, min_open=True),
        default=0.01,
        show_default=True,
        help="Largest accepted error of an output, relative to the largest magnitude of this output.",
    ),
    click.option(
        "--measure/--no-measure",
        default=True,
        help="Run the model in ONNX Runtime to choose the types and to check the errors (default: on).",
    ),
    click.option(
        "--verify-build",
        is_flag=True,
        help="Build the FP32 model and the converted model with TensorRT-RTX, without a GPU, and compare the "
        "fused layers.",
    ),
    click.option("--dry-run", is_flag=True, help="Do everything except writing the model."),
    click.option("--diff", is_flag=True, help="Show the changes as a diff of the ONNX text format."),
    HTML,
    limit_options(
        "Time limit of each run of the model in seconds (default: all runs share 180 s plus 0.25 s per MB "
        "of the model)."
    ),
    BUILD,
    click.option(
        "--network-script",
        metavar="FILE.py:FUNCTION",
        help="Use the layer precisions that this Python function sets on the TensorRT network.",
    ),
    TARGET,
)


@click.command(
    "convert",
    cls=GroupedCommand,
    short_help="Convert FP32 models to strongly typed FP16 or BF16 models.",
)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@_options
def convert_command(**options: Any) -> int:
    """Convert FP32 models to strongly typed FP16 or BF16 models, which TensorRT 11 requires.

    Nodes that need FP32 stay in FP32. A conversion that fails a check is not written.

    \b
    trtlint convert model.onnx --to fp16 --inputs batch.npz -o model.fp16.onnx
    trtlint convert model.onnx --to fp16 --build build.sh
    trtlint convert models/ --to fp16 -o converted/

    Exit code: 0 all checks proved the result, 1 the model was written, but not proven, 2 invalid usage or
    inputs, 3 the model cannot be read or converted, or a check failed, 4 a bug in trtlint.
    """  # noqa: D301 - click keeps the line breaks after \b
    from trtlint.commands.convert import ConvertOptions, run_convert

    outputs = take_outputs(options)
    return run_convert(ConvertOptions(target=target_options(options), outputs=outputs, **options))
