"""List the classes of reasons why a parser or builder refuses a node.  A class has one remedy."""

from __future__ import annotations

from typing import Literal

Reason = Literal[
    "operator",
    "contrib",
    "plugin",
    "library",
    "constant",
    "type",
    "interface",
    "attribute",
    "arity",
    "shape",
    "opset",
    "quantization",
    "dynamic",
    "attention",
    "limit",
    "control",
    "gpu",
]
"""Classes of reasons why a parser or builder refuses a node.

* ``operator``: no importer.
* ``contrib``: no importer, and ONNX Runtime wrote the operator.
* ``plugin``: no importer, and the domain is unknown.
* ``library``: imported as a plugin that the product does not include.
* ``constant``: an input must be known when the network is built.
* ``type``: the type of an operand.
* ``interface``: the type of an input of the model or of a stored tensor.
* ``attribute``: the value of an attribute.
* ``arity``: an extra output or input.
* ``shape``: a rank or size.
* ``opset``: an old form of the operator.
* ``quantization``: scales and zero points, or quantized types outside of quantization.
* ``dynamic``: a value computed at run time.
* ``attention``: no kernel for an Attention operator.
* ``limit``: a limit of the builder.
* ``control``: the form of an ``If`` or a ``Loop``.
* ``gpu``: a type that the GPU does not support.
"""

Stage = Literal["parse", "build"]
"""The stage of a refusal: by the ONNX parser, or by the builder after a successful parse."""

Known = Literal["measured", "source", "documented"]
"""Source of the range of releases that refuse a node.

* ``measured``: the parsers of TensorRT 8.6 and 10.0 to 10.10 ran on models that test the limits.
* ``source``: the source code of a parser.
* ``documented``: other documents of NVIDIA or of the parser.
"""
