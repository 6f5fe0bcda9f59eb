"""Detection of the TensorRT-RTX wheels on this machine, and models for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trtlint.dry_build.errors import WheelError
from trtlint.dry_build.wheels import find

try:
    VERSION = find().version
except WheelError:
    VERSION = ""

NEEDS_WHEELS = pytest.mark.skipif(
    not VERSION, reason="the wheels of TensorRT-RTX are not installed: pip install 'trtlint[rtx]'"
)

_BUILD = """
import sys
import tensorrt_rtx_bindings as trt
logger = trt.Logger(trt.Logger.INFO)
builder = trt.Builder(logger)
network = builder.create_network(0)
if trt.OnnxParser(network, logger).parse_from_file(sys.argv[1]):
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM89, 0)
    builder.build_serialized_network(network, config)
"""


def write_log(model: Path, log: Path) -> Path:
    """Build a model in a separate process, like a user's script, and save its log."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    with log.open("wb") as out:
        subprocess.run(
            [sys.executable, "-c", _BUILD, str(model)], stdout=out, check=True, timeout=120, env=environment
        )
    return log
