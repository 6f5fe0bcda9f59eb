"""Build commands as input: ``trtexec`` and ``tensorrt_rtx`` command lines, alone or in scripts.

Nothing here knows of models, rules or targets: a command line is read into plain data, and what it
does not say - a shell variable that is not expanded - is unknown.
"""

from __future__ import annotations

from trtlint.buildcommand.choose import commands_for
from trtlint.buildcommand.command import BuildCommand, CommandError, Option
from trtlint.buildcommand.scan import find_commands, read_commands

__all__ = ["BuildCommand", "CommandError", "Option", "commands_for", "find_commands", "read_commands"]
