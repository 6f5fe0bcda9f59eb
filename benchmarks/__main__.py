"""Run every benchmark; the exit code says whether each met its goals.

Each runs in a process of its own, so that the memory and the garbage of one do not count for the next.
"""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = (
    "startup", "scaling", "versions", "reading", "weights", "logs", "field_logs", "remote", "fleet",
    "cluster", "parser_verdicts", "release_verdicts", "probes", "dry_build", "comparison", "half_precision",
    "writing", "fixes", "repairs", "random_fixes", "rule_checks", "noise",
)  # fmt: skip

if __name__ == "__main__":
    codes = [subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode for name in BENCHMARKS]
    sys.exit(1 if any(codes) else 0)
