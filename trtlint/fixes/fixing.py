"""One model fixed: rewrite, check, and write beside it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from trtlint.files.regular import open_regular
from trtlint.lean import dataclass
from trtlint.measurement.identity import digest_of
from trtlint.model.reader import RawModel
from trtlint.model.writer import write

if TYPE_CHECKING:
    from trtlint.fixes.outcome import Applied, Key, Outcome, Prove
    from trtlint.fixes.patch import Patch
    from trtlint.fixes.relint import Judge
    from trtlint.fixes.source import Source
    from trtlint.fixes.withdrawing import Check

KEY = "trtlint.fixes"
"""The key of a model's ``metadata_props`` under which it says what was done to it."""
_HASHED_WHOLE = 64 << 20
"""Bytes of a file up to which all of it is hashed."""


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
    source: Source,
    judge: Judge,
    *,
    unsafe: bool = False,
    prove: Prove | None = None,
    keep: Sequence[str] = (),
    verify: Check | None = None,
) -> Fixed:
    """Fix one model, writing nothing.

    A rewrite with which the checker refuses the model, or with which the whole model is worse, is withdrawn
    alone.

    Args:
        source: the model.
        judge: lints it.
        unsafe: whether rewrites that are a choice are made.
        prove: proves patches on their own before they are kept.
        keep: paths of operators that are to compute in FP32.
        verify: says what is wrong with the whole model behind some patches.

    Raises:
        UnreadableError: it cannot be linted, or takes more than may be.
        OSError: it cannot be read.
    """
    # What it takes to rewrite a model is loaded while its weights are being copied.
    from trtlint.fixes.relint import checked, linting
    from trtlint.fixes.session import Session
    from trtlint.fixes.withdrawing import withdrawing
    from trtlint.model.check import fault

    lint = linting(judge, source.path, source.raw.tensors)

    def run(withdrawn: Mapping[Key, str]) -> Outcome:
        session = Session(lint, unsafe=unsafe, prove=prove, withdrawn=withdrawn)
        return session.run(source.proto, keep)

    def check(proto: onnx.ModelProto, patches: tuple[Patch, ...]) -> str:
        _, wrong = checked(proto, source.proto)
        if wrong:  # no rewrite can help where the source is no valid model
            return "" if fault(source.proto) else f"the checker refuses the model with it: {wrong}"
        return "" if verify is None else verify(proto, patches)

    outcome = withdrawing(run, check)
    fixed, wrong = outcome.after.proto, ""
    if outcome.applied:
        fixed, wrong = checked(fixed, outcome.before.proto)
    return Fixed(source.path, outcome, fixed, wrong, source.raw)


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
    write(described(fixed, proofs), fixed.raw.tensors, out)


def described(fixed: Fixed, proofs: Sequence[object] = ()) -> onnx.ModelProto:
    """The structure of a fixed model, with what was done to it in its metadata."""
    proto = onnx.ModelProto()
    proto.CopyFrom(fixed.proto)
    for index in range(len(proto.metadata_props) - 1, -1, -1):
        if proto.metadata_props[index].key == KEY:
            del proto.metadata_props[index]
    value = {
        "source": fixed.source,
        "fixes": _done(fixed.outcome),
        "proofs": list(proofs),
    }
    proto.metadata_props.add(key=KEY, value=json.dumps(value))
    return proto


def _done(outcome: Outcome) -> list[dict[str, object]]:
    """What was done, as JSON data: each rewrite with its places, and each proof of it once."""
    groups: dict[tuple[str, str], list[Applied]] = {}
    for applied in outcome.applied:
        groups.setdefault((applied.rule, applied.fix), []).append(applied)
    return [
        {
            "rule": rule,
            "fix": fix,
            "sites": [each.place for each in members],
            "proofs": list(
                {p.words: p.document for each in members if (p := each.proof) is not None}.values()
            ),
        }
        for (rule, fix), members in groups.items()
    ]


def _digest(path: Path, raw: RawModel) -> str:
    """The hash of a file, after its kind.

    ``sha256`` is that of the file, external data apart.  Of a large one only the structure and samples of
    each tensor count (``sampled-sha256``): hashing it takes longer than writing it.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > _HASHED_WHOLE:
            return f"sampled-sha256:{digest_of(raw)}"
        return f"sha256:{hashlib.sha256(file.read()).hexdigest()}"
