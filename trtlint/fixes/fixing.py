"""Fix one model: apply rewrites, check the result, and write a new file."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from msgspec import Struct

from trtlint.errors import TrtlintError
from trtlint.files.limits import FOR_THE_END, current
from trtlint.files.regular import open_regular
from trtlint.files.replace import replacing, require_replaceable
from trtlint.fixes.edit import EditError, apply
from trtlint.fixes.outcome import FixOutcome, Key, RefusedFix
from trtlint.fixes.patch import Patch, delete
from trtlint.fixes.relint import checked, linting
from trtlint.fixes.session import FixSession
from trtlint.fixes.source import SourceModel
from trtlint.measurement.identity import digest_of
from trtlint.model.check import checker_error
from trtlint.model.datafile import copy_data, data_file
from trtlint.model.writer import data_files, write

if TYPE_CHECKING:
    from trtlint.case import Case
    from trtlint.fixes.outcome import AppliedFix, Prove

KEY = "trtlint.fixes"
"""Key in ``metadata_props`` of a fixed model. The value of this key records the applied fixes."""
_HASHED_WHOLE = 64 << 20
"""Size of the largest file that is hashed completely, in bytes."""
MOST_CHECKS = 24
"""Maximum number of checks of a whole model.  At the limit, rewrites with unchecked results are undone."""
Check = Callable[[onnx.ModelProto, tuple[Patch, ...]], str]
"""Function that checks a patched model.

The function returns an error message, or an empty string if the model is as good as its source.
"""
Run = Callable[[Mapping[Key, str]], FixOutcome]
"""Function that rewrites the model, and skips the rewrites with the given keys."""


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


class _SpentError(TrtlintError):
    """Error: the maximum number of checks is reached."""


def withdrawing(run: Run, check: Check) -> FixOutcome:
    """Rewrite a model, and skip the rewrites that make the model worse.

    trtlint applies rewrites in rounds, and stores the model before each round. A binary search finds the
    first round after which the check of the model fails. Another search finds the bad patch in this round.
    Then all rounds run again without this patch, because later rewrites may depend on the bad patch.

    Args:
        run: function that rewrites the model. The function gets the rewrites to skip, with the reasons.
        check: function that checks a rewritten model, and returns an error message. The message is empty if
            the model is good.

    Returns:
        The final result. The model in this result passed the check, or is the unchanged original model.
    """
    left = MOST_CHECKS
    withdrawn: dict[Key, str] = {}
    fallback: FixOutcome | None = None

    def counted(proto: onnx.ModelProto, patches: tuple[Patch, ...]) -> str:
        nonlocal left
        # The first check always runs, even if little time is left.
        if left < MOST_CHECKS and (left <= 0 or ((time := current()) and time.left_but(FOR_THE_END) < 0)):
            raise _SpentError
        left -= 1
        return check(proto, patches)

    while True:
        outcome = run(withdrawn)
        if not outcome.applied:
            return outcome
        try:
            why = counted(outcome.after.proto, _patches(outcome, len(outcome.rounds)))
        except _SpentError:
            return fallback or outcome
        if not why:
            return outcome
        good, found, why = _search(outcome, counted, why)
        fallback = _first_rounds(outcome, good, f"withdrawn together with all later rewrites: {why}")
        if not found:
            return fallback
        names = {name for name, _ in found}
        if names & {name for name, _ in withdrawn}:  # a rewrite fails at two sites: withdraw it everywhere
            found |= {each.key for each in outcome.applied if each.fix in names}
            why = f"at another site: {why}"
        withdrawn |= dict.fromkeys(found, f"withdrawn: {why}")


def _search(outcome: FixOutcome, check: Check, why: str) -> tuple[int, set[Key], str]:
    """Find the first round and, in it, the first patch after which the check of the model fails.

    Args:
        outcome: the applied rounds.
        check: function that checks a rewritten model, and returns an error message. The message is empty if
            the model is good.
        why: the error of the check after the last round.

    Returns:
        A tuple of:

        - the number of rounds before the bad round
        - the keys of the rewrites in the bad patch; empty if the maximum number of checks was reached first
        - the error of the check
    """
    states = [state for state, _ in outcome.rounds]
    good, bad = 0, len(states)
    try:
        while bad - good > 1:
            middle = (good + bad) // 2
            if reason := check(states[middle].proto, _patches(outcome, middle)):
                bad, why = middle, reason
            else:
                good = middle
        state, patches = outcome.rounds[good]
        least, most = 0, len(patches)
        while most - least > 1:
            middle = (least + most) // 2
            try:
                proto = apply(state.proto, state.model.graph, patches[:middle])
            except EditError as error:
                most, why = middle, str(error)
                continue
            if reason := check(proto, (*_patches(outcome, good), *patches[:middle])):
                most, why = middle, reason
            else:
                least = middle
    except _SpentError:
        return good, set(), why
    return good, {each.key for each in outcome.applied if each.patch is patches[most - 1]}, why


def _patches(outcome: FixOutcome, rounds: int) -> tuple[Patch, ...]:
    """Return the patches of the first ``rounds`` rounds."""
    return tuple(patch for _, patches in outcome.rounds[:rounds] for patch in patches)


def _first_rounds(outcome: FixOutcome, rounds: int, reason: str) -> FixOutcome:
    """Return an outcome with only the first rounds. List the rewrites of all later rounds as refused.

    Args:
        outcome: the applied rounds.
        rounds: number of rounds to keep.
        reason: reason to record for the refused rewrites.
    """
    if rounds == len(outcome.rounds):
        return outcome
    kept = {id(patch) for patch in _patches(outcome, rounds)}
    made = [each for each in outcome.applied if id(each.patch) in kept]
    gone = [
        RefusedFix(each.rule, each.severity, each.fix, each.place, reason)
        for each in outcome.applied
        if id(each.patch) not in kept
    ]
    return FixOutcome(
        outcome.before,
        outcome.rounds[rounds][0],
        made,
        [*outcome.refused, *gone],
        outcome.rounds[:rounds],
    )
