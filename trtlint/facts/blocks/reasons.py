"""List the classes of reasons why a parser or builder refuses a node.  Each class has one remedy."""

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

* ``operator``: the parser has no importer for the operator.
* ``contrib``: the operator is a contrib operator of ONNX Runtime, and the parser has no importer for it.
* ``plugin``: the parser has no importer for the operator, and the operator's domain is unknown.
* ``library``: the parser imports the operator as a plugin that the product does not include.
* ``constant``: the value of an input must be known when the network is built.
* ``type``: the type of an operand is not supported.
* ``interface``: the type of a model input or of a stored tensor is not supported.
* ``attribute``: the value of an attribute is not supported.
* ``arity``: the node has more outputs or inputs than the parser supports.
* ``shape``: a rank or a size is not supported.
* ``opset``: the node has an old form of the operator.
* ``quantization``: scales or zero points are not supported, or the node is not a quantizer but has a
  quantized type.
* ``dynamic``: a value is computed at run time.
* ``attention``: there is no kernel for an Attention operator.
* ``limit``: the node exceeds a limit of the builder.
* ``control``: the form of an ``If`` or a ``Loop`` is not supported.
* ``gpu``: the GPU does not support a type.
"""

Stage = Literal["parse", "build"]
"""The stage of a refusal: ``parse`` by the ONNX parser, ``build`` by the builder after a successful parse."""

Known = Literal["measured", "source", "documented"]
"""Kinds of evidence for the releases that refuse a node.

* ``measured``: the parsers of TensorRT 8.6 and 10.0 to 10.10 accepted or refused test models.
* ``source``: the source code of a parser shows the refusal.
* ``documented``: other documents by NVIDIA or by the parser's authors describe the refusal.
"""
