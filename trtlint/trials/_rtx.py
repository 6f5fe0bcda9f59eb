"""Parse a model and build it with TensorRT-RTX: the part that runs in a process of its own.

The log goes to standard output, which is a file, line by line as the library writes it.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from trtlint.trials.shapes import Choice, Given, Input, choices

_MOST_ERRORS = 1000
"""Errors of the parser that are told: it checks every node, and a model can have very many."""
_LONGEST = 4000
"""Characters of one error."""
_OUT = 1
"""The descriptor that the library logs to."""

Say = Callable[[Any], None]


def work(request: dict[str, Any], say: Say) -> None:
    """Do what was asked, saying what came of each stage as it ends.

    Args:
        request: ``model``, a path; ``level``, ``parse`` or ``build``; ``sm``; ``shapes``, a list of
            names with three shapes each.
        say: takes ``{"stage": ...}`` when a stage begins, and what came of it.
    """
    say({"stage": "load"})
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    logger = trt.Logger(trt.Logger.VERBOSE)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    say({"version": trt.__version__, "stage": "parse"})
    began = time.monotonic()
    parsed = bool(parser.parse_from_file(request["model"]))
    errors = [_error(parser.get_error(index)) for index in range(min(parser.num_errors, _MOST_ERRORS))]
    say({"parsed": parsed, "errors": errors, "parse_seconds": time.monotonic() - began})
    if not parsed or request["level"] != "build":
        return
    inputs = [_input(trt, network.get_input(index)) for index in range(network.num_inputs)]
    given = [Given(name, _range(shapes)) for name, shapes in request["shapes"]]
    _Builds(trt, builder, network, request["sm"], say).run(inputs, given)


class _Builds:
    """Builds the network, for one choice of shapes after the other until one is taken."""

    def __init__(self, trt: Any, builder: Any, network: Any, sm: int, say: Say) -> None:
        self._trt = trt
        self._builder = builder
        self._network = network
        self._sm = sm
        self._say = say

    def run(self, inputs: list[Input], given: list[Given]) -> None:
        """Build; of several failures the log keeps the first, which is of the likeliest shapes."""
        sys.stdout.flush()
        parsed_to = os.lseek(_OUT, 0, os.SEEK_CUR)
        first: tuple[bytes, dict[str, Any]] | None = None
        for choice in choices(inputs, given):
            os.ftruncate(_OUT, parsed_to)
            os.lseek(_OUT, parsed_to, os.SEEK_SET)
            said = {"stage": "build", **_said(choice)}
            self._say(said)
            began = time.monotonic()
            try:
                built = self._build(choice)
            except (RuntimeError, TypeError, ValueError) as error:  # a shape that the bindings refuse
                print(f"{type(error).__name__}: {error}", flush=True)
                built = False
            result = {**said, "built": built, "build_seconds": time.monotonic() - began}
            self._say(result)
            if built:
                return
            if first is None:
                first = _since(parsed_to), result
        if first is not None:
            os.ftruncate(_OUT, parsed_to)
            os.lseek(_OUT, parsed_to, os.SEEK_SET)
            os.write(_OUT, first[0])
            self._say(first[1])

    def _build(self, choice: Choice) -> bool:
        trt = self._trt
        config = self._builder.create_builder_config()
        config.num_compute_capabilities = 1
        config.set_compute_capability(getattr(trt.ComputeCapability, f"SM{self._sm}"), 0)
        config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
        if choice.shapes or choice.values:
            profile = self._builder.create_optimization_profile()
            for name, shapes in choice.shapes.items():
                profile.set_shape(name, *shapes)
            for name, values in choice.values.items():
                profile.set_shape_input(name, *values)
            config.add_optimization_profile(profile)
        return self._builder.build_serialized_network(self._network, config) is not None


def _since(place: int) -> bytes:
    """What the log holds behind a place."""
    size = os.lseek(_OUT, 0, os.SEEK_CUR)
    os.lseek(_OUT, place, os.SEEK_SET)
    return os.read(_OUT, size - place)  # the file is open for reading, too


def _error(error: Any) -> dict[str, Any]:
    return {
        "code": str(error.code()).rpartition(".")[2],
        "node": str(error.node_name()),
        "op": str(error.node_operator()),
        "index": int(error.node()),
        "text": str(error.desc())[:_LONGEST],
        "function": str(error.func()),
    }


def _input(trt: Any, tensor: Any) -> Input:
    dims = tuple(tensor.shape)
    whole = (trt.int32, trt.int64, trt.bool, trt.uint8, trt.int8)
    return Input(
        name=tensor.name,
        dims=dims,
        symbols=tuple(tensor.get_dimension_name(axis) for axis in range(len(dims))),
        integer=tensor.dtype in whole,
        is_shape=bool(tensor.is_shape_tensor),
    )


def _range(shapes: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    smallest, usual, largest = (tuple(map(int, shape)) for shape in shapes)
    return smallest, usual, largest


def _said(choice: Choice) -> dict[str, Any]:
    return {
        "shapes": [[name, shapes] for name, shapes in choice.shapes.items()],
        "values": [[name, values] for name, values in choice.values.items()],
        "chosen": list(choice.chosen),
    }
