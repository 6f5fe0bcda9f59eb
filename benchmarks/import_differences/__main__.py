"""Differences between the networks of NVIDIA's parser and ONNX's results, by operator and attribute.

    python -m benchmarks.import_differences [--rtx-path DIR ...] [--only OP ...] [--forms FORM ...] [--jobs N]

Cases are ONNX's own node tests of opsets 7 to 28, and variants with one changed attribute or optional input.
``--forms`` adds all cases with stored inputs, with unknown sizes, or in low-precision types. ``--rtx-path``
adds a release from a folder made with ``pip install --target``; the installed release always runs.

The benchmark prints counts by release, and every operator and change with a difference, with its releases.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.import_differences.cases import FORMS, Case, cases, in_form, write
from benchmarks.import_differences.running import Answers, ask
from trtlint.dry_build.wheels import find


def main() -> int:
    """Compare all cases for all releases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rtx-path", action="append", default=[], type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--forms", nargs="*", default=[], choices=FORMS)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    chosen = [case for case in cases() if not options.only or case.op in options.only]
    plain = list(chosen)
    for form in options.forms:
        chosen += [other for case in plain if (other := in_form(case, form)) is not None]
    releases = [find(), *(find(None, folder) for folder in options.rtx_path)]
    answers: dict[str, Answers] = {}
    with tempfile.TemporaryDirectory() as folder:
        stems = [write(case, Path(folder), number) for number, case in enumerate(chosen)]
        for wheels in releases:
            answers[wheels.version] = ask(stems, wheels, options.jobs)
    for version, found in answers.items():
        counts = Counter(outcome for outcome, _ in found.values())
        words = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
        print(f"RTX {version}: {len(found)} cases; {words}")
    _print(chosen, answers)
    print(f"{time.monotonic() - began:.0f} s")
    return 0


def _print(chosen: Sequence[Case], answers: dict[str, Answers]) -> None:
    rows: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for version, found in answers.items():
        for number, (outcome, text) in found.items():
            if outcome in ("differs", "unclear", "process ended", "failed"):
                case = chosen[number]
                change = case.name if case.change == "base" else case.change
                rows[outcome, case.op, change][version] = text
    for (outcome, op, change), versions in sorted(rows.items()):
        print(f"{outcome:13} {op:24} {change:60} {', '.join(versions)}  {next(iter(versions.values()))[:90]}")


if __name__ == "__main__":
    sys.exit(main())
