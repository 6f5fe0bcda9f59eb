"""The default of an attribute written out, where TensorRT's importer has another one.

https://onnx.ai/onnx/operators/onnx__Trilu.html, https://onnx.ai/onnx/operators/onnx__RoiAlign.html
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx import helper

from trtlint.facts.base import Fact
from trtlint.fixes.patch import Draft, NotApplicable, Patch
from trtlint.model.load import Model

_DEFAULTS: Mapping[str, tuple[str, int]] = {"Trilu": ("upper", 1), "RoiAlign": ("sampling_ratio", 0)}
"""By operator type, the attribute and ONNX's default."""


def propose(fact: Fact, model: Model) -> Patch:
    """Write an operator again with the attribute."""
    node = fact.node
    if node is None or node.op not in _DEFAULTS or node.domain:
        raise NotApplicable("there is no operator here with such a default")
    name, value = _DEFAULTS[node.op]
    if name in node.attributes:
        raise NotApplicable("the attribute is written")
    draft = Draft(model, node)
    draft.again(node, node.proto.input, node.proto.output).attribute.append(
        helper.make_attribute(name, value)
    )
    return draft.patch(f"writes {name} = {value}, which is the default", [node])
