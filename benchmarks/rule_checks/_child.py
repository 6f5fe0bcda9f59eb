"""Parse and build one model; runs in the process with TensorRT-RTX, without trtlint.

Lines with the prefix ``answer:`` are answers in JSON; all other lines are the log.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def work(request: dict[str, Any]) -> None:
    """Run the request, and print an answer after each stage."""
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    logger = trt.Logger(trt.Logger.VERBOSE)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parsed = bool(trt.OnnxParser(network, logger).parse_from_file(request["model"]))
    layers = [_layer(trt, network.get_layer(index)) for index in range(network.num_layers)]
    say(parsed=parsed, layers=layers)
    if not parsed or not request["build"]:
        return
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(getattr(trt.ComputeCapability, f"SM{request['sm']}"), 0)
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    profile, dynamic = builder.create_optimization_profile(), False
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        if -1 in tuple(tensor.shape):
            dynamic = True
            shapes = [[size if dim == -1 else dim for dim in tensor.shape] for size in request["size"]]
            profile.set_shape(tensor.name, *shapes)
    if dynamic:
        config.add_optimization_profile(profile)
    say(built=builder.build_serialized_network(network, config) is not None)


def _layer(trt: Any, layer: Any) -> dict[str, Any]:
    found = {"type": str(layer.type).rpartition(".")[2], "name": layer.name}
    if layer.type == trt.LayerType.NORMALIZATION:
        layer.__class__ = trt.INormalizationLayer
        found.update(axes=layer.axes, groups=layer.num_groups)
    return found


def say(**answer: Any) -> None:
    """Print an answer."""
    print("answer: " + json.dumps(answer), flush=True)


if __name__ == "__main__":
    work(json.loads(sys.argv[1]))
