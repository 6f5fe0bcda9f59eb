"""Progress bar on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from multiprocessing import parent_process
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

_Item = TypeVar("_Item")
_PATIENCE = 0.5
"""Seconds before a bar is shown; many runs end earlier."""
_LONG = 2.0
"""Seconds before a bar is shown for one long task."""
_INTERVAL = 0.1
"""Seconds between two updates of the bar."""


def with_progress(items: Iterable[_Item], total: int) -> Iterator[_Item]:
    """Yield the items with a progress bar that counts them.

    There is no bar unless standard error is a terminal and there are several items.
    """
    if total < 2 or not sys.stderr.isatty():
        yield from items
        return
    bar = _Bar(total)
    try:
        for item in items:
            bar.before()
            yield item
            bar.after()
    finally:
        bar.close()


class _Bar:
    """A bar that is hidden while the caller uses an item, if that may write to the same terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._next = time.monotonic() + _PATIENCE
        self._shared = sys.stdout.isatty()
        self._progress: Progress | None = None

    def before(self) -> None:
        if self._shared and self._progress is not None:
            self._progress.stop()

    def after(self) -> None:
        self._done += 1
        now = time.monotonic()
        if self._progress is None and now >= self._next:
            self._progress = _progress()
            self._progress.add_task("linting", total=self._total)
            if not self._shared:
                self._progress.start()
        if self._progress is None:
            return
        self._progress.update(self._progress.task_ids[0], completed=self._done)
        if self._shared:
            self._progress.start()
        elif now >= self._next:
            self._progress.refresh()
            self._next = now + _INTERVAL

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    # The bar is updated only between two items: this needs no thread, and standard output stays intact.
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


class Share:
    """Progress bar of one long task whose progress is known.

    There is no bar unless standard error is a terminal.

    Args:
        label: the task.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._from = time.monotonic() + _LONG
        self._next = 0.0
        self._progress: Progress | None = None
        self._wanted = sys.stderr.isatty() and parent_process() is None

    def __call__(self, share: float) -> None:
        """Update the bar, if the task takes long."""
        now = time.monotonic()
        if not self._wanted or now < self._from or now < self._next:
            return
        self._next = now + _INTERVAL
        if self._progress is None:
            self._progress = _progress()
            self._progress.add_task(self._label, total=100)
            self._progress.start()
        self._progress.update(self._progress.task_ids[0], completed=round(100 * share))
        self._progress.refresh()

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()
