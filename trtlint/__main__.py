"""Run ``trtlint`` and ``python -m trtlint``."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

_INTERRUPTED = 130
"""Exit code of an interrupt, the same as in :mod:`trtlint.runs.exits`, which is not loaded here."""


def main() -> int:
    """Run the command line of this process, and end the process with the exit code."""
    if sys.argv[1:] == ["--version"]:
        # Scripts often ask for the version, and importing click takes longer than starting Python.
        from trtlint import __version__

        with suppress(OSError):  # the general path below handles a broken output
            print(f"trtlint {__version__}", flush=True)
            return 0
    # Modules, classes and rules live until the end, so collecting garbage while they load wastes
    # time. A command that reads models turns the collector on again.
    gc.disable()
    if sys.argv[1:2] != ["measure"]:
        # OpenBLAS starts a spinning thread for each core. The threads use a quarter of the CPU time of a
        # lint. No matrix product of trtlint is large enough to need them.
        # https://github.com/OpenMathLib/OpenBLAS#setting-the-number-of-threads-using-environment-variables
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = _INTERRUPTED
    with suppress(KeyboardInterrupt):  # also while modules load, and after the last handler
        from trtlint.cli import run

        code = run(sys.argv[1:])
        # Only the exit is left, so ignore interrupts.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # the pipe is closed, and the exit code reports this
        sys.stdout.flush()
    # All other processes have ended. Freeing each object would take as long as linting a small model.
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
