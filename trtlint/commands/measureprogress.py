"""Show the progress bar of ``trtlint measure``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from trtlint.runs.progress import Activity

_STEPS = {
    "layers": (0.02, "reading the layers of the build"),
    "ranges": (0.05, "measuring ranges in FP32"),
    "rehearsal": (0.15, "simulating: the result of every operator is rounded"),
    "fused": (0.25, "simulating: only products and model outputs are rounded"),
    "accumulated": (0.35, "simulating: products accumulate in FP16"),
    "build": (0.45, "simulating the layers of the build"),
    "search": (0.5, "searching for nodes to keep in FP32"),
    "fp16": (0.9, "simulating FP16"),
    "bf16": (0.92, "simulating BF16"),
    "tf32": (0.94, "simulating TF32"),
    "closer": (0.96, "checking the values outside the range of the type"),
}
_SEARCH_ENDS = 0.9


@contextmanager
def progress() -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Show a progress bar if standard error is a terminal. Yield the function that updates the bar."""
    with Activity("reading the model") as activity:

        def show(answer: Mapping[str, Any]) -> None:
            share, words = _STEPS.get(answer["doing"], (None, answer["doing"]))
            run, most = answer.get("run"), answer.get("most")
            if share is not None and run and most:
                share += (_SEARCH_ENDS - share) * min(1.0, run / most)
                words = f"{words}, run {run} of at most {most}"
            activity.step(words, share)

        yield show
