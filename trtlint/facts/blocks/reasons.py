"""Why a parser or builder refuses something, in classes that have a way out in common."""

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
"""``operator``: no importer; ``contrib``: no importer, and written by ONNX Runtime; ``plugin``: no
importer, and of a domain that nobody defines; ``library``: imported as a plugin that the product comes
without; ``constant``: an input must be known when the network is built; ``type``: the type of an operand;
``interface``: the type of an input of the model or of a stored tensor; ``attribute``: its value;
``arity``: an output or input too many; ``shape``: a rank or size; ``opset``: too old a form of the
operator; ``quantization``: scales and zero points, or quantized types outside of quantization;
``dynamic``: something computed at run time; ``attention``: no kernel for an Attention operator; ``limit``:
a limit of the builder; ``control``: the form of an ``If`` or a ``Loop``; ``gpu``: a type that the GPU
lacks."""

Stage = Literal["parse", "build"]
"""Whether the ONNX parser refuses it, or the builder a network that was parsed."""

Known = Literal["measured", "source", "documented"]
"""What a refusal's range of releases rests on.  ``measured``: the parsers of TensorRT 8.6 and 10.0 to 10.10
ran on models that tell the edges apart; ``source``: the source code of a parser; ``documented``: other
documents of NVIDIA or of the parser."""
