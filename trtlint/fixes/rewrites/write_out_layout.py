"""Replace ``layout`` = 1 (batch first) of an LSTM, GRU or RNN by ``layout`` = 0 and Transposes.

https://onnx.ai/onnx/operators/onnx__LSTM.html
"""

from __future__ import annotations

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model
from trtlint.model.protos import text

_SEQUENCE = (1, 0, 2)
"""Permutation between [batch, sequence, ...] and [sequence, batch, ...]. The states need the same
permutation.
"""
_WHOLE = (2, 0, 1, 3)
"""Permutation from [sequence, directions, batch, hidden] to [batch, sequence, directions, hidden]."""
_BATCH_FIRST = (0, 5, 6)
"""Inputs with the batch as the first axis: the sequence and the initial states."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one LSTM, GRU or RNN."""
    node = fact.node
    if node is None or node.op not in ("LSTM", "GRU", "RNN") or node.domain or node.number("layout", 0) != 1:
        raise NotApplicable("there is no recurrent operator with layout 1 at this place")
    draft = Draft(model, node)
    inputs = [text(name) for name in node.proto.input]
    for port in _BATCH_FIRST:
        value = node.input(port)
        if value is not None:
            inputs[port] = draft.op("Transpose", value, perm=list(_SEQUENCE))
    names = [text(name) for name in node.proto.output]
    outputs = [draft.name("sequence_first") if name else "" for name in names]
    draft.again(node, inputs, outputs, without=["layout"])
    for port, (name, made) in enumerate(zip(names, outputs, strict=True)):
        if name:
            draft.op("Transpose", made, perm=list(_SEQUENCE if port else _WHOLE), out=name)
    return draft.patch("replaces layout 1 by Transposes", [node])
