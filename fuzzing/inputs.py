"""Kinds of input files: their seeds, changes and checks."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError, EncodeError

from fuzzing.seeds import BASELINES, CONFIGURATIONS, MEASUREMENTS, TRITON
from fuzzing.texts import change_bytes, change_text
from fuzzing.trees import change_json, change_message
from tests.buildfiles.vectors import read_with
from trtlint import Report, Target
from trtlint.buildcommand import CommandError
from trtlint.buildcommand.triton import read_config
from trtlint.buildfiles.errors import BuildFileError
from trtlint.buildfiles.gather import by_itself
from trtlint.case import Case
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.engine.rule import RuleError
from trtlint.engine.rulebook import load_builtin, rule_files
from trtlint.engine.rulefile import load_rule
from trtlint.engine.ruleset import RuleSet
from trtlint.errors import SettingError
from trtlint.files.limits import LimitError, limit_work
from trtlint.measurement.measurement import UnusableMeasurementError, read_measurement
from trtlint.policy.baseline import Baseline, BaselineError
from trtlint.policy.options import LintOptions, TargetOptions
from trtlint.policy.settings import SettingsReader
from trtlint.report.json import dumps
from trtlint.runs.evidence import evidence_of_build
from trtlint.runs.exits import Exit
from trtlint.runs.inputs import tasks_of
from trtlint.runs.job import Job, Outcome
from trtlint.runs.worker import lint_job

ROOT = Path(__file__).resolve().parent.parent
TARGETS = (Target(version="8.6"), Target(version="10.7", gpu="L4", asked=frozenset({"fp16"})))
_MOST_CHANGES = 5
_LONGEST = 2000
"""Maximum number of characters of an error, which may contain a long path."""
_SMALL = 64 << 10
"""Maximum size of a seed model in bytes, so that a case takes only milliseconds."""

Change = Callable[[bytes, random.Random], bytes]


class BugError(Exception):
    """Error: a file caused a bug of trtlint."""


@dataclass(frozen=True, slots=True)
class Input:
    """A kind of file.

    Attributes:
        name: name of the kind.
        file: name of a generated file.
        seeds: real files.
        change: function that changes the content of a file.
        check: function that reads a file as the command does. The function raises a BugError for a bug. It
            passes on other exceptions if the command would fail.
    """

    name: str
    file: str
    seeds: Callable[[], Sequence[bytes]]
    change: Change
    check: Callable[[Path], None]


def made(kind: Input, case: int) -> bytes:
    """Return the file of a case; the same case always gives the same file."""
    chance = random.Random(f"{kind.name}:{case}")
    data = chance.choice(kind.seeds())
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        data = kind.change(data, chance)
    return data


@cache
def _models() -> Sequence[bytes]:
    files = [
        *sorted((ROOT / "tests" / "data" / "models").glob("*.onnx")),
        *sorted(ROOT.glob("examples/*.onnx")),
    ]
    found = [file.read_bytes() for file in files if file.stat().st_size <= _SMALL]
    if not found:
        raise FileNotFoundError("no models to begin with")
    return found


@cache
def _rule_texts() -> Sequence[bytes]:
    return [file.read_bytes() for file in rule_files(ROOT / "rules")]


def _blocks(kind: str) -> list[bytes]:
    """Return the examples of one kind in the rules."""
    found = []
    for text in _rule_texts():
        parts = text.decode().split(f"\n```{kind}")
        found += [part.partition("\n")[2].partition("\n```")[0].encode() for part in parts[1:]]
    return found


@cache
def _logs() -> Sequence[bytes]:
    real = gzip.decompress((ROOT / "examples" / "nafnet.build.log.gz").read_bytes())
    return [*_blocks("log"), real, real[: len(real) // 2]]


@cache
def _layers() -> Sequence[bytes]:
    return [*_blocks("layers"), *_blocks("profile")]


def _change_model(data: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.2:
        return change_bytes(data, chance)
    try:
        proto = onnx.ModelProto.FromString(data)
        if chance.random() < 0.1:
            _into_function(proto, chance)
        else:
            change_message(proto, chance)
        return bytes(proto.SerializePartialToString())
    except (DecodeError, EncodeError, ValueError):  # data that are not a model, nested too deep, or not UTF-8
        return change_bytes(data, chance)


def _into_function(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Move some nodes into a model-local function that has the name of an operator."""
    nodes = list(proto.graph.node)
    if not nodes:
        return
    node = chance.choice(nodes)
    function = proto.functions.add(name=node.op_type, domain=node.domain)
    function.input.extend(node.input)
    function.output.extend(node.output)
    function.node.extend(chance.sample(nodes, min(len(nodes), chance.randint(0, 5))))


