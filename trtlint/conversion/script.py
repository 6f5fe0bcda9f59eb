"""Find the data types that the user's function sets for layers (option ``--network-script``)."""

from __future__ import annotations

import os
import re
from pathlib import Path

from trtlint.buildcommand.layerspecs import LayerSpec
from trtlint.conversion.layertypes import LayerTypes
from trtlint.conversion.result import ConversionError
from trtlint.dry_build.wheels import find
from trtlint.errors import SettingError
from trtlint.process.spawn import Limits, run

_WORK = "trtlint.conversion._script"
_USUAL_FUNCTION = "postprocess"
"""Default name of the function, as in Polygraphy's network scripts."""
_NODE = re.compile(r"\[ONNX Layer: ([^\]]{1,1000})\]")


class NetworkScriptError(SettingError):
    """Error: a network script cannot be run.  The message is the reason."""


def of_script(model: Path, given: str) -> LayerTypes:
    """Run the user's function on the parsed network, and return the layer types that the function sets.

    Only the command line can name the script, because trtlint executes the script.

    Args:
        model: the model to parse.
        given: ``FILE.py:FUNCTION``.

    Raises:
        NetworkScriptError: the file does not exist, or the function raises an exception.
        ConversionError: the parser rejects the model.
        WheelError: TensorRT-RTX is not installed.
    """
    file, _, function = given.rpartition(":") if ".py:" in given else (given, "", _USUAL_FUNCTION)
    if not Path(file).is_file():
        raise NetworkScriptError(f"--network-script {file}: there is no such file")
    wheels = find()
    order = {
        "model": os.path.abspath(model),  # noqa: PTH100 - links stay
        "script": os.path.abspath(file),  # noqa: PTH100 - links stay
        "function": function,
        "name": given,
    }
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    ended = run(_WORK, order, Limits(), paths=(wheels.folder,), environment=hidden)
    last = ended.answers[-1] if ended.answers else {}
    if "error" in last:
        raise NetworkScriptError(f"--network-script {last['error']}")
    if "layers" not in last:
        raise ConversionError(f"--network-script {given}: the process that ran the script {ended.words}")
    specs = []
    for name, metadata, type_ in last["layers"]:
        node = next(iter(_NODE.findall(metadata)), name)
        specs.append(LayerSpec("--layerPrecisions", node.replace("*", "?"), type_))
    return LayerTypes(tuple(specs), "obey", f"--network-script {Path(file).name}")
