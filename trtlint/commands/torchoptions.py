"""Define the options for Torch-TensorRT, and convert their values."""

from __future__ import annotations

from typing import Any

import click

from trtlint.commands.arguments import bundle
from trtlint.policy.options import TorchOptions, as_option

torch_options = bundle(
    click.option(
        "--torch-tensorrt",
        metavar="VERSION",
        help="Check Python scripts and exported programs (.pt2) for this Torch-TensorRT release, "
        "such as 2.13.",
    ),
    click.option(
        "--torch-python",
        metavar="PATH",
        help="Python interpreter that runs --dry-build for a .pt2 program. It needs torch, torch-tensorrt "
        "and tensorrt-rtx (default: the current one).",
    ),
    click.option(
        "--torch-wheel",
        metavar="DIR",
        help="Use the unpacked torch-tensorrt wheel in this folder instead of the installed one.",
    ),
    click.option(
        "--trust-pickle",
        is_flag=True,
        help="Allow --dry-build to call torch.export.load on a program. This call can run code from "
        "the file.",
    ),
)


def take_torch_options(options: dict[str, Any]) -> TorchOptions:
    """Take the Torch-TensorRT options out of ``options``, and return their values.

    ``--build`` is also removed if its value is a call of Torch-TensorRT or a script.

    Raises:
        SettingError: a script, program or option needs ``--torch-tensorrt``.
    """
    from trtlint.runs.torchinputs import require_release, torch_options_of

    names = ("torch_tensorrt", "torch_python", "torch_wheel", "trust_pickle")
    given = {name: options.pop(name) for name in names}
    found = torch_options_of(given, options["build"], as_option)
    require_release(options["paths"], found, as_option)
    if found.build is not None:
        options["build"] = None
    return found
