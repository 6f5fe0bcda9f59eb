"""What NVIDIA's parser and builder say of models, one line of JSON each; run by a Python that has them.

    python judge.py < requests.jsonl > verdicts.jsonl

A request has ``model`` (a path) and ``shapes`` and ``values`` (what the optimisation profile gets for
inputs of dynamic shape and for inputs that are shape tensors).  Every model is judged in a fork of its
own, with limits of time and memory: the library crashes on some and builds others without end.
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
    """Keeps the errors that the builder logs."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.errors: list[str] = []

    def log(self, severity: Any, message: str) -> None:
        """Called by the library."""
        if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
            self.errors.append(message)


def judge(request: dict[str, Any], parsed_it: Callable[[], None]) -> dict[str, Any]:
    """Parse a model, and build it where it was parsed, which is told before."""
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
    """The verdict of a fork; a crash is a verdict, too."""
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
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
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
    """Judge what stands on the standard input."""
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps({**isolated(request), "model": request["model"]}), flush=True)


if __name__ == "__main__":
    main()
