"""Compute a ``Clip`` of INT8 in INT32, between two Casts.

INT32 holds every INT8 number, so the results are the same.
https://onnx.ai/onnx/operators/onnx__Clip.html
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, opset_of
from trtlint.model.graph import Value
from trtlint.model.load import Model

_SINCE = 12
"""First opset in which Clip supports integers."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that replaces one Clip."""
    node = fact.node
    source = None if node is None else node.input(0)
    if node is None or source is None or node.op != "Clip" or node.domain or source.dtype != "i8":
        raise NotApplicable("there is no Clip of INT8 at this place")
    if opset_of(model) < _SINCE:
        raise NotApplicable("the opset is older than 12")
    draft = Draft(model, node)

    def wide(bound: Value | None) -> str | None:
        if bound is None:
            return None
        stored = model.constants.array(bound)
        if stored is None:
            return draft.op("Cast", bound, to=TensorProto.INT32)
        return draft.constant(np.asarray(stored, np.int32), "bound")

    bounds = [wide(node.input(port)) for port in (1, 2)]
    clipped = draft.op("Clip", draft.op("Cast", source, to=TensorProto.INT32), *bounds)
    draft.op("Cast", clipped, to=TensorProto.INT8, out=node.output.name)
    return draft.patch("clips in INT32", [node])
