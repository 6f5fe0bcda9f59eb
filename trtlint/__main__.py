"""Entry point of the ``trtlint`` command and of ``python -m trtlint``."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

_INTERRUPTED = 130
"""As shells report it, and as :mod:`trtlint.runs.exits` has it, which is not loaded yet."""


def main() -> int:
    """Run the command line of this process, and end it with the exit code."""
    if sys.argv[1:] == ["--version"]:
        # Scripts ask for the version often; importing click alone takes several times as long as
        # starting Python.
        from trtlint import __version__

        with suppress(OSError):  # whatever cannot be written to, the general way deals with
            print(f"trtlint {__version__}", flush=True)
            return 0
    # Modules, classes and rules live until the end: looking for garbage while they load only costs
    # time.  A command that then reads models turns the collector on again.
    gc.disable()
    if sys.argv[1:2] != ["measure"]:
        # numpy's library begins a thread for each core, which all spin for a tenth of a second, and no
        # product of matrices is worth them here: a quarter of the processor's time of a lint.
        # https://github.com/OpenMathLib/OpenBLAS#setting-the-number-of-threads-using-environment-variables
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    code = _INTERRUPTED
    with suppress(KeyboardInterrupt):  # anywhere: while modules load, and behind the last handler
        from trtlint.cli import run

        code = run(sys.argv[1:])
        # What is left is to end: nothing that an interrupt could stop.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):  # a pipe that was closed, as the exit code says
        sys.stdout.flush()
    # Every other process has ended; that this one frees its objects one by one would take as long as
    # many a lint.
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
