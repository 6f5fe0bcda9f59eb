"""Rules that fire on models which TensorRT's parser imports differently than ONNX defines.

``python -m benchmarks.import_rules`` reads ``shared/data/import-differences/cases.jsonl``. Each case is a
small model with two lists of releases. For the releases in ``right``, the network computes ONNX's values. For
the releases in ``wrong``, the network computes different values. An interpreter of the networks of NVIDIA's
parsers computed the values. For a wrong release, the benchmark expects a finding above a note at the
operator. For a right release, it expects no such finding.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from trtlint.api import lint
from trtlint.target.target import Target

SHARED = Path(os.environ.get("TRTLINT_SHARED", Path(__file__).resolve().parents[2] / "shared"))
DATA = SHARED / "data" / "import-differences"
_NO_FAULT = ("oracle", "documented deviation")
"""Classes of cases that are no faults of the parser."""
_OTHERS = ("BLD", "PORT")
"""Prefixes of rules that are not about wrong results. Such rules may fire for releases in ``right``."""


class Miss(Struct, frozen=True):
    """A release of a case for which the rules are wrong.

    Attributes:
        case: name of the case.
        release: the release as the cases name it, such as ``TRT 10.7``.
        wanted: whether a finding is expected.
        found: ids of the rules that fired above a note.
    """

    case: str
    release: str
    wanted: bool
    found: tuple[str, ...]


def misses(folder: Path) -> tuple[int, list[Miss]]:
    """Return the number of compared releases of all cases, and the misses among them."""
    count, found = 0, []
    for case in _cases(folder):
        for wanted, key in ((True, "wrong"), (False, "right")):
            for release in case[key]:
                rules = reported(folder / str(case["model"]), str(release))
                count += 1
                if wanted != any(wanted or not rule.startswith(_OTHERS) for rule in rules):
                    found.append(Miss(str(case["case"]), str(release), wanted, rules))
    return count, found


def reported(model: Path, release: str) -> tuple[str, ...]:
    """Return the rules that fire above a note on a model for a release such as ``RTX 1.7.1``."""
    product, _, version = release.partition(" ")
    target = Target("tensorrt-rtx" if product == "RTX" else "tensorrt", version)
    (report,) = lint(model, target).models
    return tuple(sorted({found.rule for found in report.findings if found.severity != "note"}))


def _cases(folder: Path) -> Iterator[dict[str, Sequence[str]]]:
    for line in (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if not str(case["cls"]).startswith(_NO_FAULT):
            yield case


def main() -> None:
    """Print the misses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="Folder with cases.jsonl and the models.")
    count, found = misses(parser.parse_args().data)
    for miss in found:
        said = ", ".join(miss.found) or "nothing"
        print(f"{miss.case:40} {miss.release:10} {'missed' if miss.wanted else 'false alarm':12} {said}")
    print(f"{count - len(found)} of {count} releases of cases are reported correctly")


if __name__ == "__main__":
    main()
