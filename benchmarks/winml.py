"""Predicted parts, compared with recorded verdicts of ONNX Runtime's provider for TensorRT-RTX.

    python -m benchmarks.winml FOLDER... [--rtx 1.4] [--goal 0.97]

FOLDER contains models and ``index.jsonl``, which ``benchmarks.winml_rows`` writes from the wheel of winml-cli
0.4.0 (https://pypi.org/project/winml-cli/0.4.0/, MIT). The wheel contains 529,956 verdicts on models with one
operator or pattern. "Compiled" is compared with "the provider runs all nodes in one part".

The verdicts come from TensorRT-RTX 1.4 or older; the wheel does not name the release. But winml-cli 0.1.0,
built on 27 May 2026, has the same verdict for 99.8 % of the common rows. TensorRT-RTX 1.5 was released a day
later: https://github.com/NVIDIA/TensorRT-RTX/releases/tag/v1.5.0.114
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trtlint.case import Case
from trtlint.engine.partition import predicted
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.partition.result import ProviderSettings
from trtlint.policy.options import TargetOptions
from trtlint.policy.targets import targets_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row.

    Attributes:
        file: the model.
        operator: operator or pattern.
        compiled: whether the provider compiled the model.
        taken: whether trtlint predicts one part with all nodes.
        reason: why there is no such part; empty if a finding reports the reason.
    """

    file: str
    operator: str
    compiled: bool
    taken: bool
    reason: str


def entries(folders: Iterable[Path]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the rows of folders without duplicates."""
    seen: set[str] = set()
    for folder in folders:
        for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["file"] not in seen:
                seen.add(entry["file"])
                yield folder / entry["file"], entry


def verdicts(folders: Iterable[Path], line: str) -> Iterator[Verdict]:
    """Yield the prediction for each row."""
    targets = tuple(targets_of(TargetOptions(rtx=(line,))))
    rules = RuleSet(load_builtin().entries)
    for path, entry in entries(folders):
        try:
            opened = Case(path, targets, rules).open()
            report = opened.evaluate()
            assert opened.model is not None
            parts = predicted(
                opened.model, report.findings, "nv-tensorrt-rtx", ProviderSettings(), rewritten=False
            )
        except Exception as error:  # noqa: BLE001 - a model that cannot be read counts as not taken
            yield Verdict(path.name, entry["op"], entry["compiled"], taken=False, reason=repr(error)[:120])
            continue
        taken = len(parts.parts) == 1 and not parts.left and not parts.failure
        yield Verdict(path.name, entry["op"], entry["compiled"], taken, parts.failure or "")


def main() -> int:
    """Print the agreement, and the disagreements by operator."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rtx", default="1.4", help="release line of TensorRT-RTX (default 1.4)")
    parser.add_argument(
        "--goal", type=float, default=0.97, help="lowest share of equal verdicts (default 0.97)"
    )
    arguments = parser.parse_args()
    found = list(verdicts(arguments.folders, arguments.rtx))
    different: dict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for each in found:
        if each.taken != each.compiled:
            different[each.operator, "taken" if each.taken else "left"].append(each)
    for (operator, what), rows in sorted(different.items(), key=lambda item: -len(item[1])):
        print(f"{len(rows):5} {operator} {what}: {rows[0].file} {rows[0].reason}".rstrip())
    equal = len(found) - sum(map(len, different.values()))
    share = equal / max(1, len(found))
    print(f"{equal} of {len(found)} verdicts equal for TensorRT-RTX {arguments.rtx}: {share:.4f}")
    return 0 if share >= arguments.goal else 1


if __name__ == "__main__":
    sys.exit(main())
