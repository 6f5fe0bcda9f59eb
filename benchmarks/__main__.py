"""Run all benchmarks; the exit code shows whether all goals were met.

Each benchmark runs in its own process, so that they do not share memory.
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
