"""The exceptions of trtlint, in a tree with one base.

=================================  ==========================================================================
:class:`TrtlintError`              the base of all
:class:`FileError`                 a model, a log, a measurement or another file that cannot be read or used
:class:`SettingError`              an option, a target, a rule or a configuration that is wrong
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


class ExperimentError(TrtlintError):
    """An experiment that cannot be made: a dry build, a measurement, a comparison."""
