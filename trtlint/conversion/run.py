"""Convert a model, check the result, and write the result to a file."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from trtlint.conversion import proving
from trtlint.conversion.buildline import with_shapes
from trtlint.conversion.measuring import rehearse
from trtlint.conversion.result import Conversion, ConversionCheck
from trtlint.conversion.rewriting import apply_to, proposals
from trtlint.conversion.session import (
    ConversionRequest,
    ConversionSession,
    Listen,
    PendingConversion,
    RewrittenDraft,
)
from trtlint.errors import TrtlintError
from trtlint.files.limits import limit_work
from trtlint.measurement.choosing import FREE
from trtlint.measurement.formats import FORMATS

_MOST_ROUNDS = 8
"""Maximum number of conversions of one model. After each one, the operators that the parser rejects in 16
bits stay in FP32.
"""
_MOST_PARSED = 256 << 20
"""Size of a model, in bytes.

For a larger model, the parser runs only if ONNX Runtime or the builder also runs.
"""
_MOST_REWRITES = 2
"""Number of attempts with rewrites: first all rewrites, then only the rewrites that helped."""
_SECONDS = 180.0
"""Default time limit, in seconds, for all runs of a small model together."""
_SECONDS_PER_BYTE = 0.25 / (1 << 20)
_MOST_SEARCHES = 3
"""Maximum number of searches for operators to keep in FP32. Each new search uses more inputs."""
_CLEAR = 0.95
"""If the error of a check is above this share of the tolerance, the search runs again with more inputs."""
_SHAPES = (
    "inputs of the model are dynamic; in the build command, replace each ? and each name of a dimension by "
    "your size"
)
_LEAST_SHARE = 0.5
"""If FP16 operators compute less than this share of the FLOPs, trtlint recommends BF16."""


def run(
    request: ConversionRequest,
    out: Path | None,
    *,
    command: str = "",
    sm: int | None = None,
    protected: Sequence[Path] = (),
    listen: Listen | None = None,
) -> tuple[Conversion, PendingConversion]:
    """Convert a model, and write the result unless a check fails.

    Args:
        request: the model and the settings of the conversion.
        out: the file to write; None to write no file.
        command: the build command to report, with ``{model}`` for the file.
        sm: compute capability times ten of the GPU to build for; None for the default.
        protected: files that must not be replaced.
        listen: function that receives the current step.

    Raises:
        ConversionError, InputsError, ModelError, OSError, KeepError: see :class:`ConversionSession`.
    """
    session = ConversionSession(request, listen)
    if request.seconds is None:
        until = time.monotonic() + _SECONDS + _SECONDS_PER_BYTE * session.request.size
        session.request = replace(session.request, until=until)
    if session.unchanged:
        draft = session.draft()
        return draft.conversion, draft
    draft, proofs = _convert_rewritten(session, *_convert_and_check(session, sm), sm)
    found = replace(draft.conversion, proofs=proofs, advice=_advice(request, draft.conversion, proofs))
    rehearsed = next((proof.figures.get("error") for proof in proofs if proof.name == "rehearsal"), None)
    found = replace(found, error=rehearsed if rehearsed is not None else found.error)
    name = str(out) if out is not None else f"{request.model.stem}.{request.type}.onnx"
    if out is not None and found.verdict != "failed":
        found = replace(found, output=str(out), size=draft.write(out, protected))
    line = with_shapes(command, session.model.graph.inputs)
    if line != command and found.verdict != "failed":  # a failure has no build command in the report
        found = replace(found, notes=(*found.notes, _SHAPES))
    return replace(found, command=line.replace("{model}", shlex.quote(name))), draft


def _convert_rewritten(
    session: ConversionSession, draft: PendingConversion, proofs: tuple[ConversionCheck, ...], sm: int | None
) -> tuple[PendingConversion, tuple[ConversionCheck, ...]]:
    """Convert the model again after rewrites. Return the new conversion or ``draft``, whichever is better.

    Args:
        session: the conversion of the model.
        draft: the conversion without rewrites.
        proofs: the checks of ``draft``.
        sm: compute capability times ten of the GPU to build for; None for the default.
    """
    if _is_little_time(session.request):
        return draft, proofs
    in_fp32 = {kept.node for kept in draft.conversion.kept if kept.product}
    wanted = session.found.kept.keys() & in_fp32
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        for count in range(_MOST_REWRITES):
            found = [
                each
                for each in proposals(session.model, session.found.kept, session.found.greatest)
                if each.node in wanted
            ]
            if not found:
                break
            session.listen("rewriting")
            file = Path(folder, f"{count}.onnx")
            titles = tuple(each.patch.title for each in found)
            try:
                source = apply_to(session.source, session.model, found, file)
                rewritten = RewrittenDraft(source, file, titles)
                other = ConversionSession(session.request, session.listen, rewritten)
                new, verdicts = _convert_and_check(other, sm)
            except (TrtlintError, OSError):  # the conversion without rewrites is already complete
                break
            helped = {each.node for each in found} - {kept.node for kept in new.conversion.kept}
            if len(helped) < len(found):
                wanted = helped
                continue
            if _rank(new, verdicts) > _rank(draft, proofs):
                return new, verdicts
            break
    return draft, proofs


def _rank(draft: PendingConversion, proofs: Sequence[ConversionCheck]) -> tuple[bool, float]:
    failed = any(proof.verdict == "failed" for proof in proofs)
    return not failed, draft.conversion.share or 0.0


def _convert_and_check(
    session: ConversionSession, sm: int | None
) -> tuple[PendingConversion, tuple[ConversionCheck, ...]]:
    """Return the converted model and the results of the checks.

    Operators that the parser rejects in 16 bits stay in FP32. If the errors are too large on the inputs for
    the check, a new search also uses these inputs.
    """
    request = session.request
    with tempfile.TemporaryDirectory(prefix="trtlint-", ignore_cleanup_errors=True) as folder:
        converted = Path(folder, "model.onnx")
        for attempt in range(_MOST_SEARCHES):
            before = session.found
            session.measure(attempt)
            if attempt and session.found.enough is None:  # the search ran out of time: keep the last result
                session.found = before
                break
            draft, proofs = _write_and_parse(session, converted)
            if not request.measure:
                proofs.append(ConversionCheck("rehearsal", "unproven", "nothing was measured (--no-measure)"))
                break
            if session.found.enough is None:
                text = "; ".join(session.found.notes) or "nothing was measured"
                proofs.append(ConversionCheck("rehearsal", "unproven", text))
                break
            proofs.append(rehearse(request, converted, session.listen, attempt))
            if session.found.enough is False or _passes_clearly(proofs[-1], request.tolerance):
                break
            if _is_little_time(request) and proofs[-1].verdict != "failed":
                break
        if request.build:
            session.listen("builder")
            narrow = None
            if session.found.kept:
                narrow = Path(folder, "narrow.onnx")
                session.draft(kept=False).write(narrow)
            proofs.append(proving.build(converted, request.model, narrow, sm))
    return draft, tuple(proofs)


def _is_little_time(request: ConversionRequest) -> bool:
    """Return whether the time left is too short for another search."""
    return request.until is not None and request.until - time.monotonic() < _SECONDS / 2


def _passes_clearly(proof: ConversionCheck, tolerance: float) -> bool:
    """Return whether a check passed with an error well below the tolerance."""
    error = proof.figures.get("error")
    return proof.verdict != "failed" and (error is None or error <= tolerance * _CLEAR)


def _write_and_parse(
    session: ConversionSession, converted: Path
) -> tuple[PendingConversion, list[ConversionCheck]]:
    """Write the converted model to a file and parse it.

    If the parser rejects operators in 16 bits, convert the model again with these operators in FP32.
    """
    for _ in range(_MOST_ROUNDS):
        with limit_work(session.request.model, allowance=session.source.allowance()):
            draft = session.draft()
        assert draft.converted is not None
        proofs = [proving.check(draft.converted.proto, session.source.proto)]
        if session.request.size > _MOST_PARSED and not (session.request.measure or session.request.build):
            text = (
                "trtlint did not run the parser because the weights need much memory; "
                "--verify-build runs the parser"
            )
            return draft, [*proofs, ConversionCheck("parser", "unproven", text)]
        session.listen("writing")
        draft.write(converted)
        session.listen("parser")
        parsed, refused = proving.parse(converted, session.request.model)
        if parsed is not None and parsed.verdict == "failed":
            reason = f"TensorRT-RTX refuses the operator in {FORMATS[session.request.type].label}"
            if session.pin(refused, reason):
                continue
        if parsed is not None:
            proofs.append(parsed)
        break
    return draft, proofs


def _advice(request: ConversionRequest, found: Conversion, proofs: Sequence[ConversionCheck]) -> str:
    """Return a recommendation of FP32 inputs and outputs or of BF16, or an empty string.

    BF16 has fewer digits. So it does not help if rounding changes the choice of an operator such as TopK.
    """
    failed = any(proof.name == "rehearsal" and proof.verdict == "failed" for proof in proofs)
    command = f"trtlint convert {shlex.quote(found.path)} --to"
    if failed and request.io != "fp32":
        return (
            f"--io {request.io} rounds the inputs and outputs to {FORMATS[request.type].label}; try FP32 "
            f"inputs and outputs: {command} {request.type} --io fp32"
        )
    if request.type != "fp16" or any(note.startswith(FREE) for note in found.notes):
        return ""
    if failed or (found.share is not None and found.share < _LEAST_SHARE):
        return f"many operators must stay in FP32, or the FP16 errors are too large; try BF16: {command} bf16"
    return ""
