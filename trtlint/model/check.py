"""Validate a model with the full check of ``onnx.checker``, without reading the weights."""

from __future__ import annotations

import tempfile
from pathlib import Path

import onnx

from trtlint.model.contents import all_tensors, graphs
from trtlint.model.infer import InferenceError, isolated
from trtlint.model.operators import ONNX_RUNTIME
from trtlint.model.protos import opsets

_UNREAD = "Cannot parse data from external tensors"
"""Message of ONNX's shape inference if a size is stored in external data.

The full check does not read external data.
"""
_FOREIGN = {"SimplifiedLayerNormalization": None, "LayerNormalization": 17}
"""Operators that ONNX Runtime adds to ONNX's domain, each with the first opset in which ONNX defines it.

ONNX Runtime's fusions write these operators into models of any opset, and TensorRT imports them:
https://github.com/microsoft/onnxruntime/blob/v1.20.0/onnxruntime/core/graph/contrib_ops/contrib_defs.cc
"""


def checker_error(proto: onnx.ModelProto) -> str:
    """Return the error message of ``onnx.checker`` for a model, or an empty string for a valid model.

    The elements of tensors are not checked.

    Args:
        proto: the model.  Its large tensors are marked as external data.
    """
    with tempfile.TemporaryDirectory(prefix="trtlint-") as name:
        folder = Path(name)
        # The checker requires the external data file, but does not read it.
        (folder / "weights").touch()
        copy = onnx.ModelProto()
        copy.CopyFrom(proto)
        for tensor in all_tensors(copy):
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = "weights"
        _name_domain(copy)
        path = folder / "model.onnx"
        path.write_bytes(copy.SerializeToString())
        try:
            isolated(_check, str(path).encode())
        except InferenceError as error:
            return str(error)
    return ""


def _name_domain(proto: onnx.ModelProto) -> None:
    """Move ONNX Runtime's operators from ONNX's domain to the domain ``com.microsoft``.

    An example is ``SimplifiedLayerNormalization``: TensorRT-RTX imports this operator from ONNX's domain, but
    the ONNX checker rejects the operator in this domain. The checker also rejects ``LayerNormalization`` in
    models of an opset before 17.
    """
    opset = opsets(proto).get("", 0)
    foreign = {op for op, since in _FOREIGN.items() if since is None or opset < since}
    found = [
        node for graph in graphs(proto) for node in graph.node if node.op_type in foreign and not node.domain
    ]
    for node in found:
        node.domain = ONNX_RUNTIME
    if found and not any(opset.domain == ONNX_RUNTIME for opset in proto.opset_import):
        proto.opset_import.append(onnx.helper.make_opsetid(ONNX_RUNTIME, 1))


def _check(path: bytes) -> bytes:
    try:
        onnx.checker.check_model(path.decode(), full_check=True)
    except Exception as error:  # the bindings raise RuntimeError, ValueError and their own classes
        # The full check infers shapes last, so the model has passed all other checks here.
        if _UNREAD not in str(error):
            lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
            raise InferenceError(lines[0] if lines else type(error).__name__) from error
    return b""
