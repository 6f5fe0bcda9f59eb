"""Find model inputs for which the provider of TensorRT-RTX makes no optimization profile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from trtlint.model.graph import Node, Value
from trtlint.model.operators import CAST, MOVING

_SHAPE_PORTS: Mapping[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Pad": (1,),
    "Reshape": (1,),
    "Resize": (2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Tile": (1,),
    "TopK": (1,),
}
"""For each operator, the indexes of the inputs whose values TensorRT uses as a shape."""
_PASSING = MOVING | CAST | {"Concat"}
_DEEPEST = 20


def shape_input_words(name: str) -> str:
    """Explain why the provider of TensorRT-RTX fails because of the input ``name``.

    If ``name`` is empty, the function returns an empty string.

    The provider makes optimization profiles for dynamic dimensions, but not for inputs whose values are a
    shape.  If no dimension is dynamic, the provider fails with "No explicit or implicit shapes were provided
    for dynamic shape inputs".
    https://github.com/NVIDIA/TensorRT-RTX-EP-ABI/blob/10a0bfa/src/tensorrt_rtx_execution_provider.cc
    (``CreateNodeComputeInfoFromGraph``)
    """
    if not name:
        return ""
    return (
        f"the model uses the values of input {name} as a shape; give nv_profile_min_shapes, "
        "nv_profile_opt_shapes and nv_profile_max_shapes"
    )


def shape_input(graph_inputs: Collection[Value], parts: Iterable[Sequence[Node]]) -> str:
    """Return the name of a model input whose values are used as a shape, or an empty string.

    Only parts without a dynamic dimension are searched. For every other part, the provider makes a profile.
    """
    for part in parts:
        own = {value for node in part for value in node.outputs}
        inputs = {value for node in part for value in node.inputs if value is not None} - own
        if not all(value.is_static for value in inputs):
            continue
        for node in part:
            for port in () if node.domain else _SHAPE_PORTS.get(node.op, ()):
                found = _fed(node.input(port), own, 0)
                if found is not None and found in graph_inputs:
                    return found.name
    return ""


def _fed(value: Value | None, own: set[Value], depth: int) -> Value | None:
    """Return the model input from which the elements of a value come, or None if there is none."""
    if value is None or value.initializer is not None or depth > _DEEPEST:
        return None
    if value.producer is None:
        return value
    node = value.producer
    if value not in own or node.op not in _PASSING:
        return None
    data = node.inputs if node.op == "Concat" else node.inputs[:1]
    return next((found for each in data if (found := _fed(each, own, depth + 1)) is not None), None)
