"""What was found in a model, kept for the next run.

An entry is named by a digest of all that its result depends on: the model's content, the targets, the
files of the rules that ran, and trtlint itself.  Files with external data, which are only known
once the model has been read, are listed in the entry and compared when it is found.

Content is what counts for files of up to 64 MB, so that a fresh clone finds what another has kept.
Hashing a larger file takes longer than linting it, which leaves the weights where they are: such a
file is known by its path, size, times and inode, and is linted again when it has been touched.

An entry is JSON below a checksum, never a pickle, and is written to a file of its own that then takes
its place: runs at the same time see whole entries only, and a damaged one is as good as none.  The
checksum is against damage, not against malice: who can write to the folder can say what is found.  It is
the user's, therefore, and never looked for in a checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from trtlint.case import Case
from trtlint.engine.finding import ModelReport
from trtlint.errors import TrtlintError
from trtlint.files.beside import real_file
from trtlint.files.regular import read_bytes
from trtlint.lean import dataclass
from trtlint.runs import cachefolder, serialize
from trtlint.runs.job import Job, Store

ENVIRONMENT = "TRTLINT_CACHE_DIR"
"""Environment variable that names the folder, for where no option does."""

LARGE = 64 << 20
"""Files of more bytes are known by their status, not by their content."""
_UNSETTLED = 2_000_000_000
"""Nanoseconds within which a file may change again without its times showing it."""

_ELSEWHERE = "elsewhere"
"""What external data are known by that are not read, because they lie outside of the model's folder."""

_LARGEST_ENTRY = 64 << 20
_MOST_BYTES = 256 << 20
_LONGEST_UNUSED = 30 * 24 * 3600
_SWEEP_EVERY = 24 * 3600


class UncertainError(TrtlintError):
    """A file that may change without a trace."""


@dataclass(frozen=True, slots=True)
class _KeptResult:
    """A result, and the files that it also depends on, each with what it was known by."""

    companions: tuple[_Companion, ...]
    reports: tuple[ModelReport, ...]


@dataclass(frozen=True, slots=True)
class _Companion:
    name: str
    known_by: str


def folder() -> Path | None:
    """Where results are kept: in the user's folder for caches; None where there is no such folder.

    Links that the user has made are followed.
    """
    if named := os.environ.get(ENVIRONMENT):
        return Path(os.path.realpath(named))
    # https://specifications.freedesktop.org/basedir-spec/latest/
    home = Path(os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", ""))
    if not home.is_absolute():
        home = Path(os.path.expanduser("~/.cache"))  # noqa: PTH111 - which leaves it where nobody is at home
    return Path(os.path.realpath(home / "trtlint")) if home.is_absolute() else None


class Cache:
    """The results in one folder, which need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow links
        self.usable = cachefolder.may_be_cache(self._folder)
        """Whether the folder is a cache or can be made one; any other is left alone."""

    def place(self, job: Job) -> Store | None:
        """Where the result of a job belongs; None where the model cannot be known for sure."""
        try:
            case = job.case
            built = _described(case.built_for), _described(case.command)
            before = stamp(case.path) if case.address is None else ()
            settings = [program(), case.applicable.digest, *built]
            key = digest(json.dumps([*settings, known_of(case)]).encode())
        except (OSError, ValueError, UncertainError):
            return None
        return Store(cachefolder.entry_in(self._folder, key), before)

    def find(self, job: Job, store: Store) -> tuple[ModelReport, ...] | None:
        """The reports that were kept; None where there are none that can be used."""
        data = read(store.entry)
        if data is None:
            return None
        try:
            entry = serialize.load(json.loads(data), _KeptResult)
            if any(_companion_of(job.case.path, other.name) != other for other in entry.companions):
                return None
        except (ValueError, RecursionError, UncertainError):
            return None
        return entry.reports

    def sweep(self) -> None:
        """Delete what has not been used for long, and the oldest where there is too much; once a day."""
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
    """Keep the result of linting a model, unless the model has changed since or could not be read."""
    if any(report.errors for report in reports):
        return
    try:
        names = dict.fromkeys(name for report in reports for name in report.data_files)
        companions = tuple(_companion_of(model, name) for name in names)
        if store.model and stamp(model) != store.model:
            return
        nameless = tuple(replace(report, path="") for report in reports)
        data = json.dumps(
            serialize.dump(_KeptResult(companions, nameless), _KeptResult), separators=(",", ":")
        ).encode()
        write(store.entry, data)
    except (OSError, UncertainError):  # a full disk, a folder that is not ours: lint again next time
        return


def stamp(path: Path) -> tuple[int, ...]:
    """What shows that a file has changed: device, inode, size and times.

    Raises:
        OSError: there is no such file.
    """
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def digest(data: bytes) -> str:
    """A digest of content, for the names of entries."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


@cache
def program() -> list[str]:
    """What of trtlint a result depends on: its version; in a checkout, where that says little, its files."""
    from trtlint import __version__

    package = Path(__file__).parents[1]
    installed = not (package.parent / "pyproject.toml").exists()
    files = sorted(
        (str(file.relative_to(package)), file.stat().st_size, file.stat().st_mtime_ns)
        for pattern in (() if installed else ("*.py", "*.yaml"))
        for file in package.rglob(pattern)
    )
    return [__version__, metadata.version("onnx"), digest(json.dumps(files).encode())]


def _described(value: object) -> Any:
    """A target or a build command as JSON data that are the same for the same one."""
    if is_dataclass(value):
        return {field.name: _described(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, frozenset):
        return sorted(_described(item) for item in value)
    if isinstance(value, tuple):
        return [_described(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    raise ValueError(f"{value!r} has no stable description")


def known_by(path: Path) -> str:
    """The digest of a file's content, or of its status where it is large.

    Raises:
        OSError: it cannot be read.
        UncertainError: it has just been written, so that its status says too little.
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
    """What the model of a case is known by: its content or status, or what its server says it has.

    Raises:
        OSError: it cannot be read.
        UncertainError: that says too little.
    """
    if case.address is None:
        return known_by(case.path)
    from trtlint.remote.file import version_of

    version = version_of(case.address)
    if not version:
        raise UncertainError
    return f"{case.address.url} {version}"


def revision(case: Case) -> str:
    """What tells the revisions of a model apart; empty where nothing does for sure."""
    try:
        if case.address is not None:
            return known_of(case).partition(" ")[2]
        status = case.path.stat()
        return known_by(case.path) if status.st_size <= LARGE else f"{status.st_size}-{status.st_mtime_ns}"
    except (OSError, ValueError, UncertainError):
        return ""


def _companion_of(model: Path, name: str) -> _Companion:
    """A file that a model names, relative to its folder, with what it is known by."""
    return _Companion(name, companion(model, name))


def companion(model: Path, name: str) -> str:
    """What a file that a model names, relative to its folder, is known by; nothing if missing.

    Raises:
        UncertainError: it has just been written.
    """
    try:
        file = real_file(model.parent, name, model)
        return _ELSEWHERE if file is None else known_by(file)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return ""


def read(entry: Path) -> bytes | None:
    """What an entry holds, which is then used; None where it is missing or damaged."""
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
    """Write an entry below its checksum.

    Raises:
        OSError: a full disk, a folder that is not ours.
    """
    cachefolder.write_entry(entry, digest(data).encode() + b"\n" + data)
