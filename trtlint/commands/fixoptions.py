"""Options that only ``trtlint fix`` has."""

from __future__ import annotations

from typing import Any

import click

from trtlint.commands.arguments import bundle, evidence_options
from trtlint.commands.inputoptions import input_options
from trtlint.commands.reportoptions import HTML

fix_options = bundle(
    click.option("--diff", is_flag=True, help="Show the changes as a diff of the ONNX text format."),
    click.option("--dry-run", is_flag=True, help="Do everything except writing the model."),
    click.option("--script", metavar="FILE.py", help="Also write the edits as an onnx-graphsurgeon script."),
    HTML,
    click.option(
        "--verify",
        is_flag=True,
        help="Run each rewritten region and both whole models in ONNX Runtime, and compare the results.",
    ),
    click.option(
        "--verify-build",
        is_flag=True,
        help="Build the source and the fixed model with TensorRT-RTX, without a GPU, and compare both "
        "networks with ONNX Runtime.",
    ),
    input_options("Verify"),
    evidence_options(fix=True),
    click.option("--unsafe", is_flag=True, help="Also apply rewrites that intentionally change results."),
)
_OWN = ("output", "script", "diff", "dry_run", "unsafe", "verify", "verify_build")


def take_fix_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove from ``options`` the options that only ``trtlint fix`` has, and return their values.

    The keys of the result are fields of :class:`~trtlint.commands.fix.FixOptions`.
    """
    from trtlint.measurement.inputs import Inputs

    inputs = Inputs(options.pop("inputs"), options.pop("load_inputs"), options.pop("data_loader_script"))
    return {"inputs": inputs, **{name: options.pop(name) for name in _OWN}}
