"""The options about Torch-TensorRT, and what their values become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trtlint.commands.arguments import bundle
from trtlint.policy.options import TorchOptions

torch_options = bundle(
    click.option(
        "--torch-tensorrt",
        metavar="VERSION",
        help="Release of Torch-TensorRT, such as 2.13: check calls in Python scripts, and programs (.pt2).",
    ),
    click.option(
        "--torch-python",
        metavar="PATH",
        help="Python with torch, the torch-tensorrt wheel and tensorrt-rtx, for --dry-build of a program "
        "(default: this one).",
    ),
    click.option(
        "--torch-wheel",
        metavar="DIR",
        help="Folder with an unpacked torch-tensorrt wheel to use in place of the installed one.",
    ),
    click.option(
        "--trust-pickle",
        is_flag=True,
        help="Allow --dry-build to load a program with torch.export.load, which can run code from the file.",
    ),
)


def take_torch_options(options: dict[str, Any]) -> TorchOptions:
    """Take the options about Torch-TensorRT out of all options, with a call that ``--build`` gives.

    Raises:
        click.UsageError: the release is not known, or there is none for what is given.
    """
    release = options.pop("torch_tensorrt")
    found = TorchOptions(
        release=release,
        python=options.pop("torch_python"),
        wheel=options.pop("torch_wheel"),
        trust_pickle=options.pop("trust_pickle"),
        build=_build(options, release),
    )
    if release is None:
        for path in options["paths"]:
            if path.lower().endswith((".py", ".pt2")):
                raise click.UsageError(f"{path}: give the release of Torch-TensorRT: --torch-tensorrt 2.13")
        for name, value in (("--torch-python", found.python), ("--torch-wheel", found.wheel)):
            if value is not None:
                raise click.UsageError(f"{name} needs --torch-tensorrt VERSION")
    return found


def _build(options: dict[str, Any], release: str | None) -> str | None:
    """Take a value of ``--build`` that is a call of Torch-TensorRT, or a script with such calls."""
    text: str | None = options["build"]
    if text is None or ("compile" not in text and not text.endswith(".py")):
        return None
    from trtlint.torch_tensorrt.calls import is_call

    script = text.endswith(".py") and release is not None and Path(text).is_file()
    if not script and not is_call(text):
        return None
    if release is None:
        raise click.UsageError(
            "--build holds a call of Torch-TensorRT: give its release, such as --torch-tensorrt 2.13"
        )
    options["build"] = None
    return text
