"""Run the examples below ``## Fixed`` in rule files: a model before and after ``trtlint fix``.

The first of two ``onnx`` blocks is the model before the fix. The header of this block accepts the same
options as the header of every rule example, and the word ``unsafe`` to allow an unsafe rewrite. The second
block is the model after the fix. The rule must report the first model and must not report the second. Both
models must compute the same results. After ``trtlint fix``, the first model must be equal to the second
model, except for names.
"""

from __future__ import annotations

import math
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from msgspec.structs import replace
from onnx import helper, numpy_helper

from trtlint.case import Case
from trtlint.engine.rule import Rule, RuleError
from trtlint.engine.ruleset import RuleSet
from trtlint.examples.blocks import ExampleBlock, examples_in
from trtlint.examples.models import ModelTextError, model_of_text
from trtlint.examples.rules import Begin, ExampleResult, Outcome, always, newest, target_of
from trtlint.fixes.fixing import FixedModel, fix_file
from trtlint.fixes.reference import run_reference, wide, widened
from trtlint.fixes.source import read_source
from trtlint.model.graph import Value
from trtlint.model.load import Model, load
from trtlint.target.target import Target

FIXED = "fixed"
"""The heading, in lower case, of the section with these examples in a rule file."""
_TOLERANCE = {"f64": 1e-9, "f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}
_SIZE = 3
"""Size of dynamic dimensions when an example runs."""
_DIGITS = 5
"""Number of significant digits to which stored numbers are compared."""
_MOST_COMPARED = 256
"""Stored tensors with at most this number of elements are compared element by element."""

Array = np.ndarray[Any, np.dtype[Any]]


class FixedExample(Struct, frozen=True):
    """A model before and after ``trtlint fix``.

    Attributes:
        before, after: the two ``onnx`` blocks of the rule file.
        target: the build target.
        unsafe: whether to apply unsafe rewrites.
        checked: True if the ONNX checker must accept the first model.
    """

    before: ExampleBlock
    after: ExampleBlock
    target: Target
    unsafe: bool
    checked: bool


def fixed_examples(rule: Rule) -> list[FixedExample]:
    """Return the examples below ``## Fixed`` in a rule file, in file order.

    Raises:
        RuleError: one of the two models is missing, or a target does not exist.
    """
    blocks = [block for group in examples_in(rule) for block in group if block.section == FIXED]
    if len(blocks) % 2 or any(block.kind != "onnx" for block in blocks):
        problem = "below '## Fixed', write pairs of models: first the source, then the fixed model"
        raise RuleError(rule.path, blocks[-1].line, problem)
    found = []
    for before, after in zip(blocks[::2], blocks[1::2], strict=True):
        words = shlex.split(before.options)
        rest = [word for word in words if word not in ("unsafe", "unchecked")]
        try:
            target, _ = target_of(rule.applies, rest)
            if target.version is None:
                target = replace(target, version=newest(rule.applies, target.product))
        except ValueError as error:
            raise RuleError(rule.path, before.line, f"example: {error}") from None
        found.append(FixedExample(before, after, target, "unsafe" in words, "unchecked" not in words))
    return found


def run_fixed_examples(rules: Iterable[Rule], begin: Begin = always) -> Iterator[ExampleResult]:
    """Fix the models in the ``## Fixed`` examples of rules, and check the results.

    Args:
        rules: the rules.
        begin: function that is called before each example, and returns whether to run the example.

    Raises:
        RuleError: as for :func:`fixed_examples`.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        for rule in rules:
            for example in fixed_examples(rule):
                line = example.before.line
                if begin(ExampleResult(rule.id, rule.path, line, "fixed", "broken")):
                    got, detail = _outcome(rule, example, Path(folder))
                    yield ExampleResult(rule.id, rule.path, line, "fixed", got, detail)


def _outcome(rule: Rule, example: FixedExample, folder: Path) -> tuple[Outcome, str]:
    before, after = folder / "before.onnx", folder / "after.onnx"
    try:
        model_of_text(example.before.text, before, checked=example.checked)
        model_of_text(example.after.text, after, checked=True)
    except ModelTextError as error:
        return "unreadable", str(error)
    fixed = fixed_by(rule, example, before)
    if not fixed.outcome.before.findings:
        return "silent", "the rule does not fire on the source model"
    if fixed.fault or not fixed.changed:
        reasons = [refused.reason for refused in fixed.outcome.refused]
        return "left", fixed.fault or "; ".join(reasons)
    if fixed.outcome.after.findings:
        return "left", "the rule fires on the fixed model"
    wanted = onnx.load(after)
    if _shape_of(fixed.proto) != _shape_of(wanted):
        return (
            "different",
            "the rewrite produces a model other than the fixed model of the example: "
            f"{onnx.printer.to_text(fixed.proto.graph)}",
        )
    return _compared(load(before), onnx.load(before), wanted)


def fixed_by(rule: Rule, example: FixedExample, path: Path) -> FixedModel:
    """Lint the first model of an example with only ``rule``, and apply the fix of this rule.

    Args:
        rule: the rule.
        example: the example.
        path: the file of the first model.
    """
    case = Case(path, (example.target,), RuleSet.of([rule]))
    return fix_file(read_source(path), case, unsafe=example.unsafe)


def _shape_of(proto: onnx.ModelProto) -> list[str]:
    """Return texts that describe a model: its opset, and how the graph computes each output.

    Intermediate values have no names in the texts, so equal texts mean equal graphs.
    """
    known: dict[str, str] = {info.name: f"input {info.name}" for info in proto.graph.input}
    for tensor in proto.graph.initializer:
        if math.prod(tensor.dims) > _MOST_COMPARED:
            known[tensor.name] = f"{tensor.data_type}{list(tensor.dims)}"
            continue
        array = numpy_helper.to_array(tensor)
        numbers = [f"{number:.{_DIGITS}g}" for number in array.ravel().astype(np.float64).tolist()]
        known[tensor.name] = f"{array.dtype}{array.shape}{numbers}"
    for node in proto.graph.node:
        settings = sorted(f"{a.name}={_setting(a)}" for a in node.attribute)
        reads = [known.get(name, name) for name in node.input]
        for port, name in enumerate(node.output):
            known[name] = f"({node.domain} {node.op_type} {settings} {reads} {port})"
    opsets = [f"{entry.domain} {entry.version}" for entry in proto.opset_import if not entry.domain]
    return [*opsets, *(known.get(info.name, info.name) for info in proto.graph.output)]


def _setting(attribute: onnx.AttributeProto) -> str:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, onnx.TensorProto):
        return str(numpy_helper.to_array(value).tolist())
    return str(value)


def _compared(model: Model, before: onnx.ModelProto, after: onnx.ModelProto) -> tuple[Outcome, str]:
    """Run the models before and after the fix in ONNX's reference evaluator, and compare their results.

    If their 16-bit results differ, compare the models again in FP64. A rewrite may change rounding on
    purpose.
    """
    rng = np.random.default_rng(0)
    feeds = {value.name: _random(value, rng) for value in model.graph.inputs}
    kinds = {value.dtype for value in (*model.graph.inputs, *model.graph.outputs)}
    allowed = max(_TOLERANCE.get(kind or "", 0.0) for kind in kinds)
    try:
        same = _same([run_reference(proto, feeds) for proto in (before, after)], allowed)
        if not same and {"f16", "bf16"} & kinds:
            doubled = {name: wide(array) for name, array in feeds.items()}
            exact = [run_reference(widened(proto), doubled) for proto in (before, after)]
            same = _same(exact, _TOLERANCE["f32"])
    except Exception as error:  # noqa: BLE001 - the reference lacks operators of other domains
        return "fixed", f"not computed: {type(error).__name__}"
    return ("fixed", "") if same else ("different", "the fixed model computes different results")


def _same(results: list[Any], allowed: float) -> bool:
    for one, other in zip(*results, strict=True):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        wide = a.astype(np.float64), b.astype(np.float64)
        largest = float(np.abs(wide[0][np.isfinite(wide[0])]).max(initial=1e-6))
        if not np.allclose(*wide, rtol=0, atol=allowed * largest, equal_nan=True):
            return False
    return True


def _random(value: Value, rng: np.random.Generator) -> Array:
    shape = [dim if isinstance(dim, int) else _SIZE for dim in value.shape or ()]
    numbers: Mapping[str | None, type] = {"f32": np.float32, "f16": np.float16, "f64": np.float64}
    if value.dtype in numbers:
        return rng.normal(size=shape).astype(numbers[value.dtype])
    kind = {"bool": np.bool_, "i32": np.int32, "i8": np.int8, "u8": np.uint8}.get(value.dtype or "", np.int64)
    return np.asarray(rng.integers(0, 2, size=shape)).astype(kind)
