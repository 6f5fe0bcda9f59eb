"""Fix one model: apply rewrites, check the result, and write a new file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from msgspec import Struct

from trtlint.files.regular import open_regular
from trtlint.files.replace import replacing, require_replaceable
from trtlint.fixes.patch import delete
from trtlint.fixes.relint import checked, linting
from trtlint.fixes.session import FixSession
from trtlint.fixes.source import SourceModel
from trtlint.fixes.withdrawing import Check, withdrawing
from trtlint.measurement.identity import digest_of
from trtlint.model.check import checker_error
from trtlint.model.datafile import copy_data, data_file
from trtlint.model.writer import data_files, write

if TYPE_CHECKING:
    from trtlint.case import Case
    from trtlint.fixes.outcome import AppliedFix, FixOutcome, Key, Prove
    from trtlint.fixes.patch import Patch

KEY = "trtlint.fixes"
"""Key in ``metadata_props`` of a fixed model. The value of this key records the applied fixes."""
_HASHED_WHOLE = 64 << 20
"""Size of the largest file that is hashed completely, in bytes."""


class FixedModel(Struct, frozen=True):
    """Result of fixing one file.

    Attributes:
        model: the file before the fix, as it was read.
        outcome: the applied rewrites, and the refused rewrites with reasons.
        proto: the ONNX protobuf of the fixed model, or the original protobuf if nothing changed.
        fault: error of the ONNX checker for the fixed model; empty if the model is valid.
    """

    model: SourceModel
    outcome: FixOutcome
    proto: onnx.ModelProto
    fault: str

    @property
    def path(self) -> Path:
        """The file before the fix."""
        return self.model.path

    @property
    def source(self) -> str:
        """The hash method and a hash of the source file, such as ``sha256:9f86d0…``.

        ``sha256`` covers the whole file without external data. For a large file, the method is
        ``sampled-sha256``. This method covers the protobuf without its weights, and samples of each weight.
        Hashing a large file completely would take longer than writing the file.
        """
        with open_regular(self.path) as file:
            if os.fstat(file.fileno()).st_size > _HASHED_WHOLE:
                return f"sampled-sha256:{digest_of(self.model.raw)}"
            return f"sha256:{hashlib.sha256(file.read()).hexdigest()}"

    @property
    def changed(self) -> bool:
        """True if a rewrite was applied."""
        return bool(self.outcome.applied)


def fix_file(
    source: SourceModel,
    case: Case,
    *,
    unsafe: bool = False,
    prove: Prove | None = None,
    keep: Sequence[str] = (),
    verify: Check | None = None,
) -> FixedModel:
    """Rewrite one model until no fixable finding is left.

    The function does not write the new model to a file.

    trtlint undoes a rewrite in two cases: the ONNX checker rejects the rewritten model, or ``verify`` fails
    because of the rewrite. The remaining rewrites stay.

    Args:
        source: the model.
        case: the model, its targets and its evidence, to lint the model before and after each rewrite.
        unsafe: whether to apply unsafe rewrites.
        prove: function that proves patches, called before the patches are applied. For each patch, the
            function compares the results of the changed nodes before and after the patch.
        keep: paths of operators to keep in FP32, such as ``/model/norm/Sqrt``.
        verify: function that checks the whole rewritten model. The function returns an error message, or an
            empty string if the model is good.

    Raises:
        UnreadableError: the model cannot be linted, or exceeds a limit.
        OSError: the file cannot be read.
    """
    lint = linting(case, source)
    latest: tuple[onnx.ModelProto, tuple[onnx.ModelProto, str]] | None = None

    @cache
    def source_error() -> str:
        return checker_error(source.proto)

    def checked_once(proto: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
        """Run the ONNX checker. If the last check was of the same model, return its result."""
        nonlocal latest
        if latest is None or latest[0] is not proto:
            latest = proto, checked(proto, source_error)
        return latest[1]

    def run(withdrawn: Mapping[Key, str]) -> FixOutcome:
        session = FixSession(lint, unsafe=unsafe, prove=prove, withdrawn=withdrawn)
        return session.run(source.proto, keep)

    def check(proto: onnx.ModelProto, patches: tuple[Patch, ...]) -> str:
        _, wrong = checked_once(proto)
        if wrong:  # if the source is also invalid, no rewrite is at fault
            return "" if source_error() else f"the ONNX checker rejects the rewritten model: {wrong}"
        return "" if verify is None else verify(proto, patches)

    outcome = withdrawing(run, check)
    fixed, wrong = outcome.after.proto, ""
    if outcome.applied:
        fixed, wrong = checked_once(fixed)
    return FixedModel(source, outcome, fixed, wrong)


def write_fixed(
    fixed: FixedModel,
    out: Path,
    proofs: Sequence[object] = (),
    protected: Iterable[Path] = (),
    *,
    with_data: bool = True,
) -> None:
    """Write a fixed model to a file. The applied fixes are listed in the metadata of the new file.

    In the folder of the original model, both models use the same external data. In another folder, the
    external data are copied to ``OUT.data``.

    Args:
        fixed: the model.
        out: the file to write.
        proofs: results of the checks of the whole model, as JSON data.
        protected: further files that must not be replaced.
        with_data: false to copy no external data to another folder.

    Raises:
        ModelError: the source has changed since it was read, or its external data cannot be read.
        OSError: a file cannot be written, or contains external data of the original model.
    """
    proto, source = described(fixed, proofs), fixed.model
    # The fixed model does not name the external data of tensors that a rewrite removed.
    protected = [*source.files, *protected]
    if with_data and not source.has_data_beside(out) and data_files(proto):
        require_replaceable(out, protected)
        data = data_file(out)
        # If the model cannot be written, the data of an earlier run stay.
        with replacing(data, protected) as file:
            proto = copy_data(proto, source.raw.tensors, file, data.name)
            file.flush()
            write(proto, source.raw.tensors, out, protected)
        return
    write(proto, source.raw.tensors, out, protected)


def described(fixed: FixedModel, proofs: Sequence[object] = ()) -> onnx.ModelProto:
    """Return the ONNX protobuf of a fixed model, and list the applied fixes in its metadata.

    Args:
        fixed: the model.
        proofs: results of the checks of the whole model, as JSON data.
    """
    proto = deepcopy(fixed.proto)
    delete(proto.metadata_props, lambda entry: entry.key == KEY)
    value = {
        "source": fixed.source,
        "fixes": _done(fixed.outcome),
        "proofs": list(proofs),
    }
    proto.metadata_props.add(key=KEY, value=json.dumps(value))
    return proto


def _done(outcome: FixOutcome) -> list[dict[str, object]]:
    """Return the applied rewrites as JSON data.

    All uses of one rewrite for one rule form one entry, which lists all changed nodes. If several nodes have
    equal proofs, the entry lists the proof once.
    """
    groups: dict[tuple[str, str], list[AppliedFix]] = {}
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
