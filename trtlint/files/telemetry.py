"""Switch off the telemetry of other packages: ONNX Runtime and huggingface_hub.

ONNX Runtime's official builds send events to Microsoft unless ``ORT_DISABLE_TELEMETRY`` is set before the
library loads.  The builds for Linux send events since https://github.com/microsoft/onnxruntime/pull/27379.
The official builds also write a device id and an event queue to the user's cache folder.  Builds for Windows
apps use another telemetry backend.  To switch it off, a program must call a function:
https://github.com/microsoft/onnxruntime/blob/main/docs/Privacy.md.

huggingface_hub adds the versions of installed packages to its requests:
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfhubdisabletelemetry.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

SILENT: Mapping[str, str] = MappingProxyType({"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1"})
"""Environment variables that switch telemetry off.  Every process that trtlint starts gets them."""


def switch_off() -> None:
    """Switch telemetry off for this process and its children."""
    os.environ.update(SILENT)


def onnx_runtime() -> Any:
    """Import ONNX Runtime without its telemetry.

    Raises:
        ImportError: ONNX Runtime is not installed.
    """
    switch_off()
    runtime = import_module("onnxruntime")
    runtime.disable_telemetry_events()
    return runtime
