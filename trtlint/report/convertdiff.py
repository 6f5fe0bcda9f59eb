"""Diff between a converted model and the original model, in the ONNX text format."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from trtlint.conversion.session import PendingConversion
from trtlint.report.escape import clean
from trtlint.report.fixes import model_lines

_CONTEXT = 2


def difference(draft: PendingConversion) -> Iterator[str]:
    """Yield the lines of the unified diff between the original and the converted model, with line ends."""
    if draft.converted is None:
        return
    name = draft.source.path.name
    before, after = model_lines(draft.source.proto), model_lines(draft.converted.proto)
    for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="", n=_CONTEXT):
        yield clean(line) + "\n"
