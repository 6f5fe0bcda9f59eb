"""One file fixed: read, rewrite, check, and write beside it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import onnx

from trtlint.engine.finding import ModelReport
from trtlint.facts.facts import Facts
from trtlint.files.regular import open_regular
from trtlint.fixes.session import Linted, Outcome, Prove, Session
from trtlint.model.check import fault
from trtlint.model.inline import inline
from trtlint.model.load import Model, interpret
from trtlint.model.reader import RawModel, decode, read
from trtlint.model.writer import write

KEY = "trtlint.fixes"
"""The key of a model's ``metadata_props`` under which it says what was done to it."""
_CHUNK = 1 << 20

Judge = Callable[[Model], tuple[Facts, tuple[ModelReport, ...]]]
"""Lints a model: its facts, and its reports, one a target."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A file that was looked at, and what came of it.

    Attributes:
        path: the source.
        hashed: gives the digest, which is computed meanwhile.
        outcome: what was done.
        proto: the structure of the fixed model; that of the source where nothing was done.
        fault: what the checker finds wrong with it, empty where it is valid.
        functions: whether the model's functions were replaced by their bodies.
    """

    path: Path
    hashed: Future[str]
    outcome: Outcome
    proto: onnx.ModelProto
    fault: str
    functions: bool

    @property
    def digest(self) -> str:
        """SHA-256 of the source file, external data apart."""
        return self.hashed.result()

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
    pool = ThreadPoolExecutor(max_workers=1)
    hashed = pool.submit(_digest, path)  # hashing lets other threads run
    pool.shutdown(wait=False)
    outcome = Session(_lint_with(judge, path, raw), unsafe=unsafe, prove=prove).run(proto, keep)
    fixed = outcome.after.proto
    wrong = fault(fixed) if outcome.applied else ""
    return Fixed(path, hashed, outcome, fixed, wrong, raw.has_functions)


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
            "source": f"sha256:{fixed.digest}",
            "fixes": [{"rule": rule, "fix": fix, "sites": places} for (rule, fix), places in sites.items()],
            "proofs": list(proofs),
        }
        entry = onnx.StringStringEntryProto(key=KEY, value=json.dumps(value))
        return onnx.ModelProto(metadata_props=[entry])

    write(proto, fixed.path, out, note)


def _lint_with(judge: Judge, path: Path, raw: RawModel) -> Callable[[onnx.ModelProto], Linted]:
    def lint(proto: onnx.ModelProto) -> Linted:
        model = interpret(path, proto.SerializeToString(), raw.tensors)
        return Linted(proto, *judge(model))

    return lint


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
