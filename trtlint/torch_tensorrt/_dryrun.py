"""Run Torch-TensorRT on an exported program without a GPU (dry run), in a separate process.

Torch-TensorRT itself divides the program into engines, and creates the network of each engine. trtlint reads
each network, and builds it with TensorRT-RTX, because such a build needs no GPU. trtlint runs no engine.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trtlint.torch_tensorrt._layers import LayerReader, watch_owners
from trtlint.torch_tensorrt._nodes import node_data, operators, place_of
from trtlint.torch_tensorrt._stand_in import StandInError, install

_MOST_NODES = 2000
_MOST_LAYERS = 200_000
_LONGEST = 1000
_WEIGHT_LAYERS = ("CONVOLUTION", "DECONVOLUTION")

Say = Callable[[Any], None]


def work(request: dict[str, Any], say: Say) -> None:
    """Process a request, and send the result of each stage when the stage ends.

    Args:
        request: these keys:
            - ``program``: a path
            - ``release`` and ``tensorrt``: versions
            - ``sms``: compute capabilities times ten, the preferred one first
            - ``wheel``: a folder or None
            - ``options``: keyword arguments of the compiler
            - ``build``: true to build the networks
        say: function that receives ``{"stage": ...}`` when a stage begins, and the result of the stage when
            the stage ends.
    """
    say({"stage": "import"})
    scratch = Path.cwd() / "package"
    scratch.mkdir()
    try:
        package = install(request["release"], request["tensorrt"], request["sms"], request["wheel"], scratch)
    except StandInError as error:
        say({"unasked": str(error)})
        return
    torch = importlib.import_module("torch")
    say({"stage": "load", "torch": torch.__version__, "found": package.__version__})
    try:
        program = torch.export.load(request["program"])
    except Exception as error:  # noqa: BLE001 - a damaged file can raise any class
        say({"unasked": f"torch {torch.__version__} cannot load the program: {_said(error)}"})
        return
    say({"stage": "lower"})
    compile_program(torch, package, request, say, program)


def compile_program(torch: Any, package: Any, request: dict[str, Any], say: Say, program: Any) -> None:
    """Compile an exported program and report the results.

    Args:
        torch: the module ``torch``.
        package: the module ``torch_tensorrt``, from :func:`~trtlint.torch_tensorrt._stand_in.install`.
        request: as in :func:`work`.
        say: as in :func:`work`.
        program: the program.
    """
    _Compilation(torch, package, request, say).compile(program)


class _Compilation:
    """A compilation of a program. Some functions of Torch-TensorRT are patched to report the results."""

    def __init__(self, torch: Any, package: Any, request: dict[str, Any], say: Say) -> None:
        self._torch, self._package, self._request, self._say = torch, package, request, say
        self._compiler: Any = importlib.import_module("torch_tensorrt.dynamo._compiler")
        interpreter: Any = importlib.import_module("torch_tensorrt.dynamo.conversion._TRTInterpreter")
        if int(request["release"].split(".")[1]) < 13:
            _mark_outputs(interpreter)
        self._interpreter = interpreter.TRTInterpreter

    def compile(self, program: Any) -> None:
        options = {name: _value(self._torch, value) for name, value in self._request["options"].items()}
        device = self._package.Device("cuda:0")
        with contextlib.ExitStack() as undo:
            self._watch(undo)
            try:
                inputs, names = _inputs(self._torch, self._package, program)
                self._compiler.compile(
                    program, arg_inputs=inputs, kwarg_inputs=names, device=device, **options
                )
            except Exception as error:  # noqa: BLE001 - any error of the compiler is a result
                self._say({"ended": _said(error) + raised_at(error)})
            else:
                self._say({"stage": "done"})

    def _watch(self, undo: contextlib.ExitStack) -> None:
        """Patch functions of the compiler to report their calls. Closing ``undo`` restores the functions."""
        compiler, say = self._compiler, self._say
        partitioning = compiler.partitioning
        support = partitioning.get_graph_converter_support

        def watched_support(module: Any, *arguments: Any, **keywords: Any) -> Any:
            found = support(module, *arguments, **keywords)
            say({"stage": "partition", **operators(self._torch, module)})
            say({"supported": found[0]})
            return found

        display = compiler.dryrun_stats_display

        def watched_display(tracker: Any, *arguments: Any) -> None:
            say(
                {
                    "engines": tracker.tensorrt_graph_count,
                    "engine_operators": [each.subgraph_op_count for each in tracker.per_subgraph_data],
                    "in_torch": [str(each)[:_LONGEST] for each in tracker.to_run_in_torch[:_MOST_NODES]],
                }
            )
            display(tracker, *arguments)

        for owner, name, function in (
            (partitioning, "get_graph_converter_support", watched_support),
            (compiler, "dryrun_stats_display", watched_display),
            (compiler, "convert_module", self._convert),
        ):
            undo.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, function)

    def _convert(
        self, module: Any, inputs: Any, *_: Any, settings: Any = None, name: str = "", **__: Any
    ) -> Any:
        """Create the network of an engine, and send its layers.  Build the engine, but do not load it."""
        say = self._say
        say({"stage": "network", "engine": name})
        interpreter = self._interpreter(module, inputs, output_dtypes=None, compilation_settings=settings)
        owners, nodes = watch_owners(interpreter)
        begin = _position()
        try:
            interpreter._construct_trt_network_def()
        except Exception as error:  # noqa: BLE001 - any error of a converter is a result
            node = getattr(interpreter, "_cur_node", None)
            say({"network": {"engine": name, "error": _said(error), "node": node_data(self._torch, node)}})
            return _gone(self._torch)
        network = interpreter.ctx.net
        say({"network": {"engine": name, **_network(network)}})
        self._send_layers(name, LayerReader(importlib.import_module("tensorrt"), network, owners), nodes)
        if self._request["build"]:
            say({"stage": "build", "engine": name})
            say({"build": {"engine": name, **self._build(interpreter, network, begin)}})
        return _gone(self._torch)

    def _send_layers(self, name: str, reader: LayerReader, nodes: list[Any]) -> None:
        """Send the layers of a network, or the error if the network cannot be read."""
        try:
            found = reader.read()
        except Exception as error:  # noqa: BLE001 - the remaining results are useful without the layers
            self._say({"unread": _said(error)})
            return
        if found is not None:
            traces: dict[str, int] = {}
            places = [place_of(self._torch, node, traces) for node in nodes]
            texts = list(traces)
            self._say({"graph": {"engine": name, **found, "nodes": places, "traces": texts}})

    def _build(self, interpreter: Any, network: Any, begin: int) -> dict[str, Any]:
        """Build a network, and return the result of the build.

        ``begin`` is the length of the log before the network was created. If the build fails, the result
        includes the errors that TensorRT logged after this position.
        """
        trt = importlib.import_module("tensorrt")
        config = interpreter._populate_trt_builder_config()
        config.num_compute_capabilities = 1
        major, minor = self._torch.cuda.get_device_capability()
        config.set_compute_capability(getattr(trt.ComputeCapability, f"SM{major}{minor}"), 0)
        try:
            plan = interpreter.builder.build_serialized_network(network, config)
        except Exception as error:  # noqa: BLE001
            return {"built": False, "errors": [_said(error)]}
        return {"built": True} if plan is not None else {"built": False, "errors": _errors_since(begin)}


def _value(torch: Any, value: Any) -> Any:
    """Return the value of an option for the compiler.

    ``value`` is the JSON data from :mod:`trtlint.torch_tensorrt.options`.
    """
    if not isinstance(value, dict):
        return value
    if "set" in value:
        return {_value(torch, each) for each in value["set"]}
    return getattr(torch, value["dtype"])


def _inputs(torch: Any, package: Any, program: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and the keyword inputs of a program, with a range for each dynamic size."""
    arguments, keywords = program.example_inputs or ((), {})
    placeholders = {
        node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"
    }
    names = [each for each in program.graph_signature.user_inputs if isinstance(each, str)]
    values = [placeholders.get(name) for name in names]
    if any(not isinstance(value, torch.Tensor) for value in values):
        return list(arguments), dict(keywords)
    made = [_input(package, value, program.range_constraints) for value in values]
    if len(made) != len(arguments) + len(keywords):
        return list(arguments), dict(keywords)
    return made[: len(arguments)], dict(zip(keywords, made[len(arguments) :], strict=True))


