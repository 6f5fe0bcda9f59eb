"""Examples in known_bad.yaml, the table of TensorRT releases with known bugs.

The examples test the table.  An entry in trtlint/knowledge/known_bad.yaml has the keys ``bad`` and ``good``.
Each key has one model or a list of models, like the examples of :mod:`trtlint.examples.conditions`. The
rules that use the table run on these models, with the GPU, types and release of the example.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from trtlint.case import facts_of
from trtlint.engine.evaluate import evaluate
from trtlint.engine.rule import Rule
from trtlint.examples.conditions import read_example, texts_of
from trtlint.examples.models import ModelTextError, model_of_text
from trtlint.examples.rules import ExampleResult, Outcome
from trtlint.facts.blocks.knownbad import PATH, BadReleaseEntry, entries
from trtlint.facts.of_model.known_bad import KnownBad

KIND = "known_bad"
"""The kind of facts from the table known_bad.yaml."""


def run_known_bad_examples(rules: Sequence[Rule]) -> Iterator[ExampleResult]:
    """Run the examples of every entry of known_bad.yaml.

    Args:
        rules: all rules.

    Raises:
        ValueError: an entry is wrong.
    """
    own = [rule for rule in rules if rule.find == KIND]
    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        for entry in entries():
            name = ", ".join(entry.cause.ops)
            expected: Outcome
            for expected, written in (("fires", entry.bad), ("silent", entry.good)):
                texts = texts_of(written)
                if not texts:
                    yield ExampleResult(name, PATH, entry.line, expected, "missing", f"no {expected} example")
                for text in texts:
                    got, detail = _outcome(entry, text, own, Path(folder))
                    yield ExampleResult(name, PATH, entry.line, expected, got, detail)


def _outcome(
    entry: BadReleaseEntry, text: object, rules: Sequence[Rule], folder: Path
) -> tuple[Outcome, str]:
    """Return whether an entry gives a finding for the model in ``text``.

    The second value is an error message if the text is unreadable; else it is empty.
    """
    try:
        example = read_example(entry.cause.applies, text)
        model = model_of_text(example.text, folder / f"{entry.line}.onnx", checked=example.checked)
    except (ModelTextError, ValueError) as error:
        return "unreadable", str(error)
    facts = facts_of(model, weights=True)
    report = evaluate(rules, facts, example.target)
    # No two entries have both the same sentence and the same source.
    said = {
        fact.says
        for fact in facts.of(KIND)
        if isinstance(fact, KnownBad) and fact.source == entry.cause.source
    }
    if any(finding.message in said for finding in report.findings):
        return "fires", ""
    return ("conditional" if any(finding.message in said for finding in report.conditional) else "silent"), ""
