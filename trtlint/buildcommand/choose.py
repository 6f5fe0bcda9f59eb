"""Select the commands in a script that build a given model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath, PureWindowsPath

from trtlint.buildcommand.command import BuildCommand


def commands_for(model: Path, commands: Sequence[BuildCommand]) -> tuple[BuildCommand, ...]:
    """Return the commands that build a model, in order.

    The result is the first of these lists that is not empty:

    - the commands whose ``--onnx`` has the same file name as the model,
    - the commands whose ``--onnx`` is a shell variable,
    - the only command of the script, because the model may have another file name on the build machine.
    """
    builds = [command for command in commands if command.builds]
    named = [command for command in builds if _file_name(command.model) == model.name]
    open_ = [command for command in builds if command.model is None]
    if named or open_:
        return tuple(named or open_)
    return tuple(commands) if len(commands) == 1 else ()


def _file_name(path: str | None) -> str | None:
    if path is None:
        return None
    return PureWindowsPath(path).name if "\\" in path else PurePath(path).name
