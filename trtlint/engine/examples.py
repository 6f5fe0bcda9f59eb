"""The examples in rule files, which are their tests.

Below the headings ``## Fires`` and ``## Stays silent``, each fenced block ``onnx`` is a small model
in ONNX's text form (https://github.com/onnx/onnx/blob/main/docs/Syntax.md).  Words behind ``onnx``
say what it is built for, as on the command line: ``onnx --trt 10.7 --fp16``.  An example without
them is evaluated for the newest known release that the rule applies to.  ``--build "trtexec ..."`` is
the command that builds it, ``--from 8.6`` the version that an upgrade leaves.  The word ``unchecked``
stands before a model that the ONNX checker would refuse.  ``at: conv1,conv2`` names all the nodes that
the rule fires at, ``times: 2`` says at how many places it does.  Beyond ONNX's text form, lines that begin
with ``#`` are comments, a tensor without elements, ``float[64,3,7,7] w = {}``, is filled with zeros,
and elements of ``float16`` and ``bfloat16`` are written as numbers.

A fenced block ``log`` holds lines of a build log, ``layers`` the JSON of ``--exportLayerInfo``,
``profile`` that of ``--exportProfile``, ``plan`` the product and version of an engine, ``ranges`` what
was measured (:mod:`trtlint.measurement.measuredtext`).  Blocks of
different kinds between which nothing stands are one example: a model and its build.  What the log
settles is the target; words behind the first of the blocks come before it.  A block ``dry-build`` holds
the result of a dry build as JSON (:class:`~trtlint.dry_build.result.Result`), whose log stands before it.
A block ``torch-script`` holds a Python script, ``torch-program`` an exported program as JSON, each for the
release behind ``--torch-tensorrt``.
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from trtlint.buildcommand import BuildCommand, CommandError, read_commands
from trtlint.buildfiles.errors import BuildFileError
from trtlint.engine.evaluate import evaluate
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.exampleblocks import RELEASE, Block, evidence_of, example_facts, examples_in
from trtlint.engine.examplemodel import BrokenTextError, ModelTextError, model_of_text
from trtlint.engine.rule import Rule, RuleError
from trtlint.knowledge.nearest import did_you_mean
from trtlint.knowledge.ranges import matching
from trtlint.knowledge.releases import PRODUCTS, Product
from trtlint.knowledge.torchreleases import TorchReleaseError, torch_release
from trtlint.lean import dataclass
from trtlint.measurement.measuredtext import MeasuredTextError
from trtlint.target.completion import complete
from trtlint.target.flags import Flag
from trtlint.target.parsing import TargetError
from trtlint.target.target import Target
from trtlint.torch_tensorrt.calls import ScriptError

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
"""What an example of a rule gives: a finding, one at other places than it says, one that depends on the
target, none; or it is no model, it ends the process that reads it (or reaches a limit), or what a rule must
have is missing.  One of a condition of the parser is
refused or accepted; one of a rewrite fixed, left as it is, or made something different."""

_SHOWN = 5
"""Places that are named where an example fires elsewhere."""
_SECTIONS: dict[str, Literal["fires", "silent"]] = {"fires": "fires", "stays silent": "silent"}


@dataclass(frozen=True, slots=True)
class Example:
    """One example of a rule file.

    Attributes:
        line: line of the file (from 1) where its fence begins.
        expected: what it must give.
        target: what it is built for; without a version the newest that the rule applies to.
        command: the command that it is built with, None where there is none.
        blocks: the model, what its build left behind, or both.
        checked: whether the ONNX checker must accept it.
        at: the nodes that the rule fires at, None where it does not say.
        times: at how many places it fires, None where it does not say.
    """

    line: int
    expected: Literal["fires", "silent"]
    target: Target
    command: BuildCommand | None
    blocks: tuple[Block, ...]
    checked: bool
    at: frozenset[str] | None = None
    times: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an example, or of the demand that there be one.

    Attributes:
        rule: id of the rule, or the operators of a condition.
        path: the rule file, or the table of conditions.
        line: line of the example, or where one is missing.
        expected: what it must give.
        got: what it gives.
        detail: why it cannot be read, or what is missing.
    """

    rule: str
    path: Path
    line: int
    expected: Outcome
    got: Outcome
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether the example gives what it must."""
        return self.expected == self.got

    def __str__(self) -> str:
        detail = f": {self.detail}" if self.detail else ""
        if self.got == "missing":
            return f"{self.path}:{self.line}: {self.rule}{detail}"
        return f"{self.path}:{self.line}: {self.rule}: expected {self.expected}, got {self.got}{detail}"


Begin = Callable[[Result], bool]
"""Is told which example begins, as its result before there is one, and says whether it is to run."""


def always(_: Result) -> bool:
    """Run every example."""
    return True


def run_examples(
    rules: Iterable[Rule], fixes: Collection[str] | None = None, begin: Begin = always
) -> Iterator[Result]:
    """Run every example of some rules, each rule against its own examples only.

    A rule without an example that fires, one that stays silent, or a public reference gives a
    result that is not ok, and so does one that names a fix that does not exist.

    Args:
        rules: the rules.
        fixes: the names of the fixes that there are, None where they are not known.
        begin: is asked before each example.

    Raises:
        RuleError: an example stands in no section, is not closed, or names a target that does not
            exist.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-") as folder:
        for rule in rules:
            found = examples(rule)
            for expected in ("fires", "silent"):
                if not any(example.expected == expected for example in found):
                    words = "fires" if expected == "fires" else "stays silent"
                    yield _missing(rule, expected, f"no example that {words}")
            if not rule.references:
                yield _missing(rule, "fires", "no public reference")
            for name in {advice.fix for advice in rule.advice if advice.fix is not None}:
                if fixes is not None and name not in fixes:
                    hint = did_you_mean(name, fixes)
                    yield _missing(rule, "fires", f"there is no fix {name!r}{hint}")
            for example in found:
                if begin(Result(rule.id, rule.path, example.line, example.expected, "broken")):
                    yield _run(rule, example, Path(folder))