def _text_change(seeds: Callable[[], Sequence[bytes]]) -> Change:
    def change(data: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.05:
            return change_bytes(data, chance)
        other = chance.choice(seeds()).decode("utf-8", "replace")
        changed = change_text(data.decode("utf-8", "surrogateescape"), [other], chance)
        return (
            changed.encode("utf-8", "surrogateescape" if chance.random() < 0.5 else "replace")
            if (_encodable(changed))
            else changed.encode("utf-8", "replace")
        )

    return change


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _change_log(data: bytes, chance: random.Random) -> bytes:
    if data[:2] == b"\x1f\x8b" or data[:2] == b"\xff\xfe":
        return change_bytes(data, chance)
    chosen = chance.random()
    if chosen < 0.02:
        return gzip.compress(data, mtime=0)
    if chosen < 0.04:
        return b"\xff\xfe" + data.decode("utf-8", "replace").encode("utf-16-le", "replace")
    return _text_change(_logs)(data, chance)


def _json_change(seeds: Callable[[], Sequence[bytes]]) -> Change:
    def change(data: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.3:
            return _text_change(seeds)(data, chance)
        try:
            root = json.loads(data)
        except (ValueError, RecursionError):
            return change_bytes(data, chance)
        return json.dumps(change_json(root, chance), ensure_ascii=chance.random() < 0.5).encode(
            "utf-8", "replace"
        )

    return change


@cache
def _rules() -> RuleSet:
    return RuleSet(load_builtin().entries)


def _lint(model: Path, targets: Sequence[Target] = TARGETS[1:], **known: Any) -> Outcome:
    return lint_job(Job(Case(model, tuple(targets), _rules(), **known), model.name))


def _judge(outcome: Outcome) -> None:
    """Raise an error for an outcome that is a bug; check that other outcomes can be printed."""
    problems = [problem.message for report in outcome.reports for problem in report.errors]
    if outcome.exit == Exit.BUG:
        raise BugError(problems[0] if problems else "exit code 4")
    for message in problems:
        if "\n" in message:
            raise BugError(f"an error of several lines: {message!r}")
    dumps(Report(outcome.reports))


def _check_model(path: Path) -> None:
    _judge(_lint(path, TARGETS))


def _check_build(path: Path) -> None:
    for gathered in by_itself([(str(path), "any")]):
        read = evidence_of_build(gathered)
        _judge(_lint(gathered.path, evidence=read.evidence, problems=read.problems, alone=True))


def _check_log(path: Path) -> None:
    _check_build(path)
    try:
        with limit_work(path):
            one, other = (read_with(path, vectorised=vectorised) for vectorised in (False, True))
    except (BuildFileError, LimitError):
        return
    if one != other:
        raise BugError("reading the log with vectors and without vectors gives different results")


def _check_configuration(path: Path) -> None:
    options = LintOptions((str(path.with_name("model.onnx")),), TargetOptions())
    try:
        tasks_of(SettingsReader(options, lambda _: None), options)
    except SettingError as error:
        if not str(error) or "\n" in str(error):
            raise BugError(f"not one line: {error}") from error


def _check_rule(path: Path) -> None:
    try:
        rule = load_rule(path)
    except RuleError as error:
        if "\n" in str(error):
            raise BugError(f"not one line: {error}") from error
        return
    with limit_work(path):
        dumps(Report(Case(_model_beside(path), tuple(TARGETS[1:]), RuleSet.of([rule])).evaluated()))


def _model_beside(path: Path) -> Path:
    """Return a model for files that refer to a model."""
    model = path.with_name("model.onnx")
    if not model.exists():
        model.write_bytes(_models()[0])
    return model


def _check_triton(path: Path) -> None:
    model = _model_beside(path)
    with _one_line(CommandError):
        command = read_config(path)
        _judge(_lint(model, command=command))


def _check_baseline(path: Path) -> None:
    model = _model_beside(path)
    with _one_line(BaselineError):
        baseline = Baseline.read(path)
        found = _lint(model).reports
        ids = frozenset(entry.id for entry in _rules())
        dumps(Report(baseline.apply(model, found, ids, ids)))
        baseline.shrink()
        if len(Baseline.read(path)) != len(baseline):
            raise BugError("the written baseline has a different number of entries when it is read")


def _check_measurement(path: Path) -> None:
    model = _model_beside(path)
    with _one_line(UnusableMeasurementError):
        measured = read_measurement(path)
        _judge(_lint(model, evidence=(RangeEvidence(measured),)))


@contextmanager
def _one_line(kind: type[Exception]) -> Iterator[None]:
    """Accept an error of a kind if its text is one readable line."""
    try:
        yield
    except kind as error:
        if "\n" in str(error) or len(str(error)) > _LONGEST:
            raise BugError(f"not one line: {str(error)[:_LONGEST]}") from error


def _rule_seeds() -> Sequence[bytes]:
    """Return rules that all have one id and one name, because the name of the file must match both."""
    return [_renamed(text) for text in _rule_texts()]


@cache
def _renamed(text: bytes) -> bytes:
    lines = text.split(b"\n")
    ours = {b"id:": b"id: ZZZ999", b"nam": b"name: fuzz"}
    return b"\n".join(ours.get(line[:3], line) if index < 4 else line for index, line in enumerate(lines))


INPUTS: Mapping[str, Input] = {
    kind.name: kind
    for kind in (
        Input("model", "model.onnx", _models, _change_model, _check_model),
        Input("log", "build.log", _logs, _change_log, _check_log),
        Input("layers", "layers.json", _layers, _json_change(_layers), _check_build),
        Input(
            "configuration",
            "trtlint.toml",
            lambda: CONFIGURATIONS,
            _text_change(lambda: CONFIGURATIONS),
            _check_configuration,
        ),
        Input("rule", "ZZZ999-fuzz.md", _rule_seeds, _text_change(_rule_seeds), _check_rule),
        Input("triton", "config.pbtxt", lambda: TRITON, _text_change(lambda: TRITON), _check_triton),
        Input("baseline", "base.json", lambda: BASELINES, _json_change(lambda: BASELINES), _check_baseline),
        Input(
            "ranges",
            "ranges.json",
            lambda: MEASUREMENTS,
            _json_change(lambda: MEASUREMENTS),
            _check_measurement,
        ),
    )
}
"""Every kind by its name."""
