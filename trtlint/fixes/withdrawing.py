"""Find and undo rewrites that make the whole model worse or invalid.

trtlint applies rewrites in rounds, and stores the model before each round. A binary search finds the first
round after which the check of the model fails. Another search finds the bad patch in this round. Then all
rounds run again without this patch, because later rewrites may depend on the bad patch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx

from trtlint.errors import TrtlintError
from trtlint.files.limits import FOR_THE_END, current
from trtlint.fixes.edit import EditError, apply
from trtlint.fixes.outcome import FixOutcome, Key, RefusedFix
from trtlint.fixes.patch import Patch

MOST_CHECKS = 24
"""Maximum number of checks of a whole model.  At the limit, rewrites with unchecked results are undone."""

Check = Callable[[onnx.ModelProto, tuple[Patch, ...]], str]
"""Function that checks a patched model.

The function returns an error message, or an empty string if the model is as good as its source.
"""
Run = Callable[[Mapping[Key, str]], FixOutcome]
"""Function that rewrites the model, and skips the rewrites with the given keys."""


class _SpentError(TrtlintError):
    """Error: the maximum number of checks is reached."""


def withdrawing(run: Run, check: Check) -> FixOutcome:
    """Rewrite a model, and skip the rewrites that make the model worse.

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
    """Find the first patch after which the check of the model fails.

    Args:
        outcome: the applied rounds.
        check: function that checks a rewritten model, and returns an error message. The message is empty if
            the model is good.
        why: the error of the check after the last round.

    Returns:
        A tuple of:

        - the number of good rounds
        - the keys of the rewrites in the bad patch; empty if the maximum number of checks was reached
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