def _input(package: Any, value: Any, ranges: Any) -> Any:
    sizes = []
    for size in value.shape:
        if isinstance(size, int):
            sizes.append((size, size, size))
            continue
        bounds = ranges.get(size.node.expr)
        low = 1 if bounds is None else _whole(bounds.lower, 1)
        high = 64 if bounds is None else _whole(bounds.upper, 64)
        hint = size.node.hint if size.node.has_hint() else low
        high = max(low, min(high, max(4096, hint)))
        sizes.append((low, min(max(low, hint), high), high))
    if all(low == high for low, _, high in sizes):
        return package.Input(shape=tuple(low for low, _, _ in sizes), dtype=value.dtype)
    low_, usual, high_ = zip(*sizes, strict=True)
    return package.Input(min_shape=low_, opt_shape=usual, max_shape=high_, dtype=value.dtype)


def _whole(bound: Any, otherwise: int) -> int:
    try:
        found = int(bound)
    except (AttributeError, TypeError, ValueError, OverflowError):  # AttributeError: infinity
        return otherwise
    return max(1, found) if found < 1 << 31 else otherwise


def _network(network: Any) -> dict[str, Any]:
    """Return the numbers of layers and convolutions in a network.

    ``tensor_weights`` is the number of convolutions whose weights are an input tensor.
    """
    kinds: Counter[str] = Counter()
    types: Counter[str] = Counter()
    weighted = tensors = 0
    for index in range(min(network.num_layers, _MOST_LAYERS)):
        layer = network.get_layer(index)
        kind = str(layer.type).rpartition(".")[2]
        kinds[kind] += 1
        if layer.num_outputs:
            types[str(layer.get_output(0).dtype).rpartition(".")[2]] += 1
        if kind in _WEIGHT_LAYERS:
            weighted += 1
            tensors += layer.num_inputs > 1 and layer.get_input(1) is not None
    return {
        "layers": dict(kinds),
        "types": dict(types),
        "convolutions": weighted,
        "tensor_weights": tensors,
    }


