"""Check the claims of rules, and print which claims hold."""

from __future__ import annotations

import sys
from collections import Counter

from benchmarks.rule_checks.check import checks
from benchmarks.rule_checks.rtx import NotInstalledError


def main() -> bool:
    counts: Counter[str] = Counter()
    rules = set()
    for check in checks():
        try:
            verdict = "holds" if check.holds() else "DOES NOT HOLD"
        except NotInstalledError:
            verdict = "not checked"
        counts[verdict] += 1
        if verdict == "holds":
            rules.add(check.rule)
        print(f"  {check.rule}  {verdict:13}  {check.by:7}  {check.claim}", flush=True)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print(f"rule checks: {told}; {len(rules)} rules")
    return not counts["DOES NOT HOLD"]


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
