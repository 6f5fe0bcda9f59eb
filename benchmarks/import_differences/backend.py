"""ONNX's backend tests compared with the networks of NVIDIA's parser; each difference gets a class.

    python -m benchmarks.import_differences.backend [FOLDER ...] [--rtx-path DIR] [--jobs N]

Compares every model of ONNX's backend tests, or every model of some folders, as ``--compare`` does. The
inputs come from the test; a model without a test gets random inputs. Two things explain a difference: a rule
that fires on the model for this release, or an entry of ``explained.yaml``. The exit code is 1 if a
difference has no explanation.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import yaml
from msgspec import Struct
from onnx.backend.test.case.node import collect_testcases

from benchmarks.import_differences.cases import Case, feeds_of, write
from benchmarks.import_differences.running import ask
from trtlint.api import lint
from trtlint.dry_build.wheels import find
from trtlint.network.layers import Array
from trtlint.target.target import Target

DATA = Path(__file__).with_name("explained.yaml")
_DIFFERS = ("differs", "unclear", "failed", "process ended")
"""Outcomes that need an explanation."""


class Explanation(Struct, frozen=True):
    """Explanation of differences that no rule reports.

    Attributes:
        name: name in the table.
        reason: the parser's fault, or the reason why this is no fault of the parser.
        source: URL of a public source.
        ops: the operators.
        tests: prefixes of test names; empty for all tests.
        outcomes: the outcomes that this entry explains.
    """

    name: str
    reason: str
    source: str
    ops: tuple[str, ...]
    tests: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ("differs",)

    def explains(self, case: Case, outcome: str) -> bool:
        """Return whether the entry applies to the outcome of a case."""
        return (
            outcome in self.outcomes
            and case.op in self.ops
            and (not self.tests or case.name.rpartition("/")[2].startswith(self.tests))
        )


def explanations(file: Path = DATA) -> tuple[tuple[str, ...], tuple[Explanation, ...]]:
    """Return the rules about imports, and the explanations of differences that no rule reports."""
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    return tuple(document["rules"]), tuple(_entry(each) for each in document["explained"])


def _entry(given: Mapping[str, Any]) -> Explanation:
    """Convert an entry of the file; lists become tuples."""
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    return Explanation(**fields)


def of_tests() -> Iterator[Case]:
    """Yield the generated tests of ONNX, and the tests with the models that are part of ONNX."""
    for test in collect_testcases(None):
        if test.model is not None:
            yield Case(f"node/{test.name}", _op(test.model), "base", test.model, feeds_of(test) or {})
    data = Path(onnx.__file__).parent / "backend" / "test" / "data"
    for folder in ("light", "simple", "pytorch-converted", "pytorch-operator"):
        yield from of_folder(data / folder, {})


def of_folder(folder: Path, known: Mapping[str, Mapping[str, Array]]) -> Iterator[Case]:
    """Yield the models of a folder.

    Args:
        folder: the folder.
        known: the inputs of tests by name, for models with the same name and inputs.
    """
    for path in sorted(folder.rglob("*.onnx")):
        stem = path.parent.name if path.name == "model.onnx" else path.stem
        name = path.parent.parent.name if path.name == "model.onnx" else path.parent.name
        try:
            model = onnx.load(path)
        except Exception:  # noqa: BLE001 - a test of a damaged model
            continue
        feeds = known.get(stem, {})
        inputs = {each.name for each in model.graph.input}
        yield Case(f"{name}/{stem}", _op(model), "base", model, dict(feeds) if inputs == set(feeds) else {})


def _known() -> dict[str, dict[str, Array]]:
    """Return the inputs of ONNX's tests by name."""
    return {test.name: feeds_of(test) or {} for test in collect_testcases(None) if test.model is not None}


def _op(model: onnx.ModelProto) -> str:
    nodes = [node.op_type for node in model.graph.node if node.op_type != "Constant"]
    return nodes[-1] if len(set(nodes)) == 1 else " ".join(dict.fromkeys(nodes))[:40] or "none"


def reported(model: Path, release: str, rules: Sequence[str]) -> tuple[str, ...]:
    """Return the rules about imports that fire on a model for a release."""
    (report,) = lint(model, Target("tensorrt-rtx", release)).models
    return tuple(sorted({found.rule for found in report.findings} & set(rules)))


def main() -> int:
    """Print the table; return 1 if a difference has no explanation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--rtx-path", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    known = _known() if options.folders else {}
    cases = [case for folder in options.folders for case in of_folder(folder, known)] or list(of_tests())
    wheels = find(None, options.rtx_path)
    rules, entries = explanations()
    left: list[str] = []
    classes: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        stems = [write(case, Path(folder), number) for number, case in enumerate(cases)]
        answers = ask(stems, wheels, options.jobs)
        for number, (outcome, text) in sorted(answers.items()):
            case = cases[number]
            if outcome == "deviates":
                classes[f"deviation: {text}", outcome, case.op] += 1
            elif outcome in ("not computed", "no oracle"):
                classes[text[:100], outcome, case.op] += 1
            if outcome not in _DIFFERS:
                continue
            found = reported(Path(f"{stems[number]}.onnx"), wheels.version, rules)
            name = ", ".join(found) or next(
                (each.name for each in entries if each.explains(case, outcome)), ""
            )
            if name:
                classes[name, outcome, case.op] += 1
            else:
                left.append(f"{outcome:13} {case.name:60} {case.op:24} {text[:120]}")
    counts = Counter(outcome for outcome, _ in answers.values())
    words = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    print(f"RTX {wheels.version}: {len(cases)} models; {words}")
    for (name, outcome, op), count in sorted(classes.items()):
        print(f"{count:5}  {outcome:13} {op:28} {name}")
    print(f"{len(left)} not explained")
    print("\n".join(left))
    print(f"{time.monotonic() - began:.0f} s")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
