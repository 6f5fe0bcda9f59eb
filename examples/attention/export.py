"""Write attention.onnx: ``python export.py`` in this folder, with torch and onnxscript installed."""

from __future__ import annotations

import torch
from model import Encoder

torch.manual_seed(0)
# With dynamo=True, the exporter records the module and the source line of every node.
torch.onnx.export(
    Encoder().eval(),
    (torch.randn(1, 8, 32),),
    "attention.onnx",
    dynamo=True,
    opset_version=20,
    external_data=False,
)
