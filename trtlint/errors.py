"""The exceptions of trtlint, in a tree with one base.

=================================  ==========================================================================
:class:`TrtlintError`              the base of all
:class:`FileError`                 a model, a log, a measurement or another file that cannot be read or used
:class:`SettingError`              an option, a target, a rule or a configuration that is wrong
:class:`ArgumentError`             a wrong argument of the Python API
:class:`ExperimentError`           a dry build, a measurement or a comparison that cannot be made
``trtlint.CheckError``             the verdict of :func:`trtlint.check`
=================================  ==========================================================================

Each module defines the exceptions that it raises below one of these.  A message names the file, the place in
it, and the remedy.
"""

from __future__ import annotations


class TrtlintError(Exception):
    """The base of all exceptions of trtlint."""


class FileError(TrtlintError):
    """A file that cannot be read, written or used."""


class SettingError(TrtlintError, ValueError):
    """A setting that is wrong: an option, an argument, a target, a rule or a configuration."""


class ArgumentError(SettingError, TypeError):
    """A wrong argument of the Python API: one that does not exist, or a value of the wrong type or range."""

    @classmethod
    def of(cls, name: str, value: object, expected: str) -> ArgumentError:
        """Return the error about the value of one argument.

        Args:
            name: the argument.
            value: its value.
            expected: the values that are allowed, in words.
        """
        return cls(f"{name}={_shown(value)}: expected {expected}")


_LONGEST_SHOWN = 60
"""Characters of a wrong value that a message repeats."""


def _shown(value: object) -> str:
    """Return a value as a short text in one line; of a value with parts, its type."""
    if isinstance(value, str | bytes):
        text = repr(value[:_LONGEST_SHOWN])
        return text if len(value) <= _LONGEST_SHOWN else f"{text}..."
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int) and value.bit_length() < _LONGEST_SHOWN:
        return repr(value)
    return f"<{type(value).__name__}>"


class ExperimentError(TrtlintError):
    """An experiment that cannot be made: a dry build, a measurement, a comparison."""