def _mark_outputs(interpreter: Any) -> None:
    """Patch the interpreter so that it marks outputs without setting their type.

    TensorRT-RTX cannot set the type of an output.
    """
    trt = importlib.import_module("tensorrt")
    tensor = importlib.import_module("torch_tensorrt.dynamo.conversion.converter_utils").get_trt_tensor

    def output(self: Any, target: Any, args: Any, _: Any) -> list[Any]:
        (found,) = args
        outputs = list(found) if isinstance(found, list | tuple) else [found]
        for index, each in enumerate(outputs):
            if not isinstance(each, trt.ITensor):
                outputs[index] = each = tensor(self.ctx, each, str(target))
            each.name = f"output{index}"
            self.ctx.net.mark_output(each)
            self._output_names.append(each.name)
        return outputs

    interpreter.TRTInterpreter.output = output


def _gone(torch: Any) -> Any:
    class NoEngine(torch.nn.Module):  # type: ignore[misc]
        """Placeholder for the engine."""

        def setup_engine(self) -> None:
            """Do nothing, because there is no engine to load."""

        def set_output_tensors_as_unowned(self, *_: Any) -> None:
            """Do nothing, because there are no outputs."""

    return NoEngine()


_LOGGED = re.compile(rb"\[[EF]\] [^\n]{1,1000}|(?:\bI[A-Z]\w{1,40}::\w{1,60}: )?\bError Code [^\n]{1,1000}")
_FOLLOWS = b"Output shape can not be computed"
"""Message for a layer that failed because of an error further up in the log."""
_NO_GPU = re.compile(rb"Error Code 1: Cuda Runtime|CUDA driver")
"""Errors that occur only because the machine has no GPU."""


def _position() -> int:
    with contextlib.suppress(OSError):
        return os.lseek(1, 0, os.SEEK_CUR)
    return 0


def _errors_since(begin: int) -> list[str]:
    """Return the errors that TensorRT logged after the position ``begin`` of the log."""
    with contextlib.suppress(OSError), Path("/proc/self/fd/1").open("rb") as file:
        file.seek(begin)
        return logged_errors(file.read(4 << 20))
    return []


def logged_errors(log: bytes) -> list[str]:
    """Return at most five different errors of TensorRT in a log.

    Errors that occur only because the machine has no GPU are left out.
    """
    lines = [line for line in _LOGGED.findall(log) if not _NO_GPU.search(line)]
    own = dict.fromkeys(line for line in lines if _FOLLOWS not in line) or dict.fromkeys(lines)
    return [line.decode("utf-8", "replace")[:_LONGEST] for line in own][:5]


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def raised_at(error: BaseException) -> str:
    """Describe where an error occurred: the innermost function of Torch-TensorRT, and the operator."""
    function, operator, step = "", "", error.__traceback__
    while step is not None:
        frame, step = step.tb_frame, step.tb_next
        path = frame.f_code.co_filename.replace(os.sep, "/")
        if "/torch_tensorrt/" in path and "/trtlint/" not in path:
            function = frame.f_code.co_name
            node = frame.f_locals.get("node")
            target = getattr(node, "target", None)
            operator = f"{target} " if target is not None and hasattr(node, "op") else operator
    return f" ({operator}in {function})" if function else ""
