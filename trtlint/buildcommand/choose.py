"""Select the commands in a script that build a given model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from trtlint.buildcommand.command import BuildCommand, file_name
from trtlint.buildcommand.triton import config_beside, read_config


def choose_command(
    model: Path, commands: Sequence[BuildCommand], notify: Callable[[str], None]
) -> BuildCommand | None:
    """Return the command that builds a model, or None if no command matches.

    If ``commands`` is empty and the model is in a Triton model repository, the command comes from the
    ``config.pbtxt`` of the repository.

    Args:
        model: the path of the model.
        commands: the build commands that the user gives.
        notify: function that shows a warning to the user. It is called if no command or several commands
            match.

    Raises:
        CommandError: the ``config.pbtxt`` cannot be read.
    """
    if not commands:
        config = config_beside(model)
        return None if config is None else read_config(config)
    found = commands_for(model, commands)
    if not found:
        notify(f"warning: no build command in the given file has --onnx={model.name}")
    if len(found) > 1:
        others = ", ".join(str(command.line) for command in found[1:])
        also = f"lines {others} also match" if len(found) > 2 else f"line {others} also matches"
        notify(f"warning: using {found[0].place or 'the first command'} for {model.name}; {also}")
    return found[0] if found else None


def commands_for(model: Path, commands: Sequence[BuildCommand]) -> tuple[BuildCommand, ...]:
    """Return the commands that build a model, in order.

    The result is the first of these lists that is not empty:

    - the commands whose ``--onnx`` has the same file name as the model,
    - the commands whose ``--onnx`` is a shell variable,
    - the only command of the script, whatever file it names. The model may have another file name on the
      build machine.
    """
    builds = [command for command in commands if command.builds]
    named = [command for command in builds if file_name(command.model or "") == model.name]
    open_ = [command for command in builds if command.model is None]
    if named or open_:
        return tuple(named or open_)
    return tuple(commands) if len(commands) == 1 else ()
