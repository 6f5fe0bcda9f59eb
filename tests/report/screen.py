"""Output streams for tests of reports."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def stream(width: int | None = None) -> Iterator[io.StringIO]:
    """Yield a terminal without colours, with ``width`` columns. If ``width`` is None, yield a file."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        if width is not None:
            patch.setattr(out, "isatty", lambda: True)
            for name, value in {"TERM": "dumb", "COLUMNS": str(width), "LINES": "25"}.items():
                patch.setenv(name, value)
        yield out
