"""Worker process: run the user's function on the parsed network, and record the data types of layers.

The function gets a wrapper of the network. The wrapper returns the names, types and tensors of TensorRT's
network. The wrapper also records the precisions that the function sets for a weakly typed build
(https://docs.nvidia.com/deeplearning/tensorrt/latest/_static/python-api/infer/Graph/LayerBase.html):
- ``layer.precision = trt.float32``
- ``layer.set_output_type(0, trt.float32)``
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

_MOST_LAYERS = 200_000

Say = Callable[[Any], None]


class BuilderStandIn:
    """A stand-in for a builder or configuration. The stand-in accepts every attribute and method call."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return BuilderStandIn()

    def __call__(self, *_: Any, **__: Any) -> Any:
        return BuilderStandIn()

    def __or__(self, other: Any) -> Any:
        return self

    def __ror__(self, other: Any) -> Any:
        return self

    def __index__(self) -> int:
        return 0


class Names:
    """Stand-in for an enumeration, which also accepts names that TensorRT-RTX lacks.

    An example of such a name is ``BuilderFlag.FP16``.

    Args:
        names: the enumeration of TensorRT-RTX.
    """

    def __init__(self, names: Any) -> None:
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._names, name, None)
        return BuilderStandIn() if found is None else found


class RecordingLayer:
    """A layer that records the precisions that a script sets.

    Args:
        layer: the layer of the parsed network.
    """

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._said: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name == "precision":
            return self._said.get("precision")
        return getattr(self._layer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "precision":
            self._said["precision"] = value
        else:
            object.__setattr__(self, name, value)

    @property
    def precision_is_set(self) -> bool:
        """Return whether the script set a precision."""
        return "precision" in self._said

    def reset_precision(self) -> None:
        """Remove the recorded precision."""
        self._said.pop("precision", None)

    def set_output_type(self, index: int, dtype: Any) -> None:
        """Record the type of an output."""
        self._said[f"output {int(index)}"] = dtype

    def get_output_type(self, index: int) -> Any:
        """Return the type of an output: the recorded type, or else the type in the network."""
        return self._said.get(f"output {int(index)}", self._layer.get_output(index).dtype)

    def output_type_is_set(self, index: int) -> bool:
        """Return whether the script set the type of an output."""
        return f"output {int(index)}" in self._said

    def reset_output_type(self, index: int) -> None:
        """Remove the recorded type of an output."""
        self._said.pop(f"output {int(index)}", None)


class RecordingNetwork:
    """A network whose layers record the precisions that a script sets.

    Args:
        network: the parsed network.
    """

    def __init__(self, network: Any) -> None:
        self._network = network
        count = min(network.num_layers, _MOST_LAYERS)
        self.layers = [RecordingLayer(network.get_layer(index)) for index in range(count)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[RecordingLayer]:
        return iter(self.layers)

    def __getitem__(self, index: int) -> RecordingLayer:
        return self.layers[index]

    def get_layer(self, index: int) -> RecordingLayer:
        """Return a layer."""
        return self.layers[index]


def work(request: Mapping[str, Any], say: Say) -> None:
    """Parse a model, run the user's function, and send the layer types that the function sets."""
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(request["model"]):
        text = parser.get_error(0).desc() if parser.num_errors else "the parser refuses the model"
        say({"error": text[:400]})
        return
    sys.modules.setdefault("tensorrt", _stand_in(trt))
    recorded = RecordingNetwork(network)
    try:
        _call(_function(request["script"], request["function"]), recorded)
    except Exception as error:  # noqa: BLE001 - whatever the user's function does
        say({"error": f"{request['name']}: {type(error).__name__}: {error}"[:400]})
        return
    say({"layers": [entry for layer in recorded.layers if (entry := _entry(layer)) is not None]})


def _entry(layer: RecordingLayer) -> list[str] | None:
    """Return the name, the metadata and the type of a layer, or None if the user's function set no type."""
    said = layer._said
    if not said:
        return None
    dtype = said.get("precision", next(iter(said.values())))
    name = str(getattr(dtype, "name", dtype)).lower()
    metadata = str(getattr(layer._layer, "metadata", ""))
    return [str(layer._layer.name), metadata, {"float": "fp32", "half": "fp16"}.get(name, name)]


def _stand_in(trt: Any) -> types.ModuleType:
    """Return the module that the script gets as ``tensorrt``.

    For each name that TensorRT-RTX lacks, the module has an object that accepts any use and does nothing.
    """
    module = types.ModuleType("tensorrt")

    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(trt, name, None)
        if found is None:
            return BuilderStandIn()
        return Names(found) if hasattr(found, "__members__") else found

    module.__getattr__ = find  # type: ignore[method-assign]
    return module


def _function(script: str, name: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location("trtlint_network_script", script)
    if spec is None or spec.loader is None:
        raise ValueError("not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(Path(script).parent))
    spec.loader.exec_module(module)
    found = getattr(module, name)
    if not callable(found):
        raise TypeError(f"{name} is not a function")
    return found  # type: ignore[no-any-return]


def _call(function: Callable[..., Any], network: RecordingNetwork) -> None:
    """Call the user's function with the network.

    The network is passed as the argument ``network``, or as the first argument if no argument has this name.
    All further required positional arguments get stand-ins. Optional arguments keep their defaults.
    """
    signature = inspect.signature(function)
    given = signature.bind_partial()
    given.arguments |= {
        name: BuilderStandIn() for name, each in signature.parameters.items() if _is_required(each)
    }
    name = "network" if "network" in signature.parameters else next(iter(signature.parameters), "")
    match signature.parameters.get(name):
        case inspect.Parameter(kind=inspect.Parameter.VAR_POSITIONAL):
            given.arguments[name] = (network,)
        case inspect.Parameter(kind=inspect.Parameter.VAR_KEYWORD):
            given.arguments[name] = {"network": network}
        case inspect.Parameter():
            given.arguments[name] = network
    function(*given.args, **given.kwargs)


def _is_required(parameter: inspect.Parameter) -> bool:
    positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    return positional and parameter.default is parameter.empty
