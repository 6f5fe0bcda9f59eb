"""Text about the nodes of a model that an execution provider of ONNX Runtime runs.

A partition divides the nodes of a model by the execution provider that runs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trtlint.engine.finding import ModelReport
from trtlint.report.counts import left_out, plural
from trtlint.report.names import few

_MOST_PARTS = 8
_MOST_SPLITS = 8
_MOST_PLACES = 3
_NAMES = {"tensorrt": "the TensorRT provider", "nv-tensorrt-rtx": "the TensorRT-RTX provider"}
_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def partition_in(model: ModelReport) -> Mapping[str, Any] | None:
    """Return the data about the partition in a report, or None if the report has no partition."""
    found = next((each for each in model.evidence if each.kind == "partition"), None)
    return None if found is None else found.data


def lines_of(model: ModelReport) -> list[str]:
    """Return lines of text about the partition of a model, or no lines if no execution provider was given."""
    found = partition_in(model)
    return [] if found is None else [*_lines(found)]


def lines_of_targets(models: Sequence[ModelReport]) -> Iterator[str]:
    """Yield lines of text about the partition of one model, for all targets.

    Targets with the same partition share their lines.
    """
    blocks: dict[tuple[str, ...], list[str]] = {}
    for model in models:
        blocks.setdefault(tuple(lines_of(model)), []).append(model.target)
    for lines, targets in blocks.items():
        for number, line in enumerate(lines):
            yield f"{', '.join(targets)}: {line}" if len(blocks) > 1 and not number else line


def headlines(models: Sequence[ModelReport]) -> list[str]:
    """Return the first line about the partition for each target, without duplicates."""
    return [*dict.fromkeys(lines[0] for model in models if (lines := lines_of(model)))]


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    parts, total, taken = found["parts"], found["nodes"], found["taken"]
    name = _NAMES[found["provider"]]
    by = "predicted" if found["basis"] == "predicted" else f"by the parser of TensorRT-RTX {found['version']}"
    runs, run = ("would run", "would run") if found["failure"] else ("runs", "run")
    if found["failure"]:
        yield f"ONNX Runtime cannot create the session: {found['failure']}"
    if "shape inference" in found["failure"]:
        yield "  python -m onnxruntime.tools.symbolic_shape_infer gives names to the dimensions"
    if not found["left"] and len(parts) == 1:
        yield f"{name} {runs} the whole model in 1 part of {plural(taken, 'node')} ({by})"
        return
    if not parts:
        nodes = f"its only node {runs}" if total == 1 else f"all {total} nodes {run}"
        yield f"{name} {runs} no part of the model: {nodes} elsewhere ({by})"
    else:
        share = 100 * taken // max(1, total)
        nodes, count = plural(total, "node"), plural(len(parts), "part")
        yield f"{name} {runs} {taken} of {nodes} ({share} %) in {count} ({by})"
    if found["joined"]:
        yield "  several regions form one part; nodes outside this part run before or after the part"
    yield from _listed(parts)
    yield from _copies(found["borders"])
    yield from _splits(found)
    yield from _logged(found)
    for text in found["dropped"][:_MOST_PLACES]:
        yield f"  not run by the provider: {text}"


def _listed(parts: list[list[str]]) -> Iterator[str]:
    for number, part in enumerate(parts[:_MOST_PARTS], 1):
        ends = part[0] if len(part) == 1 else f"{part[0]} .. {part[-1]}"
        yield f"  part {number}: {plural(len(part), 'node')}, {ends}"
    yield from (f"  {line}" for line in left_out(len(parts), _MOST_PARTS, "part"))


def _copies(borders: Mapping[str, int]) -> Iterator[str]:
    if not borders["tensors"]:
        return
    more = f", not counting {borders['unknown']} of dynamic size" if borders["unknown"] else ""
    size = size_words(borders["bytes"])
    yield f"  {plural(borders['tensors'], 'tensor')} at the borders of parts: {size}{more}"


def _splits(found: Mapping[str, Any]) -> Iterator[str]:
    splits = found["splits"]
    now = len(found["parts"])
    for split in splits[:_MOST_SPLITS]:
        nodes = split["nodes"]
        why = (
            f" [{', '.join(split['rules'])}]"
            if split["rules"]
            else f" ({split['why']})"
            if split["why"]
            else ""
        )
        yield f"  left to other providers: {plural(len(nodes), split['op'] + ' node')}{why}: {few(nodes)}"
        advice = [f"trtlint fix tries {', '.join(split['fixes'])}"] if split["fixes"] else []
        if split["parts"] is not None:
            what = plural(split["parts"], "part")
            advice.append(
                f"if TensorRT accepted these nodes, there would be {what}"
                f"{'' if split['parts'] != now else ' as now'}, and {plural(split['left'], 'node')} left to "
                "other providers"
            )
        if advice:
            yield f"    {'; '.join(advice)}"
    yield from (f"  {line}" for line in left_out(len(splits), _MOST_SPLITS, "operator type"))


def _logged(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line that compares the predicted partition with a log of ONNX Runtime."""
    log = found.get("log")
    if log is None or log["standing"] == "open":
        return
    counts = []
    if log["parts"] is not None:
        counts.append(plural(log["parts"], "part"))
    if log["left"] is not None:
        counts.append(f"{plural(len(log['left']), 'node')} on other providers")
    if log["copies"]:
        counts.append(f"{log['copies']} added copies")
    verdict = "as predicted" if log["standing"] == "confirmed" else "which refutes the prediction"
    yield f"  the log of ONNX Runtime shows {', '.join(counts)}, {verdict}"


def size_words(size: int) -> str:
    """Format a number of bytes.

    >>> size_words(3 << 20)
    '3.0 MB'
    """
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
