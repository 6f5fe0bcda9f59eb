"""Run a comparison in a worker process.

The process parses a model with TensorRT, computes the network, and compares its tensors with ONNX.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trtlint.files.regular import open_regular
from trtlint.measurement.inputs import Inputs, InputsError
from trtlint.model.errors import ModelError
from trtlint.model.load import Model, load
from trtlint.network.comparing import NetworkComparer, NotComparableError
from trtlint.network.expected import WeightsMissingError
from trtlint.network.feeding import compare_all
from trtlint.network.parsing import parse
from trtlint.network.read import NetworkReader

Say = Callable[[Any], None]
_LONGEST = 500


def work(request: dict[str, Any], say: Say) -> None:
    """Compare a model with its TensorRT network. Send progress and results.

    TensorRT's parser makes the network from the model.

    Args:
        request: the keys ``model`` (a path), ``files``, ``lists`` and ``script`` (inputs of the user),
            ``probe`` (True to generate edge cases) and ``shapes`` (shapes of inputs by name).
        say: function that receives the messages.  Each message is a dictionary with one of these keys:

            - ``done``: the finished share of the work, 0 to 1.
            - ``inputs``: why the inputs of the user cannot be used.
            - ``reason``: why nothing can be compared.
            - ``memory``: True, because there is too little memory.
            - ``agreement``: the result.
    """
    began = time.monotonic()
    path = Path(request["model"])
    try:
        model = load(path)
    except ModelError as error:
        say({"reason": str(error)[:_LONGEST]})
        return
    if location := _unreadable(model):
        say({"reason": f"the external data {location[:_LONGEST]} of the model cannot be read"})
        return
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    try:
        parsed = parse(trt, path)
        if parsed.network is None:
            say({"reason": "the parser refuses the model"})
            return
        network = NetworkReader(trt, parsed.network).read()
        comparing = NetworkComparer(path, network, parsed.files, lambda share: say({"done": round(share, 3)}))
        given = Inputs(tuple(request["files"]), tuple(request["lists"]), request["script"])
        compare_all(model.graph.inputs, given, comparing, request["shapes"], probe=bool(request["probe"]))
        found = comparing.agreement()
    except InputsError as error:
        say({"inputs": str(error)[:_LONGEST]})
        return
    except (NotComparableError, WeightsMissingError, ModelError) as error:
        say({"reason": str(error)[:_LONGEST]})
        return
    except MemoryError:
        say({"memory": True})
        return
    say({"agreement": {**found, "seconds": time.monotonic() - began}})


def _unreadable(model: Model) -> str:
    """Return the first unreadable external data file, or an empty string if all files are readable."""
    for location in model.tensors.locations:
        found = model.tensors.file_of(location)
        try:
            if found is None:
                return location
            open_regular(found[0]).close()
        except OSError:
            return location
    return ""
