"""Define the exceptions of trtlint, which have a common base class.

- :class:`TrtlintError`: base class of all exceptions
- :class:`FileError`: a model, a log, a measurement or another file cannot be read or used
- :class:`SettingError`: an option, a target, a rule or a configuration is wrong
- :class:`ArgumentError`: an argument of the Python API is wrong
- :class:`ExperimentError`: a dry build, a measurement or a comparison failed
- ``trtlint.CheckError``: :func:`trtlint.check` found problems

The exceptions of all modules derive from these classes.  A message names the file, the position in the file,
and the remedy.

Three exceptions also have a base class of Python, so that handlers of the base class catch them:

- :class:`SettingError` is a ``ValueError``, and :class:`ArgumentError` is also a ``TypeError``. Python raises
  these exceptions for wrong arguments.
- :class:`~trtlint.files.regular.IrregularError` is an ``OSError``. The system raises this exception for files
  that it cannot open.
"""

from __future__ import annotations


class TrtlintError(Exception):
    """Base class of all exceptions of trtlint."""


class FileError(TrtlintError):
    """Error: a file cannot be read, written or used."""


class SettingError(TrtlintError, ValueError):
    """Error: a setting is wrong, such as an option, an argument, a target, a rule or a configuration."""


class ArgumentError(SettingError, TypeError):
    """Error: an argument of the Python API has a wrong name, type or value."""

    @classmethod
    def of(cls, name: str, value: object, expected: str) -> ArgumentError:
        """Return the error for a wrong value of one argument.

        Args:
            name: name of the argument.
            value: the wrong value.
            expected: the allowed values, in words.
        """
        return cls(f"{name}={_shown(value)}: expected {expected}")


_LONGEST_SHOWN = 60
"""Largest number of characters of a wrong value that an error message shows."""


def _shown(value: object) -> str:
    """Format a value as one short line for an error message.  For a container, only the type is shown."""
    if isinstance(value, str | bytes):
        text = repr(value[:_LONGEST_SHOWN])
        return text if len(value) <= _LONGEST_SHOWN else f"{text}..."
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int) and value.bit_length() < _LONGEST_SHOWN:
        return repr(value)
    return f"<{type(value).__name__}>"


class ExperimentError(TrtlintError):
    """Error: an experiment failed, such as a dry build, a measurement or a comparison."""
