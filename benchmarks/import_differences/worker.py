"""Compare case after case with one release of the parser: runs in a process of its own."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trtlint.model.errors import ModelError
from trtlint.network.comparing import Comparing, NotComparableError
from trtlint.network.read import Reader

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


def _compared(trt: Any, builder: Any, logger: Any, stem: str) -> tuple[str, str]:
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    if not parser.parse_from_file(f"{stem}.onnx"):
        return "refused", ""
    with np.load(f"{stem}.npz") as archive:
        feeds = {name: archive[name] for name in archive.files}
    try:
        comparing = Comparing(Path(f"{stem}.onnx"), Reader(trt, network).read(), lambda _: None)
    except (NotComparableError, ModelError) as error:
        return "no oracle", str(error)[:300]
    typed = {name: feeds[name].astype(dtype) for name, dtype in comparing.types.items()}
    reason = comparing.run("case", typed)
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
