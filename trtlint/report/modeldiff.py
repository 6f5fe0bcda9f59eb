"""Diff between two versions of a model, in the ONNX text format.

https://github.com/onnx/onnx/blob/main/docs/Syntax.md
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence

import onnx
import onnx.numpy_helper
import onnx.printer

from trtlint.model.protos import DTYPES, text
from trtlint.report.counts import left_out

MOST_LINES = 400
"""Largest number of lines of a diff in a document."""
_SHOWN = 8
"""Largest number of tensor elements that a diff shows."""
_CONTEXT = 2
"""Unchanged lines around a change in a diff."""


def difference(before: onnx.ModelProto, after: onnx.ModelProto, name: str) -> Iterator[str]:
    """Yield the lines of the unified diff between two versions of a model, without line ends.

    Args:
        before: the original model.
        after: the changed model.
        name: the file name of the model.
    """
    versions = model_lines(before), model_lines(after)
    return difflib.unified_diff(*versions, f"a/{name}", f"b/{name}", lineterm="", n=_CONTEXT)


def shortened(lines: Sequence[str]) -> str:
    """Return the first lines of a diff as text, and the number of further lines."""
    return "\n".join([*lines[:MOST_LINES], *left_out(len(lines), MOST_LINES, "line")])


def model_lines(proto: onnx.ModelProto) -> list[str]:
    """Return a model as text for a diff, with one line for each opset, initializer and node.

    A small initializer is shown with its values.
    """
    lines = [f"opset {opset.domain or 'ai.onnx'} {opset.version}" for opset in proto.opset_import]
    lines += [_tensor(tensor) for tensor in proto.graph.initializer]
    for node in proto.graph.node:
        bare = onnx.NodeProto()
        bare.CopyFrom(node)
        del bare.metadata_props[:]
        bare.ClearField("name")
        lines += [line.strip() for line in onnx.printer.to_text(bare).splitlines()]
    return lines


def _tensor(tensor: onnx.TensorProto) -> str:
    kind = DTYPES.get(tensor.data_type, str(tensor.data_type))
    head = f"{kind}[{','.join(map(str, tensor.dims))}] {text(tensor.name)}"
    if tensor.data_location == onnx.TensorProto.EXTERNAL or math.prod(tensor.dims) > _SHOWN:
        return head
    return f"{head} = {onnx.numpy_helper.to_array(tensor).tolist()}"
