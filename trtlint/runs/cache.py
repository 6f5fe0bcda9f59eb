"""Cache lint results for later runs.

The name of an entry is a digest of all data that the result depends on: the content of the model, the
targets, the files of the active rules, and trtlint itself. External data files are an exception, because
trtlint knows their names only after it has read the model. So the entry lists these files, and
:meth:`Cache.find` checks that they are unchanged.

trtlint identifies a file of up to 64 MB by its content, so that two clones of a repository share results.
Hashing a larger file would take longer than linting, because linting does not read the weights.  So trtlint
identifies a larger file by path, size, times and inode, and lints the file again after a ``touch``.

An entry is a checksum, followed by JSON (never a pickle). trtlint writes an entry to a temporary file, which
then replaces the old entry. So concurrent runs see only complete entries. A damaged entry is ignored. The
checksum does not protect against attacks, because everyone who can write to the folder can forge results.
Therefore the folder belongs to the user, and trtlint never uses a cache in a checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trtlint.case import Case
from trtlint.engine.finding import ModelReport
from trtlint.errors import TrtlintError
from trtlint.files.beside import real_file
from trtlint.files.regular import read_bytes
from trtlint.runs import cachefolder
from trtlint.runs.job import Job, Store

ENVIRONMENT = "TRTLINT_CACHE_DIR"
"""Environment variable with the default cache folder. A cache option such as ``--cache-dir`` overrides it."""

LARGE = 64 << 20
"""Files above this size, in bytes, are identified by their status instead of their content."""
_UNSETTLED = 2_000_000_000
"""Two changes of a file within this number of nanoseconds may have the same time stamp."""

_ELSEWHERE = "elsewhere"
"""Identity of an external data file outside of the model's folder. Such a file is not read."""

_LARGEST_ENTRY = 64 << 20
_MOST_BYTES = 256 << 20
_LONGEST_UNUSED = 30 * 24 * 3600
_SWEEP_EVERY = 24 * 3600


class UncertainError(TrtlintError):
    """Error: a file cannot be identified for certain.

    For example, the file was changed just now, so a further change might not alter its size and times.
    """


class _KeptResult(Struct, frozen=True):
    """A cached result, with the identities of the external data files that the result depends on.

    Attributes:
        companions: the identity of each external data file, by the name of the file in the model.
        reports: the result.
    """

    companions: dict[str, str]
    reports: tuple[ModelReport, ...]


