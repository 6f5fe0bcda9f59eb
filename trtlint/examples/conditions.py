"""Run the examples in conditions.yaml, the table of models that the parser or builder refuses.

The examples test the table.  An entry in trtlint/knowledge/conditions.yaml has the keys ``refused`` and
``accepted``.  Each key has one model or a list of models, in the text form of rule examples
(:mod:`trtlint.examples.rules`).

The text before the first bracket of a model may contain command-line options, ``unchecked``, or ``opset``
with a number. Without options, the target is the newest known release that the entry applies to.  If a model
has no header, the opset of the model is the number after ``opset``.  The default number is 17.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from trtlint.case import facts_of
from trtlint.examples.models import ModelTextError, model_of_text
from trtlint.examples.rules import ExampleResult, Outcome, newest, taken, target_of
from trtlint.facts.blocks.conditions import PATH, ConditionEntry, entries
from trtlint.facts.of_model.rejection import rejections
from trtlint.knowledge.parsers import lines_of
from trtlint.knowledge.releases import Product
from trtlint.target.target import Target

_MODEL = re.compile(r"[(<]")
_HEADER = '< ir_version: 10, opset_import: ["" : {}] >\ng '
_OPSET = "17"

Expected = Literal["refused", "accepted"]


class ConditionExample(Struct, frozen=True):
    """An example in an entry of conditions.yaml.

    Attributes:
        line: the release line, such as ``10.8``.
        target: the build target, from the release and the options of the example.
        text: the model in the text form.
        checked: whether the ONNX checker must accept the model.
    """

    line: str
    target: Target
    text: str
    checked: bool


def run_condition_examples() -> Iterator[ExampleResult]:
    """Run the examples of every entry of conditions.yaml.

    trtlint must predict that TensorRT refuses each model in ``refused`` for the reason of its entry, and
    accepts each model in ``accepted``.  An entry that lacks one of these two kinds of examples gives a failed
    result.

    Raises:
        ValueError: an entry is wrong.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        for entry in entries():
            yield from _run(entry, "refused", entry.refused, Path(folder))
            yield from _run(entry, "accepted", entry.accepted, Path(folder))


def _run(entry: ConditionEntry, expected: Expected, written: object, folder: Path) -> Iterator[ExampleResult]:
    texts = texts_of(written)
    if not texts:
        why = f"the entry has no example with the key '{expected}'"
        yield ExampleResult(entry.ops, PATH, entry.line, expected, "missing", why)
    for text in texts:
        got, detail = _outcome(entry, expected, text, folder)
        yield ExampleResult(entry.ops, PATH, entry.line, expected, got, detail)


def texts_of(written: object) -> list[object]:
    """Return the value of ``refused`` or ``accepted`` as a list of examples, which may be empty."""
    return written if isinstance(written, list) else [] if written is None else [written]


def _outcome(entry: ConditionEntry, expected: Expected, text: object, folder: Path) -> tuple[Outcome, str]:
    try:
        example = read_example(entry.condition.applies, text)
        model = model_of_text(example.text, folder / f"{entry.line}.onnx", checked=example.checked)
    except (ModelTextError, ValueError) as error:
        return "unreadable", str(error)
    product = example.target.product
    reasons = [
        (condition, rejection.says)
        for condition, rejection in rejections(facts_of(model, weights=True))
        if example.line in lines_of(product, rejection.versions.get(product, "none"))
    ]
    if any(condition is entry.condition for condition, _ in reasons):
        return "refused", ""
    # Refusals that depend on the GPU do not count, because another GPU accepts the model.
    others = [says for condition, says in reasons if condition is None or condition.min_sm is None]
    if others and expected == "accepted":
        return "refused", others[0]
    return "accepted", f"the model is refused for another reason: {others[0]}" if others else ""


def read_example(applies: Mapping[Product, str], text: object) -> ConditionExample:
    """Parse an example of an entry. ``applies`` maps each product to the entry's range of releases.

    Raises:
        ValueError: the text is not an example, or names an unknown option, release or GPU.
    """
    begin = _MODEL.search(text) if isinstance(text, str) else None
    if begin is None or not isinstance(text, str):
        raise ValueError("an example must be a model or a list of models")
    words, model = shlex.split(text[: begin.start()]), text[begin.start() :]
    opset = taken(words, "opset")
    if opset is not None and not opset.isdecimal():
        raise ValueError(f"opset must be a number, not {opset!r}")
    target, _ = target_of(applies, [word for word in words if word != "unchecked"])
    release = target.version or newest(applies, target.product)
    return ConditionExample(
        line=".".join(release.split(".")[:2]),
        target=replace(target, version=release),
        text=model if model.startswith("<") else _HEADER.format(opset or _OPSET) + model,
        checked="unchecked" not in words,
    )
