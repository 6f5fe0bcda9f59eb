"""Write ONNX's default of an attribute into the model if TensorRT's importer uses another default.

https://onnx.ai/onnx/operators/onnx__Trilu.html, https://onnx.ai/onnx/operators/onnx__RoiAlign.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch, operator_of
from trtlint.model.load import Model

_DEFAULTS: Mapping[str, tuple[str, int]] = {"Trilu": ("upper", 1), "RoiAlign": ("sampling_ratio", 0)}
"""An attribute and its default in ONNX, by operator type."""


def propose(fact: Fact, model: Model) -> Patch:
    """Create a patch that sets the attribute of a Trilu or RoiAlign to ONNX's default."""
    node = operator_of(fact, model, *_DEFAULTS, reason="there is no Trilu or RoiAlign at this place")
    name, value = _DEFAULTS[node.op]
    if name in node.attributes:
        raise NotApplicable(f"{name} is already set")
    draft = Draft(model, node)
    settings: dict[str, Any] = {name: value}
    draft.again(node, **settings)
    return draft.patch(f"sets {name} to its ONNX default, {value}", [node])
