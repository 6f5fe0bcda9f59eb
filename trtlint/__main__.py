"""Entry point of the ``trtlint`` command and of ``python -m trtlint``."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run the command line of this process and return the exit code."""
    if sys.argv[1:] == ["--version"]:
        # Scripts ask for the version often; importing click alone takes several times as long as
        # starting Python.
        from trtlint import __version__

        print(f"trtlint {__version__}")
        return 0
    # Modules, classes and rules live until the end: looking for garbage while they load only costs
    # time.  A command that then reads models turns the collector on again.
    gc.disable()
    from trtlint.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
