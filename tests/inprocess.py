"""The trtlint command, run in the test process to save start-up time."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from trtlint.cli import run


class Printed(NamedTuple):
    """Exit code and output streams of a command."""

    code: int
    out: str
    err: str


def printed(folder: Path, *arguments: str) -> Printed:
    """Run the command in a folder, with UTF-8 streams instead of a terminal."""
    raw = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("COLUMNS", "80")
        out, err = (io.TextIOWrapper(each, encoding="utf-8", write_through=True) for each in raw)
        with redirect_stdout(out), redirect_stderr(err):
            code = run(arguments)
        return Printed(code, *(each.getvalue().decode("utf-8") for each in raw))
