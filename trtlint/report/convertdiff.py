"""The difference of a converted model to its source, in ONNX's own notation."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from trtlint.conversion.session import Draft
from trtlint.report.escape import clean
from trtlint.report.fixes import model_lines

_CONTEXT = 2


def difference(draft: Draft) -> Iterator[str]:
    """Yield the lines of the unified difference, each with its end."""
    if draft.converted is None:
        return
    name = draft.source.path.name
    before, after = model_lines(draft.source.proto), model_lines(draft.converted.proto)
    for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm="", n=_CONTEXT):
        yield clean(line) + "\n"
