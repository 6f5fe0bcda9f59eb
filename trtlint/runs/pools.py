"""Open executors that run jobs: processes of this machine, or the workers of a Dask cluster.

Both kinds of executor have the interface of :class:`concurrent.futures.Executor`, so callers need not
distinguish the two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from trtlint import __version__
from trtlint.errors import SettingError
from trtlint.files.problem import reason_of
from trtlint.knowledge.extras import how_to_install
from trtlint.runs.start import begin

if TYPE_CHECKING:
    from concurrent.futures import Executor

SCHEME = "dask://"
_MOST_PROCESSES = 60
"""Largest number of processes that Windows can wait for.

https://docs.python.org/3/library/concurrent.futures.html
"""
_SECONDS_TO_CONNECT = 10
_SAFE_PATH = "PYTHONSAFEPATH"


class Pool(Struct, frozen=True):
    """An executor, and the number of jobs that it runs at once."""

    executor: Executor
    width: int
    has_workers: Callable[[], bool] = lambda: True
    """Function that returns whether the executor has workers, or can start some."""


Pools = Callable[[int], AbstractContextManager[Pool]]
"""Function that opens a pool.  Its argument is the largest number of workers."""


def cores() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def processes(most: int) -> Iterator[Pool]:
    """Return a context manager that starts at most ``most`` worker processes on this machine.

    The processes are spawned instead of forked, because NumPy runs threads.  If such a thread holds a lock
    during a fork, the child can never acquire this lock.
    https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods

    The workers create their temporary files in one folder, which is deleted at the end. After an exception,
    this can be before a running job has ended.
    """
    import multiprocessing  # here, because most runs lint one file and need no pool
    from concurrent.futures import ProcessPoolExecutor

    width = max(1, min(most, _MOST_PROCESSES))
    with _safe_path(), _folder() as folder:
        try:
            executor = ProcessPoolExecutor(
                width, multiprocessing.get_context("spawn"), initializer=begin, initargs=(folder,)
            )
        except (OSError, ImportError, NotImplementedError) as error:  # a system without semaphores
            reason = f"this system does not support worker processes: {reason_of(error)}"
            raise SettingError(f"{reason}; use -j 1") from None
        waits = False
        try:
            yield Pool(executor, width)
            waits = True
        finally:
            # A signal may have left the lock of a future taken. The thread of the executor then waits for
            # the lock, and a wait for this thread would never end. The workers end with this process.
            executor.shutdown(wait=waits, cancel_futures=True)


@contextmanager
def _folder() -> Iterator[str]:
    """Return a context manager for a temporary folder.

    The path is empty if no temporary folder is writable. Most jobs need no temporary files.
    """
    import tempfile

    try:
        folder = tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True)
    except OSError:
        yield ""
        return
    with folder as path:
        yield path


@contextmanager
def _safe_path() -> Iterator[None]:
    """Return a context manager that protects new processes from code in the current folder.

    Without this protection, a new process could import a module ``multiprocessing`` from the current folder.
    The current folder may be an untrusted checkout.

    https://docs.python.org/3/using/cmdline.html#envvar-PYTHONSAFEPATH
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        with _isolated() if sys.version_info < (3, 11) else nullcontext():
            yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


@contextmanager
def _isolated() -> Iterator[None]:
    """Return a context manager that starts new processes of Python 3.10 in isolated mode.

    Python 3.10 lacks ``PYTHONSAFEPATH``.  Isolated mode ignores environment variables such as
    ``PYTHONPATH``, so the parent process sends the module paths.
    https://github.com/python/cpython/blob/v3.10.13/Lib/multiprocessing/spawn.py
    """
    util: Any = import_module("multiprocessing.util")
    before = util._args_from_interpreter_flags
    flags = [*before(), "-I", *(("-X", "utf8") if sys.flags.utf8_mode else ())]
    util._args_from_interpreter_flags = lambda: flags
    try:
        yield
    finally:
        util._args_from_interpreter_flags = before


def dask(address: str) -> Pools:
    """Return a function that opens an executor on a Dask cluster, with the package ``distributed``.

    The workers read files and rule folders from the same paths as this process.
    https://distributed.dask.org/en/stable/client.html#concurrent-futures-api

    Args:
        address: the scheduler as ``dask://host:port``.

    Raises:
        SettingError: ``distributed`` is not installed.
    """
    try:
        # The functions of distributed have no annotations.
        Client: Any = import_module("distributed").Client  # noqa: N806
    except ImportError:
        raise SettingError(
            f"{SCHEME} requires the Python package `distributed`; run {how_to_install('dask')}"
        ) from None

    @contextmanager
    def cluster(_most: int) -> Iterator[Pool]:
        try:
            client = Client(f"tcp://{address.removeprefix(SCHEME)}", timeout=_SECONDS_TO_CONNECT)
        except (OSError, ValueError) as error:
            reason = " ".join(reason_of(error).split())
            raise SettingError(f"{address} cannot be reached: {reason}") from None
        with client:
            _require_same_version(address, client.run(_version, on_error="return"))
            executor = client.get_executor(pure=False)
            try:
                yield Pool(executor, sum(client.nthreads().values()), lambda: _has_workers(client))
            finally:
                executor.shutdown(wait=False)

    return cluster


def _has_workers(client: Any) -> bool:
    """Return whether a cluster has workers.  If the scheduler does not answer, the result is False."""
    try:
        return client.status == "running" and bool(client.nthreads())
    except Exception:  # noqa: BLE001 - comm errors, timeouts and errors of the scheduler
        return False


def _version() -> str:
    return __version__


def _require_same_version(address: str, versions: dict[str, object]) -> None:
    """Check that a cluster has workers, and that all of them have this version of trtlint."""
    if not versions:
        raise SettingError(f"{address} has no workers")
    for worker, version in versions.items():
        if isinstance(version, Exception):
            raise SettingError(f"{address}: the worker {worker} cannot import trtlint ({version})")
        if version != __version__:
            raise SettingError(f"{address}: the worker {worker} has trtlint {version}, not {__version__}")
