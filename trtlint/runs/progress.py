"""Show a progress bar on standard error, if a person watches a terminal.

A thread draws the bar, so that the bar moves during a long step.  Forked children do not inherit the locks of
this thread.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_Item = TypeVar("_Item")
_PATIENCE = 0.3
"""Seconds before the bar is shown. Many runs end within this time."""
_INTERVAL = 0.1
"""Seconds between two updates of the bar."""


class Activity:
    """A progress bar for one long activity, for use in a ``with`` statement.

    Args:
        label: the name of the activity.
        total: the number of items; None if unknown.
    """

    current: Activity | None = None
    """The running activity of this process."""

    def __init__(self, label: str, total: int | None = None) -> None:
        self._label = label
        self._total = total if total is not None and total > 1 else None
        self._progress: Progress | None = None
        self._task: TaskID
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._due = self._hidden = self._ended = False
        self._next = 0.0

    def __enter__(self) -> Activity:
        """Show the bar after a short delay, if standard error is a terminal and there is no other bar."""
        if Activity.current is not None or not _wanted():
            return self
        Activity.current = self
        self._progress = _progress(counted=self._total is not None)
        self._task = self._progress.add_task(self._label, total=self._total)
        if _PATIENCE > 0:
            self._timer = threading.Timer(_PATIENCE, self._begin)
            self._timer.daemon = True
            self._timer.start()
        else:
            self._begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        """Remove the bar."""
        if self._progress is None:
            return
        Activity.current = None
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._ended = True
            self._progress.stop()

    def _begin(self) -> None:
        with self._lock:
            self._due = True
            if self._progress is not None and not self._hidden and not self._ended:
                self._progress.start()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Return a context manager that hides the bar while the caller writes to standard output.

        If standard output is not a terminal, the bar stays.
        """
        if self._progress is None or not sys.stdout.isatty():
            yield
            return
        with self._lock:
            self._hidden = True
            if self._due:
                self._progress.stop()
        try:
            yield
        finally:
            with self._lock:
                self._hidden = False
                if self._due and not self._ended:
                    self._progress.start()

    def step(self, label: str | None = None, share: float | None = None) -> None:
        """Show the name of the current step on the bar.

        Args:
            label: the name of the step; None for the activity as a whole.
            share: the finished share of the work, 0 to 1, for an activity with a single item.
        """
        if self._progress is None:
            return
        self._progress.update(self._task, description=label or self._label)
        if share is not None and self._total is None:
            self._progress.update(self._task, total=1.0, completed=share)
        now = time.monotonic()
        if self._due and not self._hidden and now >= self._next:
            self._next = now + _INTERVAL
            self._progress.refresh()

    def advance(self) -> None:
        """Count one more finished item."""
        if self._progress is not None and self._total is not None:
            self._progress.advance(self._task)


def _wanted() -> bool:
    """Return whether a person probably watches standard error, so that a progress bar is useful.

    Checking for a terminal is not enough, because some CI systems run commands in a terminal.
    """
    if not sys.stderr.isatty():
        return False
    from multiprocessing import parent_process  # here, because most runs have no terminal

    return (
        parent_process() is None
        and os.environ.get("TERM") != "dumb"
        and os.environ.get("CI", "") in ("", "0", "false")
    )


def step(label: str | None) -> None:
    """Show the name of the current step on the progress bar, if a bar is visible."""
    if Activity.current is not None:
        Activity.current.step(label)


def with_progress(
    items: Iterable[_Item],
    total: int | None,
    label: str = "linting",
    name: Callable[[int], str] | None = None,
) -> Iterator[_Item]:
    """Yield the items, and show a progress bar that counts them.

    Args:
        items: the items.
        total: the number of items; None if unknown.
        label: the name of the activity, such as ``linting``.
        name: function that returns the name of the item with a given index, from 0.
    """
    with Activity(label, total) as activity:
        iterator = iter(items)
        for index in range(sys.maxsize):
            activity.step(f"{label} {name(index)}" if name is not None and (total or 0) > index else None)
            try:
                item = next(iterator)
            except StopIteration:
                return
            with activity.hidden():
                yield item
            activity.advance()


def _progress(*, counted: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    # Names in a model are arbitrary text, so a description is no markup.
    label = TextColumn("{task.description}", markup=False)
    return Progress(
        label,
        BarColumn(),
        *([MofNCompleteColumn()] if counted else []),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


class Share:
    """A long step of the current activity. The progress bar shows its finished share.

    Args:
        label: the name of the step.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._next = 0.0

    def __call__(self, share: float) -> None:
        """Show the finished share, 0 to 1, on the bar."""
        now = time.monotonic()
        if Activity.current is None or now < self._next:
            return
        self._next = now + _INTERVAL
        Activity.current.step(self._label, share)

    def close(self) -> None:
        """End the step."""
        step(None)
