"""One file fixed: read, rewrite, check, and write beside it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from trtlint.engine.finding import ModelReport
from trtlint.facts.facts import Facts
from trtlint.files.regular import open_regular
from trtlint.fixes.outcome import Linted, Outcome, Prove
from trtlint.fixes.session import Session
from trtlint.model.check import fault
from trtlint.model.inline import inline
from trtlint.model.load import Model, interpret, undeclared
from trtlint.model.reader import RawModel, decode, read
from trtlint.model.writer import write
from trtlint.trials.identity import digest_of

KEY = "trtlint.fixes"
"""The key of a model's ``metadata_props`` under which it says what was done to it."""
_HASHED_WHOLE = 64 << 20
"""Bytes of a file up to which all of it is hashed."""

Judge = Callable[[Model], tuple[Facts, tuple[ModelReport, ...]]]
"""Lints a model: its facts, and its reports, one a target."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file that was looked at, and what came of it.

    Attributes:
        path: the source.
        outcome: what was done.
        proto: the structure of the fixed model; that of the source where nothing was done.
        fault: what the checker finds wrong with it, empty where it is valid.
        raw: the source, as it was read.
    """

    path: Path
    outcome: Outcome
    proto: onnx.ModelProto
    fault: str
    raw: RawModel

    @property
    def functions(self) -> bool:
        """Whether the model's functions were replaced by their bodies."""
        return self.raw.has_functions

    @property
    def source(self) -> str:
        """What tells the source from other files: see :func:`_digest`."""
        return _digest(self.path, self.raw)

    @property
    def changed(self) -> bool:
        """Whether there is something to write."""
        return bool(self.outcome.applied)


def fix_file(
    path: Path,
    judge: Judge,
    *,
    unsafe: bool = False,
    prove: Prove | None = None,
    keep: Sequence[str] = (),
) -> Fixed:
    """Fix one file, writing nothing.

    Args:
        path: the file.
        judge: lints it.
        unsafe: whether rewrites that are a choice are made.
        prove: proves each patch on its own before it is kept.
        keep: paths of operators that are to compute in FP32.

    Raises:
        ModelError: the file is not a model that can be linted.
        OSError: it cannot be read.
    """
    raw = read(path, whole=True)
    proto = decode(raw.data)
    if raw.has_functions:
        raw.notes.extend(inline(proto))
    outcome = Session(_lint_with(judge, path, raw), unsafe=unsafe, prove=prove).run(proto, keep)
    fixed, wrong = _checked(outcome.after.proto) if outcome.applied else (outcome.after.proto, "")
    if wrong and fault(outcome.before.proto) == wrong:
        wrong = f"the checker refuses the source as well: {wrong}"
    return Fixed(path, outcome, fixed, wrong, raw)


def write_fixed(fixed: Fixed, out: Path, proofs: Sequence[object] = ()) -> None:
    """Write a fixed model, with what was done to it in its metadata.

    Args:
        fixed: the model.
        out: the file; external data stays where it is, so it must be in the folder of the source.
        proofs: JSON data of what was proven of the whole model.

    Raises:
        ModelError: the source changed meanwhile.
        OSError: the file cannot be written.
    """
    proto = onnx.ModelProto()
    proto.CopyFrom(fixed.proto)
    sites: dict[tuple[str, str], list[str]] = {}
    for applied in fixed.outcome.applied:
        sites.setdefault((applied.rule, applied.fix), []).append(applied.place)
    for index in range(len(proto.metadata_props) - 1, -1, -1):
        if proto.metadata_props[index].key == KEY:
            del proto.metadata_props[index]

    def note() -> onnx.ModelProto:
        value = {
            "source": fixed.source,
            "fixes": [{"rule": rule, "fix": fix, "sites": places} for (rule, fix), places in sites.items()],
            "proofs": list(proofs),
        }
        entry = onnx.StringStringEntryProto(key=KEY, value=json.dumps(value))
        return onnx.ModelProto(metadata_props=[entry])

    write(proto, fixed.raw.tensors, out, note)


def _checked(proto: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
    """A structure, and what the checker finds wrong with it.

    Types that the file declares of values in between go where they alone are wrong: they were so before.
    """
    wrong = fault(proto)
    if not wrong or not proto.graph.value_info:
        return proto, wrong
    bare = onnx.ModelProto()
    bare.CopyFrom(proto)
    del bare.graph.value_info[:]
    return (proto, wrong) if fault(bare) else (bare, "")


def _lint_with(judge: Judge, path: Path, raw: RawModel) -> Callable[[onnx.ModelProto], Linted]:
    def lint(proto: onnx.ModelProto) -> Linted:
        data, declared = undeclared(proto)
        model = interpret(path, data, raw.tensors, declared)
        return Linted(proto, *judge(model))

    return lint


def _digest(path: Path, raw: RawModel) -> str:
    """The hash of a file, after its kind.

    ``sha256`` is that of the file, external data apart.  Of a large one only the structure and samples of
    each tensor count (``sampled-sha256``): hashing it takes longer than writing it.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > _HASHED_WHOLE:
            return f"sampled-sha256:{digest_of(raw)}"
        return f"sha256:{hashlib.sha256(file.read()).hexdigest()}"
