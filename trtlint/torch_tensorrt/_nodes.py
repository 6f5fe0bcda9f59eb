"""Convert nodes of a lowered program to data, and find the reasons why nodes have no converter.

This module runs in the dry-run process. A lowered program is the program after Torch-TensorRT's
passes.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

_MOST_NODES = 2000
_LONGEST = 1000
_LONGEST_TRACE = 4000
_LONGEST_OWN_TRACE = 2000
"""For each node with layers, at most this number of characters of its source lines is sent."""


def operators(torch: Any, module: Any) -> dict[str, Any]:
    """Return the number of operators in a lowered program, and the operators that run in PyTorch.

    Each operator that runs in PyTorch comes with the reason.
    """
    converters = importlib.import_module("torch_tensorrt.dynamo.conversion").DYNAMO_CONVERTERS
    found: list[dict[str, Any]] = []
    count = 0
    for node in module.graph.nodes:
        if node.op != "call_function":
            continue
        count += 1
        reason = _left_out(converters, node) or _of_the_cpu(node)
        if reason is None and node not in converters:
            reason = _reason(converters, node)
        if reason is not None and len(found) < _MOST_NODES:
            found.append({**node_data(torch, node), "reason": reason})
    return {"operators": count, "fallbacks": found}


def _of_the_cpu(node: Any) -> dict[str, str] | None:
    """Return a reason if torch uses the operator of a node only on a CPU, else None.

    On a GPU, torch uses another operator, which has a converter.
    """
    return {"kind": "cpu", "by": ""} if "_for_cpu" in _operator(node.target) else None


def _left_out(converters: Any, node: Any) -> dict[str, str] | None:
    """Return why Torch-TensorRT runs a node in PyTorch even if the node has a converter.

    Return None if the node may run in an engine.

    https://github.com/pytorch/TensorRT/blob/v2.13.0/py/torch_tensorrt/dynamo/partitioning/_global_partitioner.py
    """
    partitioner = importlib.import_module("torch_tensorrt.dynamo.partitioning._global_partitioner")
    support = partitioner.TorchTensorRTOperatorSupport
    is_complex = getattr(support, "_has_complex_dtype", None)
    if is_complex is not None and is_complex(node):
        return {"kind": "complex", "by": ""}
    needs_allocator = getattr(support, "_requires_output_allocator", None)
    left = getattr(converters.compilation_settings, "fallback_data_dependent_ops", False)
    if left and needs_allocator is not None and needs_allocator(node):
        return {"kind": "data", "by": "fallback_data_dependent_ops"}
    return None


def _reason(converters: Any, node: Any) -> dict[str, str]:
    """Return why no converter accepts a node.  The checks are the same as in Torch-TensorRT."""
    registry = importlib.import_module("torch_tensorrt.dynamo.conversion._ConverterRegistry")
    key, excluded = node.target, converters.disallowed_targets
    if key in excluded or converters.qualified_name_or_str(key) in excluded:
        return {"kind": "excluded", "by": "torch_executed_ops"}
    candidates: list[Any] = []
    for each in converters.registries:
        own = each.get(key, ())
        candidates += own if isinstance(own, list | tuple) else [own]
    if not candidates:
        return {"kind": "none", "by": ""}
    settings = converters.compilation_settings
    dynamic = getattr(registry, "node_has_dynamic_shapes", getattr(registry, "has_dynamic_shapes", None))
    refused: list[str] = []
    static = False
    for candidate in candidates:
        validator = getattr(candidate, "capability_validator", None)
        if validator is None:
            static = True
            continue
        if not _accepts(validator, node, settings):
            refused.append(getattr(validator, "__name__", "a validator"))
        elif dynamic is not None and dynamic(node) and not candidate.supports_dynamic_shapes:
            static = True
    if static:
        return {"kind": "static", "by": "dynamic shapes"}
    return {"kind": "validator", "by": ", ".join(dict.fromkeys(refused))[:_LONGEST]}


def _accepts(validator: Any, node: Any, settings: Any) -> bool:
    with contextlib.suppress(TypeError):
        return bool(validator(node, settings))
    try:
        return bool(validator(node))
    except Exception:  # noqa: BLE001 - a validator that raises an error does not accept the node
        return False


def node_data(torch: Any, node: Any) -> dict[str, Any]:
    """Return a node as data: name, operator, module path, source lines, type and shape."""
    if node is None or not hasattr(node, "meta"):
        return {"name": str(node or "")[:_LONGEST], "op": ""}
    modules = list((node.meta.get("nn_module_stack") or {}).values())
    path = modules[-1][0] if modules and isinstance(modules[-1], tuple) else ""
    value = node.meta.get("val")
    typed = ""
    if isinstance(value, torch.Tensor):
        sizes = ", ".join(str(size) for size in value.shape)
        typed = f"{str(value.dtype).removeprefix('torch.')}[{sizes}]"
    return {
        "name": node.name[:_LONGEST],
        "op": _operator(node.target),
        "module": str(path)[:_LONGEST],
        "trace": (node.meta.get("stack_trace") or "")[-_LONGEST_TRACE:],
        "type": typed[:_LONGEST],
    }


def place_of(torch: Any, node: Any, traces: dict[str, int]) -> dict[str, Any]:
    """Return name, operator and module of a node, and the index of its source lines in ``traces``."""
    found = node_data(torch, node)
    trace = traces.setdefault(found.get("trace", "")[-_LONGEST_OWN_TRACE:], len(traces))
    return {"name": found["name"], "op": found["op"], "module": found.get("module", ""), "trace": trace}


def _operator(target: Any) -> str:
    return str(
        getattr(target, "__name__", target) if callable(target) and not hasattr(target, "_schema") else target
    )
