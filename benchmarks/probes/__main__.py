"""Predictions of trtlint on small random models, compared with NVIDIA's own parser and builder.

    python -m benchmarks.probes --python RTX/bin/python [--seeds 0 800 | --sweep 1] [--models DIR]

The models are drawn from seeds. ONNX's checker accepts each model, and ONNX Runtime runs it if it has the
kernels. ``--python`` names a Python with the wheels tensorrt-rtx-cu12-libs and tensorrt-rtx-cu12-bindings,
and with numpy, onnx and onnxruntime. This Python draws the models and calls the library, in a separate
process for each model.

The benchmark prints precision and recall for the parser and the builder, and each difference by operator and
cause. Use some seeds to improve the rules, and report the figures of other seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.parser_verdicts import GPU, REPOSITORY, Answer, answer, score
from trtlint.case import Case
from trtlint.engine.rule import Rule
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.engine.ruleset import RuleSet
from trtlint.target.target import Target

_SHOWN = 60
"""Maximum number of printed differences. The most frequent differences come first."""
_NAMES = re.compile(r"\(Unnamed Layer\* \d+\)|\b(?:n_\d+(?:_\w+)?|node_of_\w+|[twxsv]\d+(?:_\w+)?)\b")


@cache
def _rules() -> tuple[Rule, ...]:
    return tuple(rule for rule in load_rules([builtin_rules()]) if rule.id.startswith("BLD"))


def predict(path: str) -> tuple[Answer, Answer, list[str]]:
    """Return trtlint's predictions for the parser and the builder, and its messages."""
    target = Target(product="tensorrt-rtx", version="1.7.1", sm=GPU)
    report = Case(Path(path), (target,), RuleSet.of(_rules())).evaluate()
    said = [finding.message for finding in report.findings if finding.refusal is not None]
    return answer(report, "parse"), answer(report, "build"), said


def cause(text: str) -> str:
    """Return a message of the library without names and numbers, so that equal causes give equal texts."""
    text = re.sub(r"In \w+ at .*|\s+", " ", _NAMES.sub("_", text.replace("\n", " ")))
    return re.sub(r"\d+", "9", text)[:160]


def main(arguments: Iterable[str] = ()) -> bool:
    """Print the figures; return whether the goals are met. Without the library, return true."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=os.environ.get("TRTLINT_RTX_PYTHON"))
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 800))
    parser.add_argument(
        "--sweep",
        type=int,
        metavar="N",
        help="every operator with every type, N draws each, instead of seeds",
    )
    parser.add_argument("--models", type=Path, help="keep the models here")
    options = parser.parse_args(list(arguments))
    print("random probes, TensorRT-RTX: not used for tuning, unless conditions were tuned on these seeds")
    if not options.python:
        print("  no Python with the library is named (--python, TRTLINT_RTX_PYTHON): left out")
        return True
    with tempfile.TemporaryDirectory(prefix="trtlint-probes-") as folder:
        models = options.models or Path(folder)
        models.mkdir(parents=True, exist_ok=True)
        kind, bounds = ("sweep", (options.sweep, 0)) if options.sweep else ("draw", options.seeds)
        return _run(options.python, kind, bounds, models.resolve())


def _run(python: str, kind: str, bounds: tuple[int, int], models: Path) -> bool:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    drawing = [python, "-m", f"benchmarks.probes.{kind}", *map(str, bounds), str(models)]
    subprocess.run(drawing, check=True, env=environment, cwd=REPOSITORY)
    requests = (models / "requests.jsonl").read_text(encoding="utf-8")
    judging = [python, str(REPOSITORY / "benchmarks" / "probes" / "judge.py")]
    judged = subprocess.run(judging, input=requests, capture_output=True, text=True, check=True)
    (models / "verdicts.jsonl").write_text(judged.stdout, encoding="utf-8")
    asked = [json.loads(line) for line in requests.splitlines()]
    verdicts = [json.loads(line) for line in judged.stdout.splitlines()]
    with ProcessPoolExecutor() as pool:
        said = list(pool.map(predict, [request["model"] for request in asked], chunksize=20))
    return _report(asked, verdicts, said)


def _report(
    asked: list[dict[str, Any]],
    verdicts: list[dict[str, Any]],
    said: list[tuple[Answer, Answer, list[str]]],
) -> bool:
    parse = ({}, {})  # type: tuple[dict[str, Answer], dict[str, bool]]
    build = ({}, {})  # type: tuple[dict[str, Answer], dict[str, bool]]
    apart: defaultdict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for request, verdict, (at_parse, at_build, sentences) in zip(asked, verdicts, said, strict=True):
        name, parsed = request["name"], verdict["parse"] is True
        first = verdict["errors"][0] if verdict["errors"] else {}
        stages = [("parse", parse, at_parse, not parsed)]
        if parsed:
            stages.append(("build", build, at_build, verdict["build"] is not True))
        for stage, (answers, refused), own, real in stages:
            answers[name], refused[name] = own, real
            if (own == "refused") != real:
                why = cause(first.get("desc", "")) if real else " / ".join(sentences)[:160]
                kind = "missed" if real else "false"
                apart[stage, kind, f"{first.get('op') or request['op']}: {why}"][name] += 1
    figures = {"parse": score(*parse), "build": score(*build)}
    for stage, found in figures.items():
        print("\n".join(found.lines(f"refused at {stage}")))
    for (stage, kind, why), names in sorted(apart.items(), key=lambda item: -item[1].total())[:_SHOWN]:
        print(f"  {names.total():>3} {stage} {kind}  {why}  ({', '.join(sorted(names)[:3])})")
    met = figures["parse"].precision >= 0.98 and figures["parse"].recall >= 0.96
    met &= figures["build"].precision >= 0.97 and figures["build"].recall >= 0.85
    print(f"goals: parse >= 0.98 and >= 0.96, build >= 0.97 and >= 0.85: {'met' if met else 'MISSED'}")
    return met


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
