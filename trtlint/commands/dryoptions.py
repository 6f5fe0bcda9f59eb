"""Define the options of a dry build, and convert their values."""

from __future__ import annotations

import re
from typing import Any

import click

from trtlint.commands.arguments import FiniteRange, bundle
from trtlint.commands.optiongroups import GroupedCommand
from trtlint.errors import SettingError
from trtlint.policy.options import INSTALLED, MOST_SECONDS, RELEASE, DryOptions, shapes_of_texts

_SIZE = re.compile(r"(?i)(\d{1,6}(?:\.\d{1,3})?)\s*(M|MB|G|GB)")

_BARE = ("--dry-build", "--compare")
"""Options that can be given without a value."""


class LintCommand(GroupedCommand):
    """A click command with the options ``--dry-build`` and ``--compare``, whose values are optional.

    Only a text after ``=`` is a value of such an option.  Without this rule, click would use a model path
    after the option as the value.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.  Without a value, ``--dry-build`` or ``--compare`` gets an empty string."""
        own = args.index("--") if "--" in args else len(args)
        whole = [f"{word}=" if word in _BARE else word for word in args[:own]]
        return super().parse_args(ctx, whole + args[own:])


def memory_size(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Parse a size such as ``4G`` or ``500M`` into bytes."""
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is not a size; write it like 4G or 500M")
    return int(float(found[1]) * (1 << (30 if found[2].upper().startswith("G") else 20)))


def release(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """Return the release of TensorRT-RTX in an option value. An empty string means the installed release."""
    if text not in (None, INSTALLED) and not RELEASE.fullmatch(text or ""):
        raise click.BadParameter(f"{text!r} is not a TensorRT-RTX version; write it like 1.7.1")
    return text


dry_options = bundle(
    click.option(
        "--dry-build",
        metavar="[=VERSION]",
        callback=release,
        help="Also run the parser and builder of TensorRT-RTX, without a GPU; `trtlint doctor` shows how to "
        "install them.",
    ),
    click.option(
        "--dry-parse",
        is_flag=True,
        help="Also run NVIDIA's parser, but not the builder; the parser needs no input shapes.",
    ),
    click.option(
        "--compare",
        multiple=True,
        metavar="[=FILE.npz|DIR|probe]",
        help="Compute the parsed network on the CPU, and compare each tensor with ONNX Runtime. Inputs: "
        "random (default), your files, or edge cases (probe). Repeatable.",
    ),
    click.option(
        "--no-dry-build", is_flag=True, help="Run no dry build, even if the configuration asks for one."
    ),
    click.option(
        "--rtx-path",
        metavar="DIR",
        help="Use the TensorRT-RTX packages that `pip install --target` installed in this folder.",
    ),
    click.option(
        "--shapes",
        multiple=True,
        metavar="NAME:1x3x224x224",
        help="Input shape for the dry build; unspecified inputs get a default shape; repeatable.",
    ),
    click.option(
        "--dry-build-seconds",
        type=FiniteRange(min=0, max=MOST_SECONDS, min_open=True),
        metavar="N",
        help="Time limit of one dry build in seconds (default: 120).",
    ),
    click.option(
        "--dry-build-memory",
        callback=memory_size,
        metavar="SIZE",
        help="Memory limit of one dry build, such as 16G (default: 8G).",
    ),
    click.option("--dry-build-logs", metavar="DIR", help="Write the log and result of each dry build here."),
)


def take_dry_options(options: dict[str, Any]) -> DryOptions:
    """Take the dry build options out of ``options``, and return their values.

    Raises:
        SettingError: two of these options contradict each other, or a shape is wrong.
    """
    version, parse, off = (options.pop(name) for name in ("dry_build", "dry_parse", "no_dry_build"))
    if off and (parse or version is not None):
        raise SettingError("--no-dry-build cannot be used with --dry-build or --dry-parse")
    compare = tuple(options.pop("compare"))
    if off and compare:
        raise SettingError("--no-dry-build cannot be used with --compare")
    if compare and version is None:
        parse = True
    if parse and version is None:
        version = INSTALLED
    return DryOptions(
        level="off" if off else "parse" if parse else None if version is None else "build",
        version=version,
        rtx_path=options.pop("rtx_path"),
        shapes=shapes_of_texts(options.pop("shapes"), "--shapes"),
        seconds=options.pop("dry_build_seconds"),
        memory=options.pop("dry_build_memory"),
        logs=options.pop("dry_build_logs"),
        compare=compare or None,
    )
