"""Define the options for Torch-TensorRT, and convert their values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from trtlint.commands.arguments import bundle
from trtlint.errors import SettingError
from trtlint.knowledge.torchreleases import SCRIPTS, TorchRelease, TorchReleaseError, torch_release
from trtlint.policy.options import TorchOptions

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
    release = options.pop("torch_tensorrt")
    found = TorchOptions(
        release=None if release is None else _release(release),
        python=options.pop("torch_python"),
        wheel=options.pop("torch_wheel"),
        trust_pickle=options.pop("trust_pickle"),
        build=_build(options, release),
    )
    if release is None:
        for path in options["paths"]:
            if path.lower().endswith((*SCRIPTS, ".pt2")):
                raise SettingError(f"{path}: no Torch-TensorRT release is given; add --torch-tensorrt 2.13")
        for name, value in (("--torch-python", found.python), ("--torch-wheel", found.wheel)):
            if value is not None:
                raise SettingError(f"{name} needs --torch-tensorrt VERSION")
    return found


def _release(text: str) -> TorchRelease:
    try:
        return torch_release(text)
    except TorchReleaseError as error:
        raise SettingError(f"--torch-tensorrt: {error}") from None


def _build(options: dict[str, Any], release: str | None) -> str | None:
    """Remove ``--build`` from ``options`` if its value is a script or a call of Torch-TensorRT.

    Return the removed value.  Return None if ``--build`` is absent or remains in ``options``.
    """
    text: str | None = options["build"]
    if text is None:
        return None
    from trtlint.torch_tensorrt.pasted import is_call

    script = text.endswith(SCRIPTS) and release is not None and Path(text).is_file()
    if not script and not is_call(text):
        return None
    if release is None:
        raise SettingError(
            "--build: the text is a Torch-TensorRT call, which trtlint checks for one release; add for "
            "example --torch-tensorrt 2.13"
        )
    options["build"] = None
    return text
