"""Verdicts of NVIDIA's parser and builder on models, as JSON Lines; needs a Python with the wheels.

    python judge.py < requests.jsonl > verdicts.jsonl

A request contains ``model`` (a path), ``shapes`` and ``values``. The optimization profile uses ``shapes`` for
inputs with dynamic shapes, and ``values`` for shape tensors. Each model is judged in a separate process with
limits of time and memory, because the library crashes on some models and builds others without end.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorrt_rtx_bindings as trt

SECONDS = 60
MEMORY = 6 << 30
SM = trt.ComputeCapability.SM89


class Recorder(trt.ILogger):  # type: ignore[misc]
    """Records the errors that the builder logs."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.errors: list[str] = []

    def log(self, severity: Any, message: str) -> None:
        """Record a message; the library calls this method."""
        if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
            self.errors.append(message)


def judge(request: dict[str, Any], parsed_it: Callable[[], None]) -> dict[str, Any]:
    """Parse a model, report the result, and then build the model if it was parsed."""
    logger = Recorder()
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    parsed = parser.parse_from_file(request["model"])
    errors = [parser.get_error(i) for i in range(parser.num_errors)]
    told = [{"op": e.node_operator(), "code": str(e.code()), "desc": e.desc()[:300]} for e in errors]
    if not parsed:
        return {"parse": False, "build": None, "errors": told}
    parsed_it()
    logger.errors.clear()
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    config.num_compute_capabilities = 1
    config.set_compute_capability(SM, 0)
    profile = builder.create_optimization_profile()
    used = False
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        if tensor.is_shape_tensor and tensor.name in request["values"]:
            values = np.array(request["values"][tensor.name]).reshape(-1).tolist()
            profile.set_shape_input(tensor.name, values, values, values)
            used = True
        if -1 in tuple(tensor.shape):
            shape = request["shapes"][tensor.name]
            profile.set_shape(tensor.name, shape, shape, shape)
            used = True
    if used:
        config.add_optimization_profile(profile)
    built = builder.build_serialized_network(network, config) is not None
    return {"parse": True, "build": built, "errors": [{"desc": text[:400]} for text in logger.errors[:3]]}


def isolated(request: dict[str, Any]) -> dict[str, Any]:
    """Return the verdict from a child process. A crash is also a verdict."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(SECONDS)
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        stage: dict[str, Any] = {"parse": None, "build": None, "errors": []}

        def tell(stage: dict[str, Any]) -> None:
            os.write(writer, json.dumps(stage).encode()[:60000] + b"\n")

        try:
            stage = judge(request, lambda: tell({"parse": True, "build": "crash", "errors": []}))
        except BaseException as error:  # noqa: BLE001 - any exception is a part of the verdict
            stage["errors"] = [{"desc": repr(error)[:300]}]
        tell(stage)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answers = stream.read().splitlines()
    _, status = os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(answers[-1]) if answers else {"parse": None, "build": "crash"}
    if os.WIFSIGNALED(status):
        found["errors"] = [{"desc": f"signal {os.WTERMSIG(status)}"}]
    return found


def main() -> None:
    """Judge the requests on standard input."""
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps({**isolated(request), "model": request["model"]}), flush=True)


if __name__ == "__main__":
    main()
