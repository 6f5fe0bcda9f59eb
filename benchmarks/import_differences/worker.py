"""Worker process that compares cases with one release of the parser."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from trtlint.measurement.inputs import Inputs
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.network.comparing import NetworkComparer, NotComparableError
from trtlint.network.feeding import compare_all
from trtlint.network.parsing import WeightFiles
from trtlint.network.read import NetworkReader

Say = Callable[[Any], None]


def work(request: dict[str, Any], say: Say) -> None:
    """Report the start of each case, and its outcome as ``[number, outcome, text]``."""
    warnings.simplefilter("ignore")
    trt: Any = importlib.import_module("tensorrt_rtx_bindings")
    logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
    builder = trt.Builder(logger)
    for number, stem in request["cases"]:
        say([number, "begun", ""])
        try:
            outcome, text = _compared(trt, builder, logger, stem)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - a fault of one case ends no other
            outcome, text = "failed", f"{type(error).__name__}: {error}"[:300]
        say([number, outcome, text])


def _run(comparing: NetworkComparer, file: Path) -> str:
    """Compare on the inputs of a file, or on random inputs; return the reason if this is not possible."""
    if not file.is_file():
        compare_all(load(file.with_suffix(".onnx")).graph.inputs, Inputs(), comparing, {}, probe=False)
        return ""
    with np.load(file) as archive:
        feeds = {name: archive[name] for name in archive.files}
    graph = onnx.load(file.with_suffix(".onnx"), load_external_data=False).graph
    for info in graph.input:
        if info.name in feeds and feeds[info.name].dtype.kind == "V":  # a type that NumPy's files lack
            own = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
            feeds[info.name] = feeds[info.name].view(own)
    typed = {name: feeds[name].astype(dtype) for name, dtype in comparing.types.items()}
    return comparing.run("case", typed)


def _compared(trt: Any, builder: Any, logger: Any, stem: str) -> tuple[str, str]:
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(f"{stem}.onnx"):
        return "refused", ""
    try:
        comparing = NetworkComparer(
            Path(f"{stem}.onnx"), NetworkReader(trt, network).read(), WeightFiles(), lambda _: None
        )
        reason = _run(comparing, Path(f"{stem}.npz"))
    except (NotComparableError, ModelError) as error:
        reason = str(error)
    if reason:
        return "no oracle", reason[:300]
    found = comparing.agreement()
    if found["differences"]:
        first = found["differences"][0]
        return "differs", f"{first['tensor']}: {first['expected']} -> {first['got']} ({first['oracles']})"
    if found["unclear"]:
        return "unclear", ", ".join(each["op"] for each in found["unclear"])
    if found["compared"]:
        return "deviates" if found["deviations"] else "agrees", ", ".join(found["deviations"])
    return "not computed", ", ".join(each["reason"] for each in found["reasons"])
