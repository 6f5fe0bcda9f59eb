"""Worker process: parse a model and build it with TensorRT-RTX.

The TensorRT-RTX library writes its log to standard output, which is redirected to a file.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import time
from collections.abc import Callable
from itertools import islice
from math import prod
from typing import Any

from msgspec import convert, to_builtins

from trtlint.dry_build.hints import FEW, Hints, NetworkSizes, hints_of, is_about_sizes
from trtlint.dry_build.shapes import MOST, Input, ShapeChoice, ShapeRange, choices

_MOST_ERRORS = 1000
"""Maximum number of reported parser errors.  The parser checks every node, and models can be large."""
_LONGEST = 4000
"""Maximum length of a reported error, in characters."""
_FEW_TRIES = 3
"""Number of input shapes to try if the first failure is not about sizes."""
_RETRY_SECONDS = 20.0
"""Seconds of retries after which the process tries no further input shapes."""
_MOST_LAYERS = 100_000
_ERROR = re.compile(rb"\[[EF]\] ([^\n]{1,4000}(?:\n(?!\[)[^\n]{0,1000}){0,8})")
_OUT = 1
"""File descriptor to which the library writes its log."""

Say = Callable[[Any], None]


def work(request: dict[str, Any], say: Say) -> None:
    """Process a request, and report the result of each stage (parse, build) at the end of the stage.

    Args:
        request: the keys ``model`` (a path), ``level`` (``parse`` or ``build``), ``sm`` (compute capability
            times ten) and ``shapes`` (a list with the fields of each ShapeRange).
        say: function that receives ``{"stage": ...}`` at the start of a stage, and the result at the end of
            the stage.
    """
    say({"stage": "load"})
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    logger = trt.Logger(trt.Logger.VERBOSE)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    say({"version": trt.__version__, "stage": "parse"})
    parsed = bool(parser.parse_from_file(request["model"]))
    errors = [_error(parser.get_error(index)) for index in range(min(parser.num_errors, _MOST_ERRORS))]
    say({"parsed": parsed, "errors": errors})
    if not parsed or request["level"] != "build":
        return
    inputs = [_input(trt, network.get_input(index)) for index in range(network.num_inputs)]
    given = convert(request["shapes"], list[ShapeRange])
    _Builds(trt, builder, network, request["sm"], say).run(inputs, given)


class _Builds:
    """Builds a network with one set of input shapes after the other, until a build succeeds."""

    def __init__(self, trt: Any, builder: Any, network: Any, sm: int, say: Say) -> None:
        self._trt = trt
        self._builder = builder
        self._network = network
        self._sm = sm
        self._say = say
        sys.stdout.flush()
        self._parsed_to = os.lseek(_OUT, 0, os.SEEK_CUR)

    def run(self, inputs: list[Input], given: list[ShapeRange]) -> None:
        """Build the network. The user's shapes and the most likely sizes are tried first.

        If all builds fail, only the messages of the first build stay in the log. There is one exception: if
        sizes that trtlint chose caused the first error, the messages of all builds are removed.
        """
        likeliest = next(choices(inputs, given))
        log, result = self._try(likeliest)
        if result["built"] or not likeliest.chosen:
            return
        error = _error_in(log)
        about_sizes = is_about_sizes(error)
        if about_sizes:
            self._say({"refused": error[:_LONGEST], "parsed_to": self._parsed_to})
        began = time.monotonic()
        # A wrong choice of shapes fails in milliseconds.  Other failures take the time of a whole build.
        most = MOST if about_sizes else _FEW_TRIES
        hints = _hints(self._trt, self._network) if about_sizes else Hints()
        for choice in islice(choices(inputs, given, hints), 1, most):
            if time.monotonic() - began > _RETRY_SECONDS:
                break
            if self._try(choice)[1]["built"]:
                return
        if about_sizes:
            self._rewind()
            self._say({**result, "built": None})
        else:
            self._rewind(log)
            self._say(result)

    def _try(self, choice: ShapeChoice) -> tuple[bytes, dict[str, Any]]:
        """Build the network with one set of input shapes. Return the result, and the log of a failure."""
        self._rewind()
        message = {"stage": "build", **to_builtins(choice)}
        self._say(message)
        try:
            built = self._build(choice)
        except (RuntimeError, TypeError, ValueError) as error:  # the bindings reject a shape
            print(f"{type(error).__name__}: {error}", flush=True)
            built = False
        result = {**message, "built": built}
        self._say(result)
        return b"" if built else _log_after(self._parsed_to), result

    def _rewind(self, log: bytes = b"") -> None:
        """Remove from the log all text after the parser's output, then append ``log``."""
        os.ftruncate(_OUT, self._parsed_to)
        os.lseek(_OUT, self._parsed_to, os.SEEK_SET)
        if log:
            os.write(_OUT, log)

    def _build(self, choice: ShapeChoice) -> bool:
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


def _error_in(log: bytes) -> str:
    """Return the first error in the builder's log with its continuation lines, or an empty string."""
    found = _ERROR.search(log)
    return "" if found is None else " ".join(found[1].decode("utf-8", "replace").split())


def _hints(trt: Any, network: Any) -> Hints:
    """Return input sizes that the weights of a network suggest.

    The result is empty if the Python API of this TensorRT-RTX release is incompatible.
    """
    try:
        return hints_of(_network_sizes(trt, network))
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return Hints()


def _network_sizes(trt: Any, network: Any) -> NetworkSizes:
    """Collect the properties of a network that suggest input sizes: weights, strides and channels."""
    tables: list[tuple[int, ...]] = []
    numbers: list[int] = []
    strides: list[int] = []
    channels: list[int] = []
    types = trt.LayerType
    for index in range(min(network.num_layers, _MOST_LAYERS)):
        layer = network.get_layer(index)
        kind = layer.type
        if kind == types.CONSTANT:
            output = layer.get_output(0)
            shape = tuple(output.shape)
            if output.dtype not in (trt.int32, trt.int64):
                tables.append(shape)
            elif prod(shape) <= FEW:
                layer.__class__ = trt.IConstantLayer
                numbers += map(int, layer.weights.ravel().tolist())
        elif kind == types.CONVOLUTION:
            layer.__class__ = trt.IConvolutionLayer
            strides.append(max(layer.stride_nd, default=1))
            channels.append(int(layer.num_output_maps))
        elif kind == types.POOLING:
            layer.__class__ = trt.IPoolingLayer
            strides.append(max(layer.stride_nd, default=1))
        elif kind == types.SHUFFLE:
            layer.__class__ = trt.IShuffleLayer
            numbers += _reshape_of(layer)
    return NetworkSizes(tuple(dict.fromkeys(tables)), tuple(numbers), tuple(strides), tuple(channels))


def _reshape_of(layer: Any) -> tuple[int, ...]:
    """Return the target dimensions of a reshape, or an empty tuple if they are computed at run time."""
    try:
        return tuple(layer.reshape_dims)
    except (TypeError, ValueError):  # computed at run time: the bindings iterate over None
        return ()


def _log_after(place: int) -> bytes:
    """Return the part of the log after the byte offset ``place``."""
    size = os.lseek(_OUT, 0, os.SEEK_CUR)
    os.lseek(_OUT, place, os.SEEK_SET)
    return os.read(_OUT, size - place)  # the file is also open for reading


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
