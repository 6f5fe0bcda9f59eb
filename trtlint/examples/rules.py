"""Run the examples in rule files, which test the rules.

Below the headings ``## Fires`` and ``## Stays silent``, each fenced block ``onnx`` is a small model in ONNX's
text form (https://github.com/onnx/onnx/blob/main/docs/Syntax.md, extended by
:mod:`trtlint.examples.models`).  The words after ``onnx`` are options, most of them options of the
command line:

- ``--trt 10.7 --fp16`` is the target. Without a version, the target is the newest known release that the rule
  applies to.
- ``--build "trtexec ..."`` is the build command.
- ``--from 8.6`` is the version before an upgrade.
- ``unchecked`` marks a model that the ONNX checker rejects.
- ``at: conv1,conv2`` lists all nodes with findings.
- ``times: 2`` is the number of sites of the findings.

Blocks with a word other than ``onnx`` contain the files of a build or further evidence:

- ``log``: lines of a build log.
- ``layers``, ``profile``: JSON of ``--exportLayerInfo`` and ``--exportProfile``.
- ``plan``: product and version of an engine.
- ``ranges``: measured ranges (:mod:`trtlint.measurement.measuredtext`).
- ``dry-build``: result of a dry build as JSON (:class:`~trtlint.dry_build.result.DryBuildResult`). The log of
  the dry build, if the example has it, is in a ``log`` block.
- ``torch-script``: a Python script. The option ``--torch-tensorrt`` names the release of Torch-TensorRT.
- ``torch-program``: an exported program as JSON, with the same option.

Adjacent blocks of different kinds, such as a model and the log of its build, are one example.  The options of
the first block take precedence over the target in the log.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from trtlint.buildcommand import BuildCommand, CommandError, read_commands
from trtlint.buildfiles.errors import BuildFileError
from trtlint.case import facts_of
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.rule import Rule, RuleError
from trtlint.examples.blocks import RELEASE, ExampleBlock, evidence_of, examples_in
from trtlint.examples.models import BrokenTextError, ModelTextError, model_of_text
from trtlint.knowledge.nearest import did_you_mean
from trtlint.knowledge.ranges import matching
from trtlint.knowledge.releases import PRODUCTS, Product
from trtlint.knowledge.torchreleases import TorchReleaseError, torch_release
from trtlint.measurement.measuredtext import MeasuredTextError
from trtlint.target.completion import complete
from trtlint.target.flags import Flag
from trtlint.target.parsing import TargetError
from trtlint.target.target import Target
from trtlint.torch_tensorrt.syntax import PythonScriptError

Outcome = Literal[
    "fires",
    "elsewhere",
    "conditional",
    "silent",
    "unreadable",
    "broken",
    "missing",
    "refused",
    "accepted",
    "fixed",
    "left",
    "different",
]
"""Outcome of an example.

- For a rule: ``fires`` (a finding), ``elsewhere`` (a finding at other nodes), ``conditional`` (a finding that
  depends on the target), ``silent`` (no finding).
- For a model: ``unreadable`` (not a model), ``broken`` (ends the process that reads it, or exceeds a limit).
- ``missing``: the rule lacks a required part.
- For a condition: ``refused`` or ``accepted``.
- For a rewrite: ``fixed``, ``left`` (unchanged), or ``different`` (different results).
"""

_SHOWN = 5
"""The message about an ``elsewhere`` example names at most this number of nodes."""
_SECTIONS: dict[str, Literal["fires", "silent"]] = {"fires": "fires", "stays silent": "silent"}


class Example(Struct, frozen=True):
    """One example of a rule file.

    Attributes:
        line: line of the file (from 1) with the opening fence.
        expected: the expected outcome.
        target: the target; by default the newest version that the rule applies to.
        command: the build command; None without a build command.
        blocks: the code blocks with the model, with the files of its build, or with both.
        checked: whether the ONNX checker must accept the model.
        at: the expected nodes; None to accept any nodes.
        times: the expected number of sites; None to accept any number.
    """

    line: int
    expected: Literal["fires", "silent"]
    target: Target
    command: BuildCommand | None
    blocks: tuple[ExampleBlock, ...]
    checked: bool
    at: frozenset[str] | None = None
    times: int | None = None


class ExampleResult(Struct, frozen=True):
    """Result of an example, or of the check that a required example exists.

    Attributes:
        rule: id of the rule, or the operators of a table entry.
        path: the rule file, or the table (conditions.yaml or known_bad.yaml).
        line: line of the example, or the line where a missing example is reported.
        expected: the expected outcome.
        got: the outcome.
        detail: an explanation, such as the nodes with findings, or the reason why the example is unreadable.
    """

    rule: str
    path: Path
    line: int
    expected: Outcome
    got: Outcome
    detail: str = ""

    @property
    def ok(self) -> bool:
        """True if the example gives the expected outcome."""
        return self.expected == self.got

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        if self.got == "missing":
            return f"{self.path}:{self.line}: {self.rule}{detail}"
        return f"{self.path}:{self.line}: {self.rule}: expected {self.expected}, got {self.got}{detail}"


Begin = Callable[[ExampleResult], bool]
"""Function that is called before each example, and returns whether to run it.

