"""Worker that runs tests on mutants, and can write only to its copy of the checkout.

A mutant can do damage. For example, a mutant of a check may replace a device file, and a mutant of a counter
may kill other processes. So the worker has its own process namespace. Landlock prevents the worker and its
children from writing elsewhere: https://docs.kernel.org/userspace-api/landlock.html.

python -m scripts.mutants.worker COPY < requests > answers
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PRELOADED = ("networkx", "numpy", "onnx", "onnx.reference", "onnx.parser", "pytest", "yaml")
"""Packages that most tests import. The worker imports them once, and forks a process for each mutant.

Plugins of pytest are not included: pytest warns about plugins that are imported before it."""
_MOST_MEMORY = 8 << 30
_DEVICES = ("/dev/null", "/dev/full", "/dev/tty", "/dev/shm")


def sandbox(copy: Path) -> None:
    """Forbid this process and its children to write outside of a folder.

    Raises:
        OSError: the system does not support Landlock.
    """
    from landlock import FSAccess, Ruleset, landlock_abi_version

    reading = FSAccess.EXECUTE | FSAccess.READ_FILE | FSAccess.READ_DIR
    writing = FSAccess.all() & ~reading & ~FSAccess.IOCTL_DEV
    if landlock_abi_version() < 3:  # before Linux 6.2, Landlock does not prevent truncation of files
        raise OSError("Landlock of Linux 6.2 or newer is needed")
    rules = Ruleset(restrict_rules=writing)
    rules.allow(copy)
    for device in filter(os.path.exists, _DEVICES):
        directory = Path(device).is_dir()
        rules.allow(device, rules=writing if directory else FSAccess.WRITE_FILE | FSAccess.TRUNCATE)
    rules.apply()


def serve(copy: Path) -> None:
    """Answer requests until standard input ends."""
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.chdir(copy)
    sys.path[0] = str(copy)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(judged(copy, request)), file=answers, flush=True)


_VERDICTS = {0: "survived", 1: "killed", 2: "killed", None: "timeout"}
"""Verdict for each exit code of pytest: https://docs.pytest.org/en/stable/reference/exit-codes.html.

Exit code 2 means that a test module cannot be imported. If a signal ends the process, the verdict
is ``killed``. After any other exit code, the tests did not run."""
_USAGE = 4
_NO_IMPORT = ("ImportError while loading conftest", "ERROR tests/")
"""Prefixes of the lines that pytest prints if a test module cannot be imported, because of the mutant."""


def judged(copy: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Run the tests of one mutant and return the verdict.

    The verdict is ``survived``, ``killed``, ``timeout``, or ``broken`` if the tests cannot run.
    """
    file = copy / request["file"]
    original, status = file.read_bytes(), file.stat()
    log = copy / "tmp" / "log"
    began = time.monotonic()
    file.write_text(request["code"], encoding="utf-8")
    try:
        code = _ended(request["tests"], request["seconds"], log)
    finally:
        file.write_bytes(original)
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # the compiled bytecode stays valid
    lines = log.read_text("utf-8", "replace").splitlines()
    verdict = _VERDICTS.get(code, "killed" if code is not None and code < 0 else "broken")
    if code == _USAGE and any(line.startswith(_NO_IMPORT) for line in lines):
        verdict = "killed"
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {"status": verdict, "seconds": round(time.monotonic() - began, 1), "by": failed[:1] or lines[-1:]}


def _ended(tests: Sequence[str], seconds: float, log: Path) -> int | None:
    """Run tests in a child process until the first failure. Return the exit code; None after a timeout."""
    child = os.fork()
    if child == 0:
        _run(tests, log)
    until = time.monotonic() + seconds
    code: int | None = None
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # all processes except this one, which is the first of its namespace
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return code


def _run(tests: Sequence[str], log: Path) -> None:
    """Run tests in this process, then end the process."""
    import pytest

    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    code = 99
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=line", "-rfE"]
        code = int(pytest.main([*options, f"--basetemp={log.parent / 'pytest'}", *tests]))
    except BaseException:  # noqa: BLE001 - no exception may return to the loop of the worker
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    if os.getpid() != 1:
        raise SystemExit("the worker must run in its own process namespace, as process 1")
    folder = Path(sys.argv[1]).resolve()
    sandbox(folder)
    if sys.argv[2:]:
        os.chdir(folder)
        started = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
        while True:
            each, ended = os.wait()
            if each == started:
                sys.exit(os.waitstatus_to_exitcode(ended))
    serve(folder)
