"""Report of a measurement, for a terminal: errors, ranges, and nodes to keep in FP32."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from trtlint.facts.figures import figure
from trtlint.measurement.band import Verdict, verdict_of
from trtlint.measurement.formats import FORMATS, Format
from trtlint.measurement.measurement import MeasuredOutput, MeasuredTensor, Measurement
from trtlint.report.counts import plural
from trtlint.report.escape import clean
from trtlint.report.layout import hang, shorten
from trtlint.report.measureadvice import MeasurementAdvice, misfit
from trtlint.report.measureband import (
    GENERATED,
    STYLES,
    WORDS,
    band_words,
    bearing,
    output_words,
    remark,
    type_lines,
    verdict_words,
    way_lines,
    worst_outputs,
    worst_sites,
)
from trtlint.report.terminal import ConsoleReport

_BAR = 16
"""Width of a bar in cells. Each cell stands for one power of two."""
_NAME = 48
"""Largest width of a node's name, in cells."""
_OUTPUTS = 12
"""Largest number of listed outputs."""
_KEPT = 12
"""Largest number of nodes in the list of nodes to keep in FP32."""


class MeasureReport(ConsoleReport):
    """Text report of a measurement."""

    def figures(self, found: Measurement, sources: Mapping[str, str]) -> None:
        """Write the measured errors and ranges.

        Args:
            found: the measurement.
            sources: source lines by node.
        """
        for lines in (self._head(found), self._outputs(found), self._sites(found, sources)):
            self._print(*lines)

    def advice(self, found: Measurement, advice: Sequence[MeasurementAdvice], written: str | None) -> None:
        """Write the advice that follows from a measurement, and the limits of the measurement.

        Args:
            found: the measurement.
            advice: the advice.
            written: the JSON file of the measurement; None if no file was written.
        """
        for lines in (self._kept(found), self._advice(advice, written), self._limits(found)):
            self._print(*lines)

    def _head(self, found: Measurement) -> Iterator[Text]:
        label = _format(found).label
        of = f" of {', '.join(found.files)}" if found.files else ", generated"
        words = f": {label} on {plural(found.batches, 'batch')}{clean(of)}"
        yield from self._wrapped(Text.assemble((clean(found.path), "bold"), words))
        if not found.files:
            yield from self._hung("warning: ", GENERATED, "yellow")
        yield Text()

    def _outputs(self, found: Measurement) -> Iterator[Text]:
        if not found.rehearsed:
            return
        label = _format(found).label
        if words := verdict_words(found):
            colour = "yellow" if found.verdict is None else STYLES[found.verdict]
            summary = Text(clean(words), style=f"bold {colour}")
            yield from hang(Text(f"{label}: ", style="bold"), summary, self._width)
        for output in worst_outputs(found, _OUTPUTS):
            verdict, words = _verdict(output, found, label)
            line = Text.assemble(f"{found.noun} ", (clean(output.name), "bold"), ": ")
            line.append(words, STYLES[verdict])
            yield from self._wrapped(line)
        if len(found.outputs) > _OUTPUTS:
            more = plural(len(found.outputs) - _OUTPUTS, f"more {found.noun}")
            yield Text(f"and {more} with smaller errors; --output json:FILE lists all {found.noun}s")
        yield from self._ways(found)
        yield from self._types(found)
        if found.compared:
            yield from self._hung("note: ", found.compared)
        if _harmless(found):
            good = "compared tensors" if found.compared else "outputs"
            text = f"some values are outside the range of {label}, but all {good} are within tolerance"
            yield from self._hung("note: ", text)
        yield Text()

    def _ways(self, found: Measurement) -> Iterator[Text]:
        lines = way_lines(found)
        wide = max((len(line.name) for line in lines), default=0)
        for line in lines:
            text = Text(f"  {clean(line.name):{wide}}  ")
            text.append(line.error, STYLES[line.verdict])
            yield text

    def _types(self, found: Measurement) -> Iterator[Text]:
        lines = type_lines(found)
        if not lines:
            return
        yield Text()
        yield Text(f"  {'type':6}{'rounded':>12}{'fused':>12}{'accumulated':>13}")
        for line in lines:
            first, second, third = line.errors
            text = Text(f"  {line.label:6}{first:>12}{second:>12}{third:>13}  ")
            text.append(WORDS[line.verdict], STYLES[line.verdict])
            yield text
        yield Text(f"  {bearing(lines)}")

    def _sites(self, found: Measurement, sources: Mapping[str, str]) -> Iterator[Text]:
        format_ = _format(found)
        worst = worst_sites(found)
        if not worst:
            return
        names = [clean(site.node or site.tensor) for site in worst]
        shown = shorten(names, None if self._width is None else _NAME)
        wide = max(map(len, shown))
        operators = max(len(site.op) for site in worst)
        end = f"{format_.label}, {figure(format_.largest)}"
        yield Text(f"tensors closest to the largest value of {end}; each cell of a bar is a power of two:")
        for site, name in zip(worst, shown, strict=True):
            line = Text("  ")
            line.append(name.ljust(wide), "bold" if site.origin else "")
            line.append(f"  {clean(site.op):{operators}}  {figure(site.greatest):>9}  ")
            line.append(bar(site.greatest, format_), _style(site))
            line.append("  " + remark(site, format_))
            yield line
            if site.node in sources:
                yield Text(f"      {clean(sources[site.node])}", style="dim")
        yield Text()

    def _kept(self, found: Measurement) -> Iterator[Text]:
        kept = found.kept
        if kept is None:
            return
        label = _format(found).label
        if kept.error is None or not kept.verified:
            text = (
                f"the search found no set of nodes in FP32 that makes all {found.noun}s accurate enough, "
                f"with the other nodes in {label}"
            )
            yield from self._hung("keep in FP32: ", text, "red")
            yield Text()
            return
        if not kept.fits:
            yield from self._hung(f"{label} is unsuitable for this model: ", misfit(kept), "red")
            yield Text()
            return
        text = (
            f"{plural(len(kept.nodes), 'node')}, found and verified in {plural(kept.runs, 'run')}; "
            f"the worst {found.noun} error is then {kept.error:.2g}"
        )
        yield from self._hung("keep in FP32: ", text)
        margin = frozenset(kept.margin)
        for node in kept.nodes[:_KEPT]:
            yield Text(f"  {clean(node)}{'  (for margin)' if node in margin else ''}")
        if len(kept.nodes) > _KEPT:
            more = plural(len(kept.nodes) - _KEPT, "more node")
            yield Text(f"  and {more}; --output json:FILE lists all nodes")
        if margin:
            text = (
                "each node marked (for margin) is optional: if you remove any one of these nodes "
                "from the list, the error stays under the bound"
            )
            yield from self._hung("note: ", text)
        if not kept.complete:
            yield from self._hung("note: ", "the search reached its limit; use --thorough to continue")
        yield Text()

    def _advice(self, advice: Sequence[MeasurementAdvice], written: str | None) -> Iterator[Text]:
        for each in advice:
            yield from self._hung("= help: ", each.text)
            if each.command:
                # The command has its own unbroken line, so that users can copy it.
                yield Text(f"  {clean(each.command)}", style="cyan")
        if advice:
            yield Text()
        if written is not None:
            yield from self._hung("= written: ", written)

    def _limits(self, found: Measurement) -> Iterator[Text]:
        for limit in found.limits:
            yield from self._hung("= note: ", limit, "dim")