The argument describes the example. The outcome in the argument is only a placeholder, because the example
has not run yet.
"""


def always(_: ExampleResult) -> bool:
    """Return True, so that every example runs."""
    return True


def run_examples(
    rules: Iterable[Rule], fixes: Collection[str] | None = None, begin: Begin = always
) -> Iterator[ExampleResult]:
    """Run the examples of rules.  Each rule runs only on the examples in its own file.

    A rule gets an additional, failed result in each of these cases:

    - The rule names an unknown fix.
    - The rule lacks a public reference.
    - The rule lacks an example below ``## Fires`` or below ``## Stays silent``.

    Args:
        rules: the rules.
        fixes: the names of all fixes; None if unknown.
        begin: function that is called before each example.  If it returns False, the example is skipped.

    Raises:
        RuleError: an example is not below one of the headings, is not closed, or names an unknown target.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        for rule in rules:
            found = examples(rule)
            for heading, expected in _SECTIONS.items():
                if not any(example.expected == expected for example in found):
                    yield _missing(rule, expected, f"no example below '## {heading.capitalize()}'")
            if not rule.references:
                yield _missing(rule, "fires", "no public reference")
            for name in {advice.fix for advice in rule.advice if advice.fix is not None}:
                if fixes is not None and name not in fixes:
                    hint = did_you_mean(name, fixes)
                    yield _missing(rule, "fires", f"unknown fix {name!r}{hint}")
            for example in found:
                if begin(ExampleResult(rule.id, rule.path, example.line, example.expected, "broken")):
                    got, detail = _outcome(rule, example, Path(folder))
                    yield ExampleResult(rule.id, rule.path, example.line, example.expected, got, detail)


def _missing(rule: Rule, expected: Outcome, detail: str) -> ExampleResult:
    return ExampleResult(rule.id, rule.path, 1, expected, "missing", detail)


def _outcome(rule: Rule, example: Example, folder: Path) -> tuple[Outcome, str]:
    text = next((block.text for block in example.blocks if block.kind == "onnx"), None)
    file = folder / f"{rule.id}-{example.line}.onnx"
    try:
        model = None if text is None else model_of_text(text, file, checked=example.checked)
        evidence = evidence_of(example.blocks, model)
    except BrokenTextError as error:
        return "broken", str(error)
    except ModelTextError as error:
        place = "" if error.line is None else f"line {example.line + error.line}: "
        return "unreadable", f"{place}{error}"
    except (BuildFileError, MeasuredTextError, PythonScriptError, TorchReleaseError) as error:
        return "unreadable", " ".join(str(error).split())
    record = next((each.record for each in evidence if isinstance(each, BuildEvidence)), None)
    target = complete(example.target, record).target
    if target.version is None:
        target = replace(target, version=newest(rule.applies, target.product))
    facts = facts_of(model, command=example.command, evidence=evidence, weights=True)
    report = evaluate((rule,), facts, target)
    if report.findings:
        return _placed(example, [site.node for finding in report.findings for site in finding.sites])
    if report.conditional:
        return "conditional", f"depends on {' '.join(report.conditional[0].depends)}"
    return "silent", ""


def _placed(example: Example, nodes: list[str]) -> tuple[Outcome, str]:
    """Return ``fires`` if the findings are at the expected nodes of the example, else ``elsewhere``.

    The second value is a text that lists the nodes with findings.
    """
    places = ", ".join(node or "the whole model" for node in nodes[:_SHOWN])
    places += ", ..." if len(nodes) > _SHOWN else ""
    wrong = example.at is not None and example.at != set(nodes)
    if wrong or example.times not in (None, len(nodes)):
        return "elsewhere", f"{len(nodes)} times, at {places}"
    return "fires", f"at {places}"


