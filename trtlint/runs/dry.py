"""Run the dry builds of a model, one for each GPU.

Results are cached, and concurrent builds share a memory limit. The cache contains results and logs.  The name
of an entry is a digest of all data that a dry build depends on, except external data files.  The entry
lists the external data files, and a later run checks that they are unchanged.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import convert
from msgspec.structs import replace

from trtlint.dry_build.agreement import Agreement
from trtlint.dry_build.drybuild import DryBuildRequest, ask, read_back, roughly_needed
from trtlint.dry_build.errors import DryBuildError
from trtlint.dry_build.result import DryBuildResult
from trtlint.dry_build.wheels import find
from trtlint.dry_build.wording import notes
from trtlint.engine.evidence.dry_build import DryBuildEvidence
from trtlint.files.replace import replacing
from trtlint.model.errors import ModelError
from trtlint.runs import cache
from trtlint.runs.cachefolder import entry_in
from trtlint.runs.progress import Share, step
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.runs.dryjob import DryJob

_LARGEST_LOG = 256 << 20
"""Size of the largest log that is cached, in bytes."""


def dry_builds(job: DryJob, model: Path, targets: tuple[Target, ...]) -> tuple[DryBuildEvidence, ...]:
    """Run the dry builds of a model for some targets.  Targets with the same GPU share a dry build.

    Raises:
        WheelError: the wheels are not installed.
        InputsError: the inputs for a comparison do not match the model.
    """
    wheels = find(job.version, None if job.folder is None else Path(job.folder))
    step(f"{'parsing' if job.level == 'parse' else 'building'} {model.name} with TensorRT-RTX")
    by_request: dict[DryBuildRequest, DryBuildEvidence] = {}
    for target in targets:
        sm = target.sm if job.level == "build" else None
        request = DryBuildRequest(wheels, job.level, sm, job.shapes, job.limits)
        same = next((other for other in by_request if other.built_sm == request.built_sm), None)
        if request not in by_request:
            made = _made(job, request, model) if same is None else _for(by_request[same], request)
            by_request[request] = replace(made, targets=frozenset())
        made = by_request[request]
        by_request[request] = replace(made, targets=made.targets | {target})
    return tuple(by_request.values())


def _for(made: DryBuildEvidence, request: DryBuildRequest) -> DryBuildEvidence:
    """Return the evidence of a shared dry build for one of its targets.

    Dry builds support only some GPUs. For any other GPU, trtlint builds for the nearest supported GPU. So
    targets with different GPUs can share a dry build.
    """
    if made.build is None:
        return made
    result = replace(made.build.result, asked_sm=request.sm)
    return DryBuildEvidence(replace(made.build, result=result), notes=notes(result))


def _made(job: DryJob, request: DryBuildRequest, model: Path) -> DryBuildEvidence:
    """Return the evidence of one dry build, from the cache or from a new dry build."""
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as scratch:
        log = Path(scratch, "build.log")
        entry = None if job.kept is None else _entry(job.kept, request, model)
        result = None if entry is None else _kept(entry, request, model, log)
        if result is None:
            needed = min(roughly_needed(model, request.level), request.limits.memory)
            try:
                with _ROOM.of(needed, available_memory()):
                    result = ask(model, request, log)
            except DryBuildError as error:
                return DryBuildEvidence(None, notes=(f"no dry {request.level}: {error}",))
            except (ModelError, OSError):  # the lint reports the problem with the file
                return DryBuildEvidence(None)
            if entry is not None:
                _keep(entry, result, model, log)
        if job.compare is not None and result.parsed:
            result = replace(result, network=_compared(job, request, model))
        said = list(notes(result))
        if job.logs is not None:
            try:
                _save(job.logs, model, result, log)
            except OSError as error:
                said.append(f"the log of the dry build cannot be written: {error.strerror or error}")
        return DryBuildEvidence(read_back(result, log), notes=tuple(said))


def _compared(job: DryJob, request: DryBuildRequest, model: Path) -> Agreement:
    """Compare the ONNX model with the network that NVIDIA's parser creates."""
    from trtlint.network.compare import compare_network

    assert job.compare is not None
    needed = min(2 * roughly_needed(model, "parse"), request.limits.memory)
    bar = Share(f"comparing {model.name}")
    try:
        with _ROOM.of(needed, available_memory()):
            return compare_network(model, job.compare, request.wheels, request.limits, bar)
    finally:
        bar.close()


