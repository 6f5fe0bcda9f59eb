"""Findings in log excerpts from public threads, compared with the known causes.

    python -m benchmarks.field_logs [--folder DIR] [--missed]

DIR contains excerpts (``*.log``) and ``truth.jsonl``. Each line of ``truth.jsonl`` is about one excerpt:
``file``, ``status`` (``failed``, ``degraded`` or ``benign``), ``decisive`` (numbers of the lines that state
the cause) and ``must_name`` (names in the excerpt that belong to the cause). The default DIR is in the shared
data, if it exists. The benchmark gives each excerpt alone to the command line, as a user would.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import TRTLINT

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))
FOLDER = SHARED / "data" / "field-logs"
GOALS = {"loud": 1.0, "quiet": 1.0, "cited": 0.9, "named": 0.85}
"""Goals: for each question, the smallest share of right answers among the excerpts to which it applies."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Result for one excerpt: an answer for each question, None if a question does not apply.

    Attributes:
        file: the excerpt.
        loud: whether a failed build has a finding of severity error, and exit code 1.
        quiet: whether a successful build has no error.
        cited: whether a finding cites a line that states the cause.
        named: whether a finding contains the required names.
        exit: the exit code.
        rules: the rules that fire, with the lines that they cite.
    """

    file: str
    loud: bool | None
    quiet: bool | None
    cited: bool | None
    named: bool | None
    exit: int
    rules: tuple[str, ...]


def lint(*arguments: str) -> tuple[int, str]:
    """Run trtlint in a new process; return its exit code and its output."""
    done = subprocess.run([*TRTLINT, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def answer(folder: Path, truth: dict[str, Any], lint: Callable[..., tuple[int, str]] = lint) -> Answer:
    """Lint one excerpt and compare the findings with the truth."""
    path = folder / truth["file"]
    code, out = lint("--isolated", "--no-cache", "--format", "json", str(path))
    models = json.loads(out)["models"] if code in (0, 1) else []
    findings = [finding for model in models for finding in model["findings"]]
    cited = {line for finding in findings for line in _lines(path, finding)}
    texts = [text for finding in findings for text in _texts(finding)]
    errors = any(finding["severity"] == "error" for finding in findings)
    lost = truth["status"] in ("failed", "degraded")
    return Answer(
        truth["file"],
        loud=errors and code == 1 if truth["status"] == "failed" else None,
        quiet=not errors if truth["status"] == "benign" else None,
        cited=bool(cited & set(truth["decisive"])) if lost else None,
        named=any(name in text for name in truth["must_name"] for text in texts)
        if lost and truth["must_name"]
        else None,
        exit=code,
        rules=tuple(
            f"{finding['severity'][0]}:{finding['rule']}@{','.join(map(str, sorted(_lines(path, finding))))}"
            for finding in findings
        ),
    )


def _lines(path: Path, finding: dict[str, Any]) -> set[int]:
    """Return the lines of the excerpt that a finding cites, or that are its place."""
    places = [*finding["evidence"], *(site["node"] for site in finding["sites"])]
    cited = re.compile(re.escape(str(path)) + r":(\d+)")
    return {int(number) for place in places for number in cited.findall(place)}


def _texts(finding: dict[str, Any]) -> Iterable[str]:
    yield finding["message"]
    for site in finding["sites"]:
        yield from (site["node"], site["module"] or "")


def share(answers: Sequence[Answer], question: str) -> tuple[int, int]:
    """Return the number of right answers to a question, and the number of excerpts to which it applies."""
    asked = [getattr(each, question) for each in answers if getattr(each, question) is not None]
    return sum(asked), len(asked)


def truths(folder: Path) -> list[dict[str, Any]]:
    """Return the truth about each excerpt of a folder."""
    lines = (folder / "truth.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def main(arguments: Iterable[str] = ()) -> bool:
    """Score the excerpts and print the shares; return whether the goals are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--missed", action="store_true", help="print what each missed excerpt got")
    options = parser.parse_args(list(arguments))
    if not (options.folder / "truth.jsonl").is_file():
        print(f"field logs: no excerpts at {options.folder}; nothing is measured")
        return True
    answers = [answer(options.folder, truth) for truth in truths(options.folder)]
    if options.missed:
        for each in answers:
            wrong = [question for question in GOALS if getattr(each, question) is False]
            if wrong:
                print(f"  {each.file}: not {', '.join(wrong)}; exit {each.exit}; {' '.join(each.rules)}")
    met = []
    for question, goal in GOALS.items():
        right, asked = share(answers, question)
        met.append(right >= goal * asked)
        print(
            f"  {question:<8} {right:>4} of {asked:<4} goal >= {goal:.0%}   {'met' if met[-1] else 'MISSED'}"
        )
    odd = [each.file for each in answers if each.exit not in (0, 1)]
    if odd:
        print(f"  not read: {', '.join(odd)}")
    return all(met) and not odd


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
