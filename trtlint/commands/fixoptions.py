"""The options of ``trtlint fix`` that no other command has."""

from __future__ import annotations

from typing import Any

import click

from trtlint.commands.arguments import bundle

fix_options = bundle(
    click.option("--diff", is_flag=True, help="Show the difference, in the text notation of ONNX."),
    click.option("--dry-run", is_flag=True, help="Write no model; all else is done, proofs included."),
    click.option(
        "--script", metavar="FILE.py", help="Also write the edits as a script with onnx-graphsurgeon."
    ),
    click.option("--html", metavar="FILE", help="Also write a page with each block before and after."),
    click.option("--verify", is_flag=True, help="Compute what changes, and both models, and compare."),
    click.option(
        "--verify-build",
        is_flag=True,
        help="Build both with TensorRT-RTX, which needs no GPU, and compare their networks with ONNX.",
    ),
    click.option(
        "--inputs", multiple=True, metavar="FILE.npz", help="Inputs to compare both on; repeatable."
    ),
    click.option(
        "--load-inputs", multiple=True, metavar="FILE", help="Inputs saved by Polygraphy; repeatable."
    ),
    click.option(
        "--data-loader-script",
        metavar="FILE[:NAME]",
        help="Polygraphy's script that yields inputs; its code is run.",
    ),
    click.option(
        "--ranges",
        multiple=True,
        metavar="FILE",
        help="Keep in FP32 what `trtlint measure` says must be, in a model that is in FP16; repeatable.",
    ),
    click.option("--unsafe", is_flag=True, help="Also rewrites that change results by choice."),
)
_OWN = ("output", "script", "html", "diff", "dry_run", "unsafe", "verify", "verify_build")


def given(options: dict[str, Any]) -> dict[str, Any]:
    """Take them out of all options, as the fields that they fill."""
    from trtlint.measurement.inputs import Inputs

    inputs = Inputs(options.pop("inputs"), options.pop("load_inputs"), options.pop("data_loader_script"))
    return {"inputs": inputs, **{name: options.pop(name) for name in _OWN}}
