"""Read the fenced blocks of an example in a rule file, and the evidence in these blocks."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from msgspec import Struct, convert

from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.layers import layers_from_json, parse_json
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.plan import PlanHeader
from trtlint.buildfiles.profile import profile_from_json
from trtlint.buildfiles.record import BuildRecord, FileContents, together
from trtlint.dry_build.drybuild import labelled
from trtlint.dry_build.result import DryBuild, DryBuildResult
from trtlint.engine.evidence.base import Evidence
from trtlint.engine.evidence.build import BuildEvidence
from trtlint.engine.evidence.dry_build import DryBuildEvidence
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.evidence.torch import TorchProgramEvidence, TorchScriptEvidence
from trtlint.engine.rule import Rule, RuleError
from trtlint.knowledge.releases import PRODUCTS
from trtlint.knowledge.torchreleases import torch_release
from trtlint.measurement.measuredtext import MeasuredTextError, measurement_of_text
from trtlint.model.load import Model
from trtlint.torch_tensorrt.calls import TorchScript, script_in
from trtlint.torch_tensorrt.program import Program, ProgramNode
from trtlint.torch_tensorrt.result import result_of

Kind = Literal[
    "onnx", "log", "layers", "profile", "plan", "dry-build", "ranges", "torch-script", "torch-program"
]
_KINDS: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
_MOST_BLOCKS = 300
"""Largest number of code blocks in a rule file. The limit exists because shape inference starts a process
for each model.
"""
RELEASE = "--torch-tensorrt"
"""Option that names the release of Torch-TensorRT for a block."""
_NAMES = {"log": "build.log", "layers": "layers.json", "profile": "profile.json", "plan": "model.plan"}


class ExampleBlock(Struct, frozen=True):
    """A fenced block of a rule file.

    Attributes:
        kind: the language of the block, such as ``onnx``.
        section: the second-level heading above the block, in lower case.
        line: line of the file (from 1) with the opening fence.
        options: the words after the language.
        text: the content.
    """

    kind: Kind
    section: str
    line: int
    options: str
    text: str


def examples_in(rule: Rule) -> list[tuple[ExampleBlock, ...]]:
    """Return the blocks of each example in a rule's body, in order.

    Adjacent blocks of different kinds, such as a model, a build log and the layers of the engine, are one
    example.  A model always begins a new example.

    Raises:
        RuleError: a block is not closed, or the rule has too many blocks.
    """
    found: list[list[ExampleBlock]] = []
    if rule.body.count("\n```") > 2 * _MOST_BLOCKS:
        raise RuleError(rule.path, 1, f"more than {_MOST_BLOCKS} code blocks")
    for block, apart in _blocks(rule):
        if apart or block.kind == "onnx" or block.kind in {other.kind for other in found[-1]}:
            found.append([])
        found[-1].append(block)
    return [tuple(blocks) for blocks in found]


def _blocks(rule: Rule) -> Iterator[tuple[ExampleBlock, bool]]:
    """Yield each block, and whether it begins a new group of blocks.

    A block begins a new group if a heading, text or a block of an unknown kind directly precedes the block.
    """
    section, fence, apart = "", None, True
    text: list[str] = []
    for number, line in enumerate(rule.body.split("\n"), rule.body_line):
        if line.startswith("```") and fence is None:
            word, _, options = line[3:].strip().partition(" ")
            fence, text = (number, word, options), []
        elif line.startswith("```") and fence is not None:
            start, word, options = fence
            if word in _KINDS:
                yield ExampleBlock(_KINDS[word], section, start, options, "\n".join(text)), apart
            apart, fence = word not in _KINDS, None
        elif fence is not None:
            text.append(line)
        elif line.startswith("## "):
            section, apart = line[3:].strip().lower(), True
        elif line.strip():
            apart = True
    if fence is not None:
        raise RuleError(rule.path, fence[0], "the code block is not closed")


def evidence_of(blocks: Sequence[ExampleBlock], model: Model | None) -> tuple[Evidence, ...]:
    """Return all evidence (builds, dry builds, ranges and Torch-TensorRT files) in the blocks of an example.

    Raises:
        BuildFileError: layers or times are not in TensorRT's format, or a dry build is not in trtlint's
            format.
        MeasuredTextError: a block ``ranges`` is not a measurement, or the example has no model.
    """
    found: list[Evidence] = []
    files = [_read(block) for block in blocks if block.kind in _NAMES]
    record = together(files) if files else None
    dry, ranges = (_text_of(kind, blocks) for kind in ("dry-build", "ranges"))
    if dry is not None:
        found.append(_dry_build(dry, record))
    elif record is not None:
        found.append(BuildEvidence(record))
    for block in blocks:
        if block.kind == "torch-script":
            found.append(_script(block))
        elif block.kind == "torch-program":
            found.append(_program(block))
    if ranges is not None:
        if model is None:
            raise MeasuredTextError("a code block 'ranges' must come after the code block of a model")
        found.append(RangeEvidence(measurement_of_text(ranges, model)))
    return tuple(found)


def _text_of(kind: Kind, blocks: Sequence[ExampleBlock]) -> str | None:
    return next((block.text for block in blocks if block.kind == kind), None)


def _dry_build(text: str, record: BuildRecord | None) -> DryBuildEvidence:
    """Return the dry build that a JSON block describes.

    ``record`` is the build that the remaining blocks describe, such as the log; None without such blocks.
    """
    try:
        result = convert(json.loads(text), DryBuildResult)
    except (ValueError, RecursionError) as error:
        raise BuildFileError(f"not the result of a dry build: {error}") from None
    return DryBuildEvidence(DryBuild(result, None if record is None else labelled(record, result)))


def _script(block: ExampleBlock) -> TorchScriptEvidence:
    return TorchScriptEvidence(TorchScript("script.py", _release(block), *script_in(block.text, "script.py")))


def _program(block: ExampleBlock) -> TorchProgramEvidence:
    """Return the exported program in a block, with the results of Torch-TensorRT if the block has them."""
    try:
        content = json.loads(block.text)
        nodes = convert(content["nodes"], tuple[ProgramNode, ...])
        run = result_of(content["answers"], "", 1.0, None) if "answers" in content else None
    except (TypeError, ValueError, KeyError, AttributeError, RecursionError) as error:
        raise BuildFileError(f"not a program: {error}") from None
    return TorchProgramEvidence(Program("model.pt2", _release(block), "", nodes, run))


def _release(block: ExampleBlock) -> str:
    """Return the release in the block's options, after ``--torch-tensorrt``."""
    words = block.options.split()
    return torch_release(words[words.index(RELEASE) + 1] if RELEASE in words[:-1] else "").version


def _read(block: ExampleBlock) -> FileContents:
    name, data = _NAMES[block.kind], block.text.encode()
    if block.kind == "log":
        return FileContents(name, read_log(io.BytesIO(data)))
    if block.kind == "plan":
        return FileContents(name, _plan(block.text))
    if block.kind == "layers":
        return FileContents(name, layers_from_json(parse_json(data)))
    return FileContents(name, profile_from_json(parse_json(data)))


def _plan(text: str) -> PlanHeader:
    """Parse the header of an engine, such as ``tensorrt 10.7.0``."""
    name, _, version = text.strip().partition(" ")
    product = next((each for each in PRODUCTS if each == name), None)
    if product is None or not version:
        raise BuildFileError("a code block 'plan' must name a product and a version, such as tensorrt 10.7.0")
    return PlanHeader(product, version)
