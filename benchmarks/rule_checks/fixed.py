"""Effect of rewrites: TensorRT-RTX refuses the original model, and builds the fixed model.

The models are the examples below ``## Fixed`` in the rules about models that cannot be built.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.rule_checks.check import Check
from benchmarks.rule_checks.rtx import ask
from trtlint.engine.rulebook import builtin_rules, load_rules
from trtlint.examples.fixed import FixedExample, fixed_examples


def _mended(example: FixedExample) -> bool:
    return not ask(example.before.text).built and ask(example.after.text).built is True


def _checks() -> Iterator[Check]:
    for rule in load_rules([builtin_rules() / "build", builtin_rules() / "quantization"]):
        for number, example in enumerate(fixed_examples(rule), start=1):
            if rule.severity == "error" and example.target.product == "tensorrt-rtx":
                claim = f"TensorRT-RTX refuses example {number} before the fix, and builds it after the fix"
                yield Check(rule.id, claim, "builder", partial(_mended, example))


CHECKS = [*_checks()]