def bar(greatest: float, format_: Format) -> str:
    """Draw the distance between a number and the limit of a type, in powers of two.

    Each ``█`` is a power of two below the limit. Each ``!`` is a power of two above the limit.

    >>> from trtlint.measurement.formats import FP16
    >>> bar(65504 / 8, FP16)
    '███·············'
    """
    room = math.log2(format_.largest / greatest)
    cells = min(_BAR, math.floor(abs(room) + 1e-9))
    if greatest >= format_.infinite_from:
        return ("!" * max(1, cells)).ljust(_BAR, "·")
    return ("█" * cells).ljust(_BAR, "·")


def _format(found: Measurement) -> Format:
    return FORMATS[found.type]


def _harmless(found: Measurement) -> bool:
    return (
        found.rehearsed
        and any(site.fits == "overflow" and not site.constant for site in found.sites)
        and found.good
    )


def _verdict(output: MeasuredOutput, found: Measurement, label: str) -> tuple[Verdict, str]:
    bound = found.bound
    if not output.proves(bound):
        return "fine" if not output.finite else "depends", output_words(output, found)
    verdict, span = verdict_of(output.errors, bound), band_words(output.errors)
    if span == "not finite":
        return verdict, f"not finite in {label}"
    side = {"fine": "under", "broken": "over", "depends": "on both sides of"}[verdict]
    words = f"error {span}, {side} the bound of {bound:g}"
    if output.unclamped is not None and output.error is not None and output.unclamped > bound >= output.error:
        words += f"; {output.unclamped:.2g} if constants outside the range become infinite"
    return verdict, words


def _style(site: MeasuredTensor) -> str:
    return {"overflow": "red", "underflow": "yellow", "ok": "green"}[site.fits]
