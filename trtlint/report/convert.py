"""Report of a conversion, for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from trtlint.conversion.result import Conversion, InsertedCast, KeptOperator
from trtlint.files.problem import first_few
from trtlint.report.counts import left_out, plural
from trtlint.report.escape import clean
from trtlint.report.terminal import ConsoleReport

_LISTED = 8
"""Largest number of nodes, Casts or tensors that a list names."""
_STYLES = {"proven": "green", "unproven": "yellow", "failed": "red"}
_PLACES = {"clamped": "clamped", "vanishing": "few digits", "kept": "FP32"}


def narrow_words(found: Conversion) -> str:
    """Describe how many operators compute in the low-precision type: ``7 of 9 operators in FP16``."""
    products = "matrix products and convolutions"
    share = "" if found.share is None else f", {found.share:.1%} of the FLOPs of {products}"
    return f"{found.narrow:,} of {found.operators:,} operators in {found.type.upper()}{share}"


class ConvertReport(ConsoleReport):
    """Text report of a conversion."""

    def add(self, found: Conversion) -> None:
        """Write the report of one conversion."""
        self._print(*self._lines(found))

    def _lines(self, found: Conversion) -> Iterator[Text]:
        if found.unchanged:
            words = f": nothing to convert: {clean(found.unchanged)}"
            yield from self._wrapped(Text.assemble((clean(found.path), "bold"), words))
            return
        yield from self._wrapped(Text.assemble((clean(found.path), "bold"), f": {narrow_words(found)}"))
        yield Text()
        yield from self._kept(found.kept)
        yield from self._casts(found.casts)
        for stored in found.stored[:_LISTED]:
            what = _PLACES.get(stored.what, stored.what)
            yield from self._hung("stored: ", f"{stored.tensor} ({what}): {stored.reason}")
        for line in left_out(len(found.stored), _LISTED, "stored tensor"):
            yield Text(f"  {line}")
        for rewrite in found.rewrites:
            yield from self._hung("rewrite: ", rewrite)
        if found.opset[0] != found.opset[1]:
            yield Text(f"opset: {found.opset[0]} raised to {found.opset[1]}")
        if found.size[1]:
            yield Text(f"size: {found.size[0]:,} bytes before, {found.size[1]:,} after")
        yield Text()
        for proof in found.proofs:
            yield from self._hung(f"{proof.name}: ", f"{proof.verdict}: {proof.text}", _STYLES[proof.verdict])
        for note in found.notes:
            yield from self._hung("note: ", note)
        if found.advice:
            yield from self._hung("= help: ", found.advice)
        yield Text()
        yield from self._end(found)

    def _end(self, found: Conversion) -> Iterator[Text]:
        if found.verdict == "failed":
            yield Text("no model was written, because a check failed", style="red")
            return
        if found.output:
            end = "" if found.verdict == "proven" else ", not proven"
            yield Text.assemble("written: ", (clean(found.output), "bold"), end)
        yield Text("build it with")
        yield Text(f"  {clean(found.command)}", style="cyan")

    def _kept(self, kept: tuple[KeptOperator, ...]) -> Iterator[Text]:
        reasons = Counter(each.reason for each in kept)
        for reason, count in reasons.most_common(_LISTED):
            nodes = [each.node for each in kept if each.reason == reason]
            text = f"{plural(count, 'operator')}: {reason}: {first_few(nodes, 3)}"
            yield from self._hung("FP32: ", text)
        for line in left_out(len(reasons), _LISTED, "reason"):
            yield Text(f"  {line}; --format json lists all reasons")

    def _casts(self, casts: tuple[InsertedCast, ...]) -> Iterator[Text]:
        inside = [cast for cast in casts if cast.inside]
        yield Text(f"Casts: {len(casts)} ({len(inside)} inside the model)")
        for cast in inside[:_LISTED]:
            yield from self._hung("  ", f"{cast.tensor} to {cast.to.upper()}: {cast.reason}")
        if len(inside) > _LISTED:
            yield Text(f"  and {len(inside) - _LISTED} more")
