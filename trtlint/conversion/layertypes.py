"""Read the types that a build or a script sets for single layers, and find their operators.

Two tools have options for the types:
- trtexec before TensorRT 11: ``--layerPrecisions``, ``--layerOutputTypes`` and ``--precisionConstraints``
  (https://github.com/NVIDIA/TensorRT/blob/v10.16/samples/common/sampleOptions.cpp)
- Polygraphy: ``--layer-precisions`` and ``--precision-constraints``
  (https://github.com/NVIDIA/TensorRT/tree/main/tools/Polygraphy)

The parser names layers after nodes.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from trtlint.buildcommand import BuildCommand
from trtlint.buildcommand.layerspecs import LayerSpec, layer_specs
from trtlint.conversion.result import ConversionError
from trtlint.dry_build.wheels import find
from trtlint.errors import SettingError
from trtlint.files.regular import read_bytes
from trtlint.model.graph import Node
from trtlint.model.protos import text
from trtlint.process.spawn import Limits, run

Constraints = Literal["none", "prefer", "obey"]

_FP32 = frozenset({"fp32", "float32", "float", "kfloat"})
_NARROW = {"fp16": frozenset({"fp16", "float16", "half", "khalf"}), "bf16": frozenset({"bf16", "bfloat16"})}
_POLYGRAPHY = {"--layer-precisions": "--layerPrecisions", "--precision-constraints": "constraints"}
_MOST_BYTES = 1 << 20
_MOST_SPECS = 10_000
_MOST_PATTERNS = 200
_WORK = "trtlint.conversion._script"
_USUAL_FUNCTION = "postprocess"
"""Default name of the function, as in Polygraphy's network scripts."""
_NODE = re.compile(r"\[ONNX Layer: ([^\]]{1,1000})\]")


class LayerTypes(Struct, frozen=True):
    """The data types that a build sets for layers.

    Attributes:
        specs: names of layers, each with its type.
        constraints: ``none`` if TensorRT ignores the types, ``prefer`` if they are preferences, ``obey`` if
            they are requirements.
        source: name of the option that sets the types, for reports.
    """

    specs: tuple[LayerSpec, ...] = ()
    constraints: Constraints = "none"
    source: str = "--layerPrecisions"


class AskedTypes(Struct, frozen=True):
    """The operators whose type the build sets.

    Attributes:
        fp32: operators in FP32, each with the reason.
        narrow: operators in 16 bits, each with the reason.
        binding: true if the types are requirements, false if they are preferences.
        unmatched: names of layers that match no operator.
        other: layers with another type, such as ``int8``.
        limits: limits that the settings exceed, as notes for the user.
    """

    fp32: dict[Node, str]
    narrow: dict[Node, str]
    binding: bool
    unmatched: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()


def of_command(command: BuildCommand) -> LayerTypes:
    """Return the data types that a trtexec command sets for layers."""
    option = command.option("--precisionConstraints")
    specs = tuple(spec for spec in layer_specs(command) if spec.option != "--layerDeviceTypes")
    return LayerTypes(specs, _constraints("" if option is None else option.value or ""))


def of_polygraphy(given: str) -> LayerTypes | None:
    """Return the data types that a Polygraphy command sets for layers, or None for any other text.

    Args:
        given: the command, or a file that contains the command.
    """
    content = given
    with suppress(OSError, ValueError):
        if Path(given).is_file():
            content = read_bytes(Path(given), _MOST_BYTES).decode("utf-8", "replace")
    for line in content.replace("\\\n", " ").splitlines():
        if "polygraphy" not in line or "--layer-precisions" not in line:
            continue
        with suppress(ValueError):
            return _polygraphy(shlex.split(line, comments=True))
    return None


def _polygraphy(words: Sequence[str]) -> LayerTypes:
    specs: list[LayerSpec] = []
    constraints = ""
    current = ""
    for word in words:
        if word.startswith("-"):
            name, _, value = word.partition("=")
            current = _POLYGRAPHY.get(name, "")
            if not value:
                continue
            word = value
        if current == "constraints":
            constraints = word
        elif current:
            layer, _, type_ = word.rpartition(":")
            specs.append(LayerSpec("--layerPrecisions", layer, type_))
    return LayerTypes(tuple(specs), _constraints(constraints), "--layer-precisions")


def _constraints(value: str) -> Constraints:
    return "obey" if value == "obey" else "prefer" if value == "prefer" else "none"


def asked_types(nodes: Iterable[Node], types: LayerTypes, type_: str) -> AskedTypes:
    """Find the operators whose type the build sets.

    If the build sets several types for a layer, the last one applies.

    Args:
        nodes: the operators of the model.
        types: the types that the build sets for layers.
        type_: ``fp16`` or ``bf16``.
    """
    found = AskedTypes({}, {}, types.constraints == "obey")
    if types.constraints == "none":
        return found
    everything = tuple(nodes)
    by_name: dict[str, list[Node]] = {}
    for node in everything:
        for name in _names(node):
            by_name.setdefault(name, []).append(node)
    unmatched: list[str] = []
    other: list[str] = []
    patterns = 0
    for spec in types.specs[:_MOST_SPECS]:
        matched = by_name.get(spec.name, [])
        if "*" in spec.name:
            patterns += 1
            if patterns > _MOST_PATTERNS:
                continue
            matched = [node for node in everything if any(map(spec.means, _names(node)))]
        if not matched:
            unmatched.append(spec.name)
        kinds = set(spec.value.lower().split("+"))
        for node in matched:
            reason = f"{spec.option if types.source.startswith('--layerP') else types.source} {spec.name}"
            if kinds & _FP32:
                found.narrow.pop(node, None)
                found.fp32[node] = f"{reason}:{spec.value}"
            elif kinds & _NARROW[type_]:
                found.fp32.pop(node, None)
                found.narrow[node] = f"{reason}:{spec.value}"
            else:
                other.append(f"{spec.name}:{spec.value}")
    limits = []
    if len(types.specs) > _MOST_SPECS:
        limits.append(
            f"the settings name {len(types.specs):,} layers; trtlint applies only the first {_MOST_SPECS:,}"
        )
    if patterns > _MOST_PATTERNS:
        limits.append(
            f"the settings have {patterns:,} layer names with *; trtlint applies only the first "
            f"{_MOST_PATTERNS}, so write the remaining names without *"
        )
    return replace(found, unmatched=tuple(unmatched), other=tuple(dict.fromkeys(other)), limits=tuple(limits))


def _names(node: Node) -> Iterator[str]:
    """Yield the names that TensorRT's parser may give to the layer of an operator.

    https://github.com/onnx/onnx-tensorrt/blob/main/importerUtils.cpp (``getNodeName``)
    """
    name = text(node.proto.name)
    if name:
        yield name
    else:
        yield f"node_of_{node.output.name}"
    if node.path != name:
        yield node.path


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
