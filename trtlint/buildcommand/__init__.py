"""Build commands as input: ``trtexec`` and ``tensorrt_rtx`` command lines, alone or in scripts, and Triton.

Nothing here knows of models, rules or targets: a command line or a configuration is read into plain data,
and what it does not say - a shell variable that is not expanded - is unknown.
"""

from __future__ import annotations

from trtlint.buildcommand.choose import commands_for
from trtlint.buildcommand.command import BuildCommand, CommandError, Option
from trtlint.buildcommand.scan import find_commands, read_commands
from trtlint.buildcommand.triton import config_beside, read_config

__all__ = [
    "BuildCommand",
    "CommandError",
    "Option",
    "commands_for",
    "config_beside",
    "find_commands",
    "read_commands",
    "read_config",
]
