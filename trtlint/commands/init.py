"""``trtlint init``: write a configuration from a build command, from options, or from three questions."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click
from msgspec.structs import replace

from trtlint import __version__
from trtlint.buildcommand import read_commands
from trtlint.errors import SettingError
from trtlint.knowledge.releases import minors
from trtlint.policy.options import TargetOptions
from trtlint.policy.targets import targets_of
from trtlint.target.flags import Flag

_PRE_COMMIT = """\
# .pre-commit-config.yaml
repos:
  - repo: <URL of your copy of trtlint>
    rev: <commit>
    hooks:
      - id: trtlint
"""
_CI = """\
# .github/workflows/models.yml, a step of a job
      - run: trtlint models/ --output github --output sarif:trtlint.sarif

# .gitlab-ci.yml, a job
trtlint:
  script:
    - trtlint models/ --output full --output gitlab:gl-code-quality-report.json
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""
_BUILD = """\
# {file} has the precision of the build command, but not the command itself.
# To check the command too, add this option to each trtlint command above:
#   --build {quoted}
# For the hook, add this line below its id:
#   args: {args}

"""
_BASELINE = """\
# To accept the present findings, so that only new errors make the command fail:
#   trtlint models/ --write-baseline baseline.json
# Then add this line to {file}. The step, the job and the hook above read this file:
baseline = "baseline.json"
# To fail on all new findings, add this line too:
fail-on = "note"
"""


def run_init(target: TargetOptions, build: str | None, output: str) -> int:
    """Write the configuration, print how to use it, and return the exit code.

    Raises:
        SettingError: ``output`` exists already, the user gave no option about the build, or the value of an
            option is unknown.
    """
    file = Path(output)
    if file.exists() or file.is_symlink():
        raise SettingError(f"{file}: the file exists, and trtlint init does not replace it; use -o FILE")
    target = _completed(target, build)
    if target == TargetOptions():
        if not sys.stdin.isatty():
            raise SettingError(
                "nothing to write: give options such as --trt, --gpu and --fp16, or --build COMMAND|FILE"
            )
        target = _asked()
    targets_of(target)
    text = configuration(target)
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(text)
    except OSError as error:
        raise SettingError(f"{file}: cannot be written: {error.strerror}") from None
    accepted, command = _BASELINE.format(file=file), ""
    if build is not None:
        args = json.dumps(["--build", build, "--"])
        command = _BUILD.format(file=file, quoted=shlex.quote(build), args=args)
    click.echo(
        f"{file}:\n\n{text}\nLint with it: trtlint MODEL...\n\n{_PRE_COMMIT}\n{_CI}\n{command}{accepted}",
        nl=False,
    )
    return 0


def configuration(target: TargetOptions) -> str:
    """Return the text of a ``trtlint.toml`` for one target."""
    pairs = [(key, _toml(found)) for key, found in (("trt", target.trt), ("rtx", target.rtx)) if found]
    if target.gpu is not None:
        pairs.append(("gpu", json.dumps(target.gpu)))
    pairs += ((flag, json.dumps(value)) for flag, value in target.flags)
    # The target is an inline table, so a line that the user adds below it becomes a key of the file.
    table = ", ".join(f"{key} = {value}" for key, value in pairs)
    lines = [
        f"# Written by trtlint init {__version__}. See trtlint --show-settings MODEL.",
        f"target = {{ {table} }}",
    ]
    if target.plugins:
        lines.append(f"# plugins = {json.dumps(list(target.plugins))}")
    return "\n".join(lines) + "\n"


def _toml(values: Sequence[str]) -> str:
    return json.dumps(values[0] if len(values) == 1 else list(values))


def _completed(target: TargetOptions, build: str | None) -> TargetOptions:
    """Return the target options.  Unset flags are filled from the build command.

    If ``build`` contains several commands, the first one is used.
    """
    commands = read_commands(build)
    if not commands:
        return target
    flags: dict[Flag, bool] = {
        flag: on for flag in get_args(Flag) if (on := commands[0].switches.get(flag)) is not None
    }
    flags.update(target.flags)
    return replace(target, flags=tuple(flags.items()))


def _asked() -> TargetOptions:
    """Ask the user three questions about the target.  An empty answer leaves an option unset."""
    newest = minors("tensorrt")[-1]
    version = click.prompt("TensorRT version", default=newest)
    gpu = click.prompt("GPU (such as L4, RTX 4090 or sm89; empty for any)", default="", show_default=False)
    half = click.confirm("Do you build with --fp16", default=True)
    return TargetOptions((version,), (), gpu or None, (("fp16", half),), None)