def examples(rule: Rule) -> list[Example]:
    """Return the examples in a rule's body, in order.

    Raises:
        RuleError: see :func:`run_examples`.
    """
    # Examples below "## Fixed" are for the tests of rewrites.
    return [_example(rule, blocks) for blocks in examples_in(rule) if blocks[0].section != "fixed"]


def _example(rule: Rule, blocks: tuple[ExampleBlock, ...]) -> Example:
    first = blocks[0]
    if first.section not in _SECTIONS:
        raise RuleError(
            rule.path, first.line, "an example must be below '## Fires', '## Stays silent' or '## Fixed'"
        )
    try:
        words = shlex.split(first.options)
        checked = "unchecked" not in words
        at, times = taken(words, "at:"), taken(words, "times:")
        if times is not None and not (times.isdecimal() and len(times) < 10):
            raise ValueError(f"times: must be a number, not {times!r}")
        if _SECTIONS[first.section] == "silent" and (at, times) != (None, None):
            raise ValueError("an example below '## Stays silent' must not have 'at:' or 'times:'")
        target, command = target_of(rule.applies, [word for word in words if word != "unchecked"])
        if target.version is None and first.kind == "onnx" and len(blocks) == 1:
            target = replace(target, version=newest(rule.applies, target.product))
    except ValueError as error:  # raised by shlex, and by Target as TargetError
        raise RuleError(rule.path, first.line, f"example: {error}") from None
    return Example(
        line=first.line,
        expected=_SECTIONS[first.section],
        target=target,
        command=command,
        blocks=blocks,
        checked=checked,
        at=None if at is None else frozenset(at.split(",")),
        times=None if times is None else int(times),
    )


def taken(words: list[str], name: str) -> str | None:
    """Remove an option and its value from ``words``. Return the value, or None if the option is absent."""
    if name not in words:
        return None
    place = words.index(name)
    value = "".join(words[place + 1 : place + 2])
    del words[place : place + 2]
    return value


def target_of(applies: Mapping[Product, str], words: Iterable[str]) -> tuple[Target, BuildCommand | None]:
    """Return the target and the build command that command-line options describe.

    Args:
        applies: for each product, the version range that the example is about.
        words: the options.

    Raises:
        TargetError: an option, release or GPU does not exist.
    """
    product: Product = "tensorrt" if "tensorrt" in applies else "tensorrt-rtx"
    version: str | None = None
    gpu: str | None = None
    previous: str | None = None
    plugins: frozenset[str] | None = None
    command: BuildCommand | None = None
    flags: dict[bool, set[Flag]] = {True: set(), False: set()}
    rest = iter(words)
    for word in rest:
        if word in ("--trt", "--rtx"):
            product, version = "tensorrt" if word == "--trt" else "tensorrt-rtx", next(rest, "")
        elif word == "--gpu":
            gpu = next(rest, "")
        elif word == "--plugins":
            plugins = frozenset(next(rest, "").split(",")) - {""}
        elif word == RELEASE:
            version = torch_release(next(rest, "")).tensorrt
        elif word == "--from":
            previous = next(rest, "")
        elif word == "--build":
            text = next(rest, "")
            try:
                command = read_commands(text)[0]
            except CommandError:
                raise TargetError(f"--build {text!r} is not a trtexec command") from None
        else:
            on = not word.startswith("--no-")
            name = word[2 if on else 5 :]
            flag = next((flag for flag in get_args(Flag) if flag == name and word.startswith("--")), None)
            if flag is None:
                raise TargetError(f"unknown option {word!r}")
            flags[on].add(flag)
    target = Target(
        product=product,
        version=version,
        gpu=gpu,
        asked=frozenset(flags[True]),
        refused=frozenset(flags[False]),
        previous=previous,
        plugins=plugins,
    )
    return target if command is None else target.completed(command.switches), command


def newest(applies: Mapping[Product, str], product: Product) -> str:
    """Return the newest known release of a product that is in the product's version range.

    Raises:
        TargetError: no known release is in the range.
    """
    versions = matching(product, applies[product]) if product in applies else ()
    if not versions:
        raise TargetError(
            f"the rule applies to no known release of {PRODUCTS[product]}; set --trt or --rtx in the example"
        )
    return str(versions[-1])
