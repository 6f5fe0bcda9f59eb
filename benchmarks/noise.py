"""Findings above a note on models that build, by rule and corpus.

    python -m benchmarks.noise [--trt VERSION] [--gpu GPU] [--preview] [--models]

The corpora are models exported from PyTorch, public models of the shared data, and the light models of the
package onnx (classifiers that every release builds). For the first two, the real parser and builder of
TensorRT-RTX decided which models build. Models that do not build are ignored.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from benchmarks.measure import report
from trtlint import Target, lint
from trtlint.engine.rulebook import load_builtin
from trtlint.policy.selection import choose

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared")) / "data"
VERDICTS = "verdicts-rtx-1.7.1.jsonl"
MOST = 1 / 3
"""Maximum number of findings above a note for each model that builds."""
SHARE = 0.02
"""A rule may fire on at most this share of the models that build. Rules in ``CONFIRMED`` have no limit."""
CONFIRMED = {
    "ACC101": "the builder warned of these norms, or computes them so (labels.jsonl)",
    "ACC103": "networks of guided diffusion, as in the report: Q and K are both scaled (labels.jsonl)",
    "ACC108": "zeros in front of these divisions give NaN or infinity in ONNX Runtime",
    "ACC102": "the scale sits on both operands (labels.jsonl)",
    "PERF101": "the weights are computed at run time (labels.jsonl)",
    "PERF102": "the weights are computed from stored ones (labels.jsonl)",
}
"""Rules whose claim was confirmed on the exported models without trtlint."""


@dataclass
class Corpus:
    """Findings in a corpus.

    Attributes:
        name: name of the corpus.
        models: number of models that build.
        above: number of findings above a note, by rule.
        fired: models with a finding above a note, by rule.
        noted: models with a note, by rule.
    """

    name: str
    models: int = 0
    above: Counter[str] = field(default_factory=Counter)
    fired: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    noted: Counter[str] = field(default_factory=Counter)

    @property
    def a_model(self) -> float:
        """Return the number of findings above a note for each model."""
        return self.above.total() / self.models if self.models else 0.0

    def cell(self, rule: str) -> str:
        """Return the number and share of models on which a rule fires."""
        count = len(self.fired[rule])
        return f"{count} ({count / self.models:.1%})" if count else "."


def building(folder: Path) -> set[str]:
    """Return the names of the models that the real builder builds."""
    with (folder / VERDICTS).open(encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        return {Path(row.get("model") or row["file"]).name.split(".onnx")[0] for row in rows if row["build"]}


def models(unpacked: Path) -> Iterator[tuple[str, Path]]:
    """Yield each model that builds, with its corpus; decompress models into a folder."""
    for corpus in ("exported", "public"):
        folder = SHARED / corpus
        if not (folder / VERDICTS).exists():
            continue
        names = building(folder)
        for path in sorted(folder.glob("*.onnx*")):
            name = path.name.split(".onnx")[0]
            if name not in names:
                continue
            if path.suffix == ".gz":
                target = unpacked / f"{name}.onnx"
                target.write_bytes(gzip.decompress(path.read_bytes()))
                path = target
            if path.suffix == ".onnx":
                yield corpus, path
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    yield from (("light", path) for path in sorted(light.rglob("*.onnx")))


def look(target: Target, *, preview: bool) -> list[Corpus]:
    """Lint all models."""
    rules = [entry.read() for entry in choose(load_builtin().entries, (), preview=preview)]
    found: dict[str, Corpus] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, path in models(Path(folder)):
            corpus = found.setdefault(name, Corpus(name))
            corpus.models += 1
            (result,) = lint(path, target=target, rules=rules).models
            for finding in result.findings:
                if finding.severity == "note":
                    corpus.noted[finding.rule] += 1
                    continue
                corpus.above[finding.rule] += 1
                if path.stem not in corpus.fired[finding.rule]:
                    corpus.fired[finding.rule].append(path.stem)
    return list(found.values())


def table(corpora: list[Corpus], *, names: bool) -> list[str]:
    """Print the table of rules and corpora. Return the rules that fire on too many models.

    Confirmed rules are not returned.
    """
    rules = sorted({rule for corpus in corpora for rule in (*corpus.above, *corpus.noted)})
    heads = (f"{corpus.name} {corpus.models}" for corpus in corpora)
    print("rule     " + "".join(f"{head:>16}" for head in heads) + "   notes")
    beyond = []
    for rule in rules:
        notes = sum(corpus.noted[rule] for corpus in corpora)
        share = sum(len(c.fired[rule]) for c in corpora) / sum(c.models for c in corpora)
        mark = ""
        if share > SHARE:
            mark = f"  {share:.1%}: {CONFIRMED.get(rule, f'above {SHARE:.0%}')}"
            beyond += [] if rule in CONFIRMED else [rule]
        print(f"{rule:<9}" + "".join(f"{corpus.cell(rule):>16}" for corpus in corpora) + f"{notes:8}{mark}")
        if names:
            for corpus in corpora:
                print("".join(f"    {name}\n" for name in corpus.fired[rule]), end="")
    return beyond


def main() -> bool:
    """Print the table and the findings for each model; return whether the limits hold."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trt", default="10.8")
    parser.add_argument("--gpu", default="L4")
    parser.add_argument("--preview", action="store_true", help="also rules in preview")
    parser.add_argument("--models", action="store_true", help="name the models")
    given = parser.parse_args()
    corpora = look(Target(version=given.trt, gpu=given.gpu), preview=given.preview)
    print(f"findings above note of models that build, for TensorRT {given.trt} on {given.gpu}")
    beyond = table(corpora, names=given.models)
    if beyond:
        print(f"unconfirmed rules that fire on more than {SHARE:.0%} of the models: {', '.join(beyond)}")
    for corpus in corpora:
        print(f"  {corpus.name}: {corpus.a_model:.2f} findings above note a model, of {corpus.models}")
    every = sum(corpus.above.total() for corpus in corpora) / max(1, sum(corpus.models for corpus in corpora))
    return report("findings above note a model", every, MOST) and not beyond


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
