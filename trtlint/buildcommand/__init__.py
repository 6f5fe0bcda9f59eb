"""Read build commands: ``trtexec`` and ``tensorrt_rtx`` command lines, scripts, and Triton configurations.

This package reads no models, and uses no rules or targets. It converts a command line or configuration to
plain data. If it cannot read a value, such as an unexpanded shell variable, the value is unknown.
"""

from __future__ import annotations

from trtlint.buildcommand.command import BuildCommand, CommandError, Option
from trtlint.buildcommand.scan import choose_command, find_commands, read_commands

__all__ = [
    "BuildCommand",
    "CommandError",
    "Option",
    "choose_command",
    "find_commands",
    "read_commands",
]