def _entry(folder: Path, request: DryBuildRequest, model: Path) -> Path | None:
    """Return the file of the cache entry for a dry build, or None if the model cannot be identified."""
    shapes = [[given.name, given.shapes] for given in request.shapes]
    asked = ["dry", request.wheels.version, request.level, request.built_sm, shapes, request.limits.memory]
    with suppress(OSError, cache.UncertainError):
        key = cache.digest(json.dumps([*cache.program(), asked, cache.known_by(model)]).encode())
        return entry_in(folder, key, ".dry")
    return None


def _kept(entry: Path, request: DryBuildRequest, model: Path, log: Path) -> DryBuildResult | None:
    """Return the cached result of a dry build, and write its log to the file ``log``.

    Return None if the cache has no result, or if the cached result is out of date.
    """
    data = cache.read(entry)
    if data is None:
        return None
    head, _, packed = data.partition(b"\n")
    try:
        document = json.loads(head)
        for name, known_by in document["companions"]:
            if cache.companion(model, name) != known_by:
                return None
        result = replace(convert(document["result"], DryBuildResult), asked_sm=request.sm)
        log.write_bytes(zlib.decompressobj().decompress(packed, _LARGEST_LOG))
    except (ValueError, TypeError, KeyError, RecursionError, zlib.error, cache.UncertainError, OSError):
        return None
    return result


def _keep(entry: Path, result: DryBuildResult, model: Path, log: Path) -> None:
    """Cache the result of a dry build with its log.

    A result that depends on the load of the machine is not cached.
    """
    if result.cause not in ("done", "crashed") or result.signal == "SIGKILL":
        return
    with suppress(OSError, cache.UncertainError):
        if log.stat().st_size > _LARGEST_LOG:
            return
        companions = [[name, cache.companion(model, name)] for name in result.data_files]
        head = json.dumps({"companions": companions, "result": result.document}).encode()
        cache.write(entry, head + b"\n" + zlib.compress(log.read_bytes(), 1))


def _save(folder: Path, model: Path, result: DryBuildResult, log: Path) -> None:
    """Save the log and the result of a dry build in a folder for the user.

    Raises:
        OSError: the files cannot be written.
    """
    name = f"{model.stem}.rtx-{result.version}"
    name += "" if result.level == "parse" else f".sm{result.sm}"
    document = json.dumps(result.document, indent=2).encode() + b"\n"
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / f"{name}.log") as file, log.open("rb") as source:
        shutil.copyfileobj(source, file)
    with replacing(folder / f"{name}.json") as file:
        file.write(document)


class _Room:
    """The memory that all concurrent dry builds of this process share."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._taken = 0

    @contextmanager
    def of(self, needed: int, most: int) -> Iterator[None]:
        """Return a context manager that reserves ``needed`` of ``most`` bytes.

        The context manager waits until the bytes are free.  If no other dry build runs, it does not wait.
        """
        with self._condition:
            self._condition.wait_for(lambda: not self._taken or self._taken + needed <= most)
            self._taken += needed
        try:
            yield
        finally:
            with self._condition:
                self._taken -= needed
                self._condition.notify_all()


_ROOM = _Room()
"""The memory of this process.  For example, a Dask worker may run dry builds in several threads."""


def available_memory() -> int:
    """Return the available memory in bytes, or a very large number if the amount is unknown."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 1 << 50