def folder() -> Path | None:
    """Return the cache folder of the user, or None if the system has no such folder.

    Links to other folders are followed.
    """
    if named := os.environ.get(ENVIRONMENT):
        return Path(os.path.realpath(named))
    # https://specifications.freedesktop.org/basedir-spec/latest/
    home = Path(os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", ""))
    if not home.is_absolute():
        home = Path(os.path.expanduser("~/.cache"))  # noqa: PTH111 - Path.expanduser raises without a home
    return Path(os.path.realpath(home / "trtlint")) if home.is_absolute() else None


class Cache:
    """The cached results in one folder.  The folder may not exist yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow links
        self.usable = cachefolder.may_be_cache(self._folder)
        """True if the folder is a cache, or is missing or empty. trtlint does not touch other folders."""

    def place(self, job: Job) -> Store | None:
        """Return the cache entry for a job's result, or None if the model cannot be identified."""
        try:
            case = job.case
            built = msgspec.to_builtins((case.built_for, case.command), order="deterministic")
            before = stamp(case.path) if case.address is None else ()
            key = digest(json.dumps([program(), case.applicable.digest, built, known_of(case)]).encode())
        except (OSError, ValueError, UncertainError):
            return None
        return Store(cachefolder.entry_in(self._folder, key), before)

    def find(self, job: Job, store: Store) -> tuple[ModelReport, ...] | None:
        """Return the cached reports for a job.

        Return None if the cache has no reports for the job, or if the reports are out of date.
        """
        data = read(store.entry)
        if data is None:
            return None
        try:
            entry = msgspec.json.decode(data, type=_KeptResult)
            if any(companion(job.case.path, name) != known for name, known in entry.companions.items()):
                return None
        except (ValueError, RecursionError, UncertainError):
            return None
        return entry.reports

    def sweep(self) -> None:
        """Delete entries that no run has used for 30 days.  Do so at most once a day.

        If the cache is still too large, delete the least recently used entries too.
        """
        tag = self._folder / cachefolder.TAG
        try:
            if time.time() - tag.lstat().st_mtime < _SWEEP_EVERY or not cachefolder.is_cache(self._folder):
                return
            os.utime(tag)
            files = list(cachefolder.files_in(self._folder))
        except OSError:
            return
        found = [(status.st_mtime, status.st_size, file) for file, status in files]
        room = _MOST_BYTES
        for used, size, file in sorted(found, reverse=True):
            room -= size
            if room < 0 or time.time() - used > _LONGEST_UNUSED:
                with suppress(OSError):
                    file.unlink()


def keep(store: Store, model: Path, reports: Sequence[ModelReport]) -> None:
    """Cache the result of linting a model.

    Nothing is cached if the model has changed since it was linted, or could not be read.
    """
    if any(report.errors for report in reports):
        return
    try:
        names = dict.fromkeys(name for report in reports for name in report.data_files)
        companions = {name: companion(model, name) for name in names}
        if store.model and stamp(model) != store.model:
            return
        nameless = tuple(replace(report, path="") for report in reports)
        write(store.entry, msgspec.json.encode(_KeptResult(companions, nameless)))
    except (OSError, ValueError, UncertainError):
        # The disk is full, the folder is no cache, or a name is not Unicode. The next run lints again.
        return


def stamp(path: Path) -> tuple[int, ...]:
    """Return device, inode, size and times of a file.

    If the file changes, at least one of these values changes.

    Raises:
        OSError: there is no such file.
    """
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest(data: bytes) -> str:
    """Return a hash of some bytes, for the name of a cache entry."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


@cache
def program() -> list[str]:
    """Return data that identify this version of trtlint: its release, and the release of ONNX.

    In a checkout, the sizes and times of trtlint's files are included.
    """
    from trtlint import __version__

    package = Path(__file__).parents[1]
    installed = not (package.parent / "pyproject.toml").exists()
    files = sorted(
        (str(file.relative_to(package)), file.stat().st_size, file.stat().st_mtime_ns)
        for pattern in (() if installed else ("*.py", "*.yaml"))
        for file in package.rglob(pattern)
    )
    return [__version__, metadata.version("onnx"), digest(json.dumps(files).encode())]


def known_by(path: Path) -> str:
    """Return an identity of a file.

    The identity is a digest of the content.  For a large file, the identity is a digest of path, device,
    inode, size and times.

    Raises:
        OSError: the file cannot be read.
        UncertainError: the file is not regular, or was changed just now, so that a further change may not be
            visible.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UncertainError
    if status.st_size <= LARGE:
        return digest(read_bytes(path, LARGE))
    if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < _UNSETTLED:
        raise UncertainError
    return digest(json.dumps([os.path.realpath(path), *stamp(path)]).encode())


def known_of(case: Case) -> str:
    """Return an identity of a model.

    The identity of a remote model is its version on the server. For a local model, see :func:`known_by`.

    Raises:
        OSError: the model cannot be read.
        UncertainError: the model cannot be identified for sure.
    """
    if case.address is None:
        return known_by(case.path)
    from trtlint.remote.file import version_of

    version = version_of(case.address)
    if not version:
        raise UncertainError
    return f"{case.address.url} {version}"


def revision(case: Case) -> str:
    """Return the revision of a model for reports, or an empty string if it cannot be determined.

    The revision of a local model is a digest. If the model is large, the revision is the size and the
    modification time of the file.  The revision of a remote model is its version on the server.
    """
    try:
        if case.address is not None:
            return known_of(case).partition(" ")[2]
        status = case.path.stat()
        return known_by(case.path) if status.st_size <= LARGE else f"{status.st_size}-{status.st_mtime_ns}"
    except (OSError, ValueError, UncertainError):
        return ""


def companion(model: Path, name: str) -> str:
    """Return the identity of a file that a model names, or an empty string if the file is missing.

    ``name`` is the path of the file, relative to the folder of the model.

    Raises:
        UncertainError: the file was changed just now.
    """
    try:
        file = real_file(model.parent, name, model)
        return _ELSEWHERE if file is None else known_by(file)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return ""


def read(entry: Path) -> bytes | None:
    """Return the data of a cache entry, and mark the entry as used.

    The result is None if the entry is missing or damaged.
    """
    try:
        checksum, _, data = cachefolder.read_entry(entry, _LARGEST_ENTRY).partition(b"\n")
        used = entry.lstat().st_mtime
    except OSError:
        return None
    if digest(data).encode() != checksum:
        return None
    if time.time() - used > _SWEEP_EVERY:
        with suppress(OSError):
            os.utime(entry)
    return data


def write(entry: Path, data: bytes) -> None:
    """Write a cache entry: a checksum, followed by the data.

    Raises:
        OSError: the disk is full, or the folder is not a cache of trtlint.
    """
    cachefolder.write_entry(entry, digest(data).encode() + b"\n" + data)
