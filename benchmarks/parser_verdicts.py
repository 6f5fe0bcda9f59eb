"""Predicted refusals, compared with the verdicts of NVIDIA's parser and builder on the same models.

    python -m benchmarks.parser_verdicts [--verdicts DIR] [--models DIR] [--releases 1.4.0 1.7.1]

The verdicts are files ``rtx-<release>.jsonl`` with ``parse`` and ``build`` for each model. The models are
ONNX's backend tests; without ``--models``, the benchmark writes them to a permanent folder. Other tools judge
the same models in the same run: trtcheck, if it is installed, and ``onnx.checker``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

from trtlint.case import Case
from trtlint.engine.finding import ModelReport
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.engine.ruleset import RuleSet
from trtlint.target.target import Target

Answer = Literal["refused", "accepted", "unknown"]
REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))
GPU = 89
"""Compute capability of the verdicts, times ten."""


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of answers and verdicts on the question whether a model is refused.

    Attributes:
        counts: number of models by answer, and by whether the verdict is a refusal.
    """

    counts: Counter[tuple[Answer, bool]]

    @property
    def precision(self) -> float:
        """Return the share of "refused" answers that are right."""
        said = self.counts["refused", True] + self.counts["refused", False]
        return self.counts["refused", True] / said if said else float("nan")

    @property
    def recall(self) -> float:
        """Return the share of refusals with the answer "refused". The answer "unknown" counts as a miss."""
        real = sum(self.counts[answer, True] for answer in ("refused", "accepted", "unknown"))
        return self.counts["refused", True] / real if real else float("nan")

    def lines(self, name: str) -> list[str]:
        """Return the confusion matrix and both figures as text."""
        rows = [
            f"    {answer:<9} {self.counts[answer, True]:>8} {self.counts[answer, False]:>9}"
            for answer in ("refused", "accepted", "unknown")
        ]
        head = f"  {name:<22} precision {self.precision:6.4f}   recall {self.recall:6.4f}"
        return [head, "    answer     refused  accepted   <- verdict", *rows]


def score(answers: Mapping[str, Answer], refused: Mapping[str, bool]) -> Score:
    """Compare answers with verdicts. A model without an answer counts as "unknown"."""
    return Score(Counter((answers.get(model, "unknown"), verdict) for model, verdict in refused.items()))


def answer(report: ModelReport, stage: str) -> Answer:
    """Return the answer of a report for one stage.

    The answer is "unknown" without a report, or if it depends on an unset option.
    """
    if any(f.refusal is not None and f.refusal.stage == stage for f in report.findings):
        return "refused"
    open_ = any(f.refusal is not None and f.refusal.stage == stage for f in report.conditional)
    return "unknown" if open_ or report.errors else "accepted"


@cache
def _rules() -> tuple[Rule, ...]:
    return tuple(rule for rule in load_rules([builtin_rules()]) if rule.id.startswith("BLD"))


def _trtlint(releases: Sequence[str], path: Path) -> list[tuple[Answer, Answer]]:
    targets = tuple(Target(product="tensorrt-rtx", version=release, sm=GPU) for release in releases)
    reports = Case(path, targets, RuleSet.of(_rules())).evaluated()
    return [(answer(report, "parse"), answer(report, "build")) for report in reports]


def _checker(path: Path) -> Answer:
    import onnx

    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception:  # noqa: BLE001 - any error means that the checker refuses the model
        return "refused"
    return "accepted"


def _trtcheck(path: Path) -> Answer:
    from trtcheck import Verdict, analyze

    try:
        verdict = analyze(path).verdict
    except Exception:  # noqa: BLE001 - a peer that fails has no answer
        return "unknown"
    if verdict is Verdict.BLOCKED:
        return "refused"
    return "unknown" if verdict.value == "unverified" else "accepted"


def peers() -> dict[str, Callable[[Path], Answer]]:
    """Return the other tools that are installed."""
    found: dict[str, Callable[[Path], Answer]] = {"onnx.checker": _checker}
    try:
        from importlib.metadata import version

        found[f"trtcheck {version('trtcheck')}"] = _trtcheck
    except ImportError:
        print("  trtcheck is not installed (pip install 'trtlint[bench]'): left out")
    return found


def write_models(folder: Path) -> None:
    """Write the models with the script of the verdicts, unless they exist."""
    if any(folder.rglob("*.onnx")):
        return
    script = SHARED / "tools" / "backend_models.py"
    subprocess.run([sys.executable, str(script), str(folder), "--with-1.17"], check=True, stdout=sys.stderr)


def verdicts(path: Path) -> dict[str, tuple[bool, bool | None]]:
    """Return, for each model, whether it was parsed and whether it was built."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["model"]: (row["parse"], row["build"]) for row in rows}


def main(arguments: Iterable[str] = ()) -> bool:
    """Print the tables; return whether the goals are met. Without data, return true."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--verdicts", type=Path, default=SHARED / "data" / "parser-verdicts")
    parser.add_argument("--models", type=Path, default=Path(tempfile.gettempdir()) / "trtlint-backend-models")
    parser.add_argument("--releases", nargs="+", default=["1.4.0", "1.7.1"])
    options = parser.parse_args(list(arguments))
    print("parser verdicts of TensorRT-RTX, on models that the conditions were tuned on")
    files = {release: options.verdicts / f"rtx-{release}.jsonl" for release in options.releases}
    if not all(path.exists() for path in files.values()):
        print(f"  no verdicts in {options.verdicts}: left out")
        return True
    truth = {release: verdicts(path) for release, path in files.items()}
    write_models(options.models)
    names = sorted({name for rows in truth.values() for name in rows})
    paths = {name: path for name in names if (path := options.models / f"{name}.onnx").exists()}
    print(f"  {len(paths)} models of {len(names)}")
    with ProcessPoolExecutor() as pool:
        ours = pool.map(partial(_trtlint, options.releases), paths.values(), chunksize=20)
        said = dict(zip(paths, ours, strict=True))
        theirs = {
            name: dict(zip(paths, pool.map(peer, paths.values(), chunksize=20), strict=True))
            for name, peer in peers().items()
        }
    met = True
    for position, release in enumerate(options.releases):
        rows = truth[release]
        refused = {name: not parsed for name, (parsed, _) in rows.items()}
        parse = score({name: both[position][0] for name, both in said.items()}, refused)
        unbuilt = {name: not built for name, (parsed, built) in rows.items() if parsed}
        build = score({name: both[position][1] for name, both in said.items()}, unbuilt)
        print(f"refused at parse, {release}")
        print("\n".join(parse.lines("trtlint")))
        for peer, answers in theirs.items():
            print("\n".join(score(answers, refused).lines(peer)))
        print(f"refused by the builder after a parse, {release}")
        print("\n".join(build.lines("trtlint")))
        met &= parse.precision >= 0.98 and parse.recall >= 0.96
        met &= build.precision >= 0.95 and build.recall >= 0.7
    print(f"goals: parse >= 0.98 and >= 0.96, build >= 0.95 and >= 0.7: {'met' if met else 'MISSED'}")
    return met


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
