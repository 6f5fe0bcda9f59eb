"""The options of a dry build, and what their values become."""

from __future__ import annotations

import re
from typing import Any

import click

from trtlint.commands.arguments import bundle
from trtlint.commands.optiongroups import GroupedCommand
from trtlint.policy.options import INSTALLED, MOST_SECONDS, RELEASE, DryOptions

_SIZE = re.compile(r"(?i)(\d{1,6}(?:\.\d{1,3})?)\s*(M|MB|G|GB)")

_BARE = ("--dry-build", "--compare")
"""Options whose value may be left out."""


class LintCommand(GroupedCommand):
    """A command whose ``--dry-build`` and ``--compare`` have a value only behind ``=``: they eat no path."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse with the bare option as one that has an empty value."""
        own = args.index("--") if "--" in args else len(args)
        whole = [f"{word}=" if word in _BARE else word for word in args[:own]]
        return super().parse_args(ctx, whole + args[own:])


def memory_size(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """Bytes of ``4G`` or ``500M``."""
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise click.BadParameter(f"{text!r} is no size such as 4G or 500M")
    return int(float(found[1]) * (1 << (30 if found[2].upper().startswith("G") else 20)))


def release(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """Return the release of TensorRT-RTX that an option names, empty for the installed one."""
    if text not in (None, INSTALLED) and not RELEASE.fullmatch(text or ""):
        raise click.BadParameter(f"{text!r} is no release of TensorRT-RTX such as 1.7.1")
    return text


dry_options = bundle(
    click.option(
        "--dry-build",
        metavar="[=VERSION]",
        callback=release,
        help="Ask NVIDIA's parser and builder too, without a GPU: TensorRT-RTX, which pip install "
        "'trtlint[rtx]' brings.",
    ),
    click.option("--dry-parse", is_flag=True, help="Ask the parser alone, which needs no shapes."),
    click.option(
        "--compare",
        multiple=True,
        metavar="[=FILE.npz|DIR|probe]",
        help="Compute the parsed network on a CPU and compare it with ONNX Runtime, tensor by tensor: on "
        "made-up inputs, on yours, or on inputs that probe edge cases; repeatable.",
    ),
    click.option("--no-dry-build", is_flag=True, help="Ask neither, whatever the configuration says."),
    click.option(
        "--rtx-path",
        metavar="DIR",
        help="Folder with the wheels of another release, made with pip install --target.",
    ),
    click.option(
        "--shapes",
        multiple=True,
        metavar="NAME:1x3x224x224",
        help="What a dry build is for; inputs of which nothing is said get a likely shape; repeatable.",
    ),
    click.option(
        "--dry-build-seconds",
        type=click.FloatRange(min=0, max=MOST_SECONDS, min_open=True),
        metavar="N",
        help="Time that one dry build may take (default: 120).",
    ),
    click.option(
        "--dry-build-memory",
        callback=memory_size,
        metavar="SIZE",
        help="Memory that one dry build may take, such as 16G (default: 8G).",
    ),
    click.option("--dry-build-logs", metavar="DIR", help="Folder to leave its log and its result in."),
)


def take_dry_options(options: dict[str, Any]) -> DryOptions:
    """Take the options of a dry build out of all options.

    Raises:
        click.UsageError: they contradict each other.
    """
    version, parse, off = (options.pop(name) for name in ("dry_build", "dry_parse", "no_dry_build"))
    if off and (parse or version is not None):
        raise click.UsageError("--no-dry-build excludes --dry-build and --dry-parse")
    compare = tuple(options.pop("compare"))
    if off and compare:
        raise click.UsageError("--no-dry-build excludes --compare")
    if compare and version is None:
        parse = True
    if parse and version is None:
        version = INSTALLED
    return DryOptions(
        level="off" if off else "parse" if parse else None if version is None else "build",
        version=version,
        rtx_path=options.pop("rtx_path"),
        shapes=options.pop("shapes"),
        seconds=options.pop("dry_build_seconds"),
        memory=options.pop("dry_build_memory"),
        logs=options.pop("dry_build_logs"),
        compare=compare or None,
    )
