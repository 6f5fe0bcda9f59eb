"""The inputs that a user names for a trial."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trtlint.errors import SettingError
from trtlint.files.regular import open_regular
from trtlint.lean import dataclass

_USUAL_FUNCTION = "load_data"
"""As in Polygraphy."""


class InputsError(SettingError):
    """Inputs that cannot be used; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the user wants a model run on; made-up inputs where there is nothing.

    Attributes:
        files: ``.npz`` files, one batch each.
        lists: files that ``polygraphy run --save-inputs`` wrote.
        script: ``file.py:function``, Polygraphy's data loader script.
    """

    files: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    script: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, as the user named them."""
        return (*self.files, *self.lists, *(() if self.script is None else (self.script,)))

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of all of them; of a script, the file without the function."""
        script = () if self.script is None else (script_of(self.script)[0],)
        return (*self.files, *self.lists, *script)

    @property
    def request(self) -> dict[str, Any]:
        """They as JSON data for a process with another current folder."""
        script = None if self.script is None else _whole([self.script])[0]
        return {"files": _whole(self.files), "lists": _whole(self.lists), "script": script}

    def require(self) -> None:
        """Look whether the files are there, before work is done that needs them.

        Raises:
            InputsError: one cannot be read.
        """
        for file in self.paths:
            try:
                open_regular(Path(file)).close()
            except OSError as error:  # noqa: PERF203 - each has its own
                raise InputsError(f"{file}: {error.strerror or error}") from None

    def named(self, text: str) -> str:
        """A text of that process with files as the user named them."""
        files = () if self.script is None else (script_of(self.script)[0],)
        for name in (*self.names, *files):
            text = text.replace(_whole([name])[0], name)
        return text


def script_of(name: str) -> tuple[str, str]:
    """The file and the function of ``file.py:function``.

    >>> script_of("loader.py"), script_of("loader.py:batches")
    (('loader.py', 'load_data'), ('loader.py', 'batches'))
    """
    file, _, function = name.rpartition(":") if ".py:" in name else (name, "", _USUAL_FUNCTION)
    return file, function


def _whole(paths: Sequence[str]) -> list[str]:
    return [os.path.abspath(path) for path in paths]  # noqa: PTH100 - links and `:function` stay
