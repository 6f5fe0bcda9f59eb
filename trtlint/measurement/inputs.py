"""Input files that a user names for running a model."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from trtlint.errors import SettingError
from trtlint.files.regular import open_regular

_USUAL_FUNCTION = "load_data"
"""Default function of a script, as in Polygraphy."""


class InputsError(SettingError):
    """Error: the inputs of a model cannot be used. The message names the inputs and the reason."""


class Inputs(Struct, frozen=True):
    """The input files that the user names.  Without files, inputs are generated.

    Attributes:
        files: ``.npz`` files, one batch each.
        lists: files that ``polygraphy run --save-inputs`` wrote.
        script: ``file.py:function``, a data loader script, with the same conventions as in Polygraphy.
    """

    files: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    script: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the files and the script, as the user named them."""
        return (*self.files, *self.lists, *(() if self.script is None else (self.script,)))

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of the files, including the file of the script."""
        script = () if self.script is None else (script_of(self.script)[0],)
        return (*self.files, *self.lists, *script)

    @property
    def absolute(self) -> Inputs:
        """Return the inputs with absolute paths, for a process in another folder."""
        script = None if self.script is None else _absolute(self.script)
        return Inputs(tuple(map(_absolute, self.files)), tuple(map(_absolute, self.lists)), script)

    def require(self) -> None:
        """Check that the files can be read, before any work starts.

        Raises:
            InputsError: a file cannot be read.
        """
        for file in self.paths:
            try:
                open_regular(Path(file)).close()
            except OSError as error:  # noqa: PERF203 - the message names the file
                raise InputsError(f"{file}: {error.strerror or error}") from None

    def named(self, text: str) -> str:
        """Replace absolute paths in an error message by the names that the user gave."""
        files = () if self.script is None else (script_of(self.script)[0],)
        for name in (*self.names, *files):
            text = text.replace(_absolute(name), name)
        return text


def script_of(name: str) -> tuple[str, str]:
    """Split ``file.py:function`` into file and function.  The default function is ``load_data``.

    >>> script_of("loader.py"), script_of("loader.py:batches")
    (('loader.py', 'load_data'), ('loader.py', 'batches'))
    """
    file, _, function = name.rpartition(":") if ".py:" in name else (name, "", _USUAL_FUNCTION)
    return file, function


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - links and `:function` stay