def _missing(rule: Rule, expected: Outcome, detail: str) -> Result:
    return Result(rule.id, rule.path, 1, expected, "missing", detail)


def _run(rule: Rule, example: Example, folder: Path) -> Result:
    got, detail = _outcome(rule, example, folder)
    return Result(rule.id, rule.path, example.line, example.expected, got, detail)


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
    except (BuildFileError, MeasuredTextError, ScriptError, TorchReleaseError) as error:
        return "unreadable", " ".join(str(error).split())
    record = next((each.record for each in evidence if isinstance(each, BuildEvidence)), None)
    target = example.target if record is None else complete(example.target, record).target
    if target.version is None:
        target = replace(target, version=newest(rule.applies, target.product))
    facts = example_facts(model, example.command, evidence)
    report = evaluate((rule,), facts, target)
    if report.findings:
        return _placed(example, [site.node for finding in report.findings for site in finding.sites])
    if report.conditional:
        return "conditional", f"depends on {' '.join(report.conditional[0].depends)}"
    return "silent", ""


def _placed(example: Example, nodes: list[str]) -> tuple[Outcome, str]:
    """Whether an example fires where and as often as it says."""
    places = ", ".join(node or "the whole model" for node in nodes[:_SHOWN])
    places += ", ..." if len(nodes) > _SHOWN else ""
    wrong = example.at is not None and example.at != set(nodes)
    if wrong or example.times not in (None, len(nodes)):
        return "elsewhere", f"{len(nodes)} times, at {places}"
    return "fires", f"at {places}"


def examples(rule: Rule) -> list[Example]:
    """The examples in a rule's body, in its order.

    Raises:
        RuleError: see :func:`run_examples`.
    """
    # What stands below "## Fixed" is for who knows the rewrites.
    return [_example(rule, blocks) for blocks in examples_in(rule) if blocks[0].section != "fixed"]


def _example(rule: Rule, blocks: tuple[Block, ...]) -> Example:
    first = blocks[0]
    if first.section not in _SECTIONS:
        raise RuleError(
            rule.path, first.line, "an example must stand below '## Fires', '## Stays silent' or '## Fixed'"
        )
    try:
        words = shlex.split(first.options)
        checked = "unchecked" not in words
        at, times = _taken(words, "at:"), _taken(words, "times:")
        if times is not None and not (times.isdecimal() and len(times) < 10):
            raise ValueError(f"times: needs a number, not {times!r}")
        if _SECTIONS[first.section] == "silent" and (at, times) != (None, None):
            raise ValueError("an example that stays silent has no places")
        target, command = target_of(rule.applies, [word for word in words if word != "unchecked"])
        if target.version is None and first.kind == "onnx" and len(blocks) == 1:
            target = replace(target, version=newest(rule.applies, target.product))
    except ValueError as error:  # of shlex and, as TargetError, of Target
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


def _taken(words: list[str], name: str) -> str | None:
    """The word behind a name, both taken out of the words; None where the name is not there."""
    if name not in words:
        return None
    place = words.index(name)
    value = "".join(words[place + 1 : place + 2])
    del words[place : place + 2]
    return value


def target_of(applies: Mapping[Product, str], words: Iterable[str]) -> tuple[Target, BuildCommand | None]:
    """The target and the command that options as on the command line describe.

    Args:
        applies: the versions that the example is about, by product.
        words: the options.

    Raises:
        TargetError: there is no such option, release or GPU.
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
                raise TargetError(f"--build {text!r} is no trtexec command") from None
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
    """The newest known release that something applies to.

    Raises:
        TargetError: it applies to none.
    """
    versions = matching(product, applies[product]) if product in applies else ()
    if not versions:
        raise TargetError(f"no known release of {PRODUCTS[product]} applies; give --trt or --rtx")
    return str(versions[-1])
