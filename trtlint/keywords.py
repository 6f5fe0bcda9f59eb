"""The keywords that the functions of the Python API share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trtlint.arguments import read
from trtlint.engine.finding import Confidence
from trtlint.engine.rule import Rule
from trtlint.knowledge.providers import Provider
from trtlint.optionnames import unknown_keyword
from trtlint.runs.evidencefiles import EvidenceKeywords

if TYPE_CHECKING:
    from trtlint.buildfiles.record import BuildRecord

AnyPath = str | os.PathLike[str]
Texts = str | Iterable[str]


class Keywords(EvidenceKeywords, total=False):
    """Keywords that the functions of the Python API share.

    Each keyword has the same meaning as the corresponding command-line option.

    If a keyword for a target setting is omitted, the setting is unknown, not off.
    """

    trt: Texts
    """TensorRT versions, such as ``"10.7"`` or a range ``"10.7..11.4"``."""
    rtx: Texts
    """TensorRT-RTX versions, such as ``"1.4"``."""
    gpu: str
    """GPU, such as ``"L4"`` or ``"sm89"``, or several: ``"sm75,sm89"``."""
    fp16: bool
    """Build with FP16, as ``trtexec --fp16``."""
    bf16: bool
    """Build with BF16, as ``trtexec --bf16``."""
    int8: bool
    """Build with INT8, as ``trtexec --int8``."""
    fp8: bool
    """Build with FP8, as ``trtexec --fp8``."""
    best: bool
    """Build with all precisions, as ``trtexec --best``."""
    strongly_typed: bool
    """Build a strongly typed network, as ``trtexec --stronglyTyped``."""
    tf32: bool
    """Allow TF32; False is ``trtexec --noTF32``."""
    plugins: Texts
    """Operators of the plugins that the build loads in addition to TensorRT's own plugins."""
    rules: Iterable[Rule]
    """Rules from :func:`trtlint.load_rules`; by default the built-in rules."""
    select: Texts
    """Run only these rules: ids, id prefixes, names or groups."""
    extend_select: Texts
    """Run these rules in addition to the selected rules."""
    ignore: Texts
    """Skip these rules."""
    preview: bool
    """Also run preview rules."""
    command: AnyPath
    """The trtexec command that builds the model, or a file with such commands."""
    log: AnyPath
    """The log of a build."""
    layers: AnyPath
    """The layer information of the engine, or the engine file."""
    profile: AnyPath
    """The times of the layers of the engine (``trtexec --exportProfile``)."""
    record: BuildRecord
    """Files of a build, from :func:`trtlint.read_build`, instead of ``log``, ``layers`` and ``profile``."""
    weights: bool
    """Check all weights for NaN, infinity and values outside the range of FP16."""
    dry_build: bool | str
    """True to run NVIDIA's parser and builder, without a GPU.  ``"parse"`` runs only the parser.  A release
    such as ``"1.7.1"`` runs both, and requires that this release of TensorRT-RTX is installed."""
    dry_parse: bool
    """Run only NVIDIA's parser, not the builder.  The parser needs no input shapes."""
    compare: bool | AnyPath | Iterable[AnyPath]
    """Compute the parsed network on the CPU and compare it with ONNX Runtime, on these inputs: True for
    random inputs, ``"probe"`` for edge cases, or ``.npz`` files and folders of such files."""
    shapes: Texts | Mapping[str, Sequence[int]]
    """The input shapes of a dry build: ``"x:1x3x224x224"`` or ``{"x": (1, 3, 224, 224)}``."""
    rtx_path: AnyPath
    """The folder of the TensorRT-RTX wheels to use instead of the installed wheels."""
    dry_build_seconds: float
    """The time limit of one dry build."""
    dry_build_memory: int
    """The memory limit of one dry build, in bytes."""
    dry_build_logs: AnyPath
    """The folder for the log and the result of a dry build."""
    ep: Provider
    """Execution provider of ONNX Runtime to partition for: ``"tensorrt"`` or ``"nv-tensorrt-rtx"``."""
    ep_options: Mapping[str, object]
    """Options of the provider, such as ``{"trt_min_subgraph_size": 5}``."""
    torch_tensorrt: str
    """Release of Torch-TensorRT, such as ``"2.13"``, for Python scripts and exported programs."""
    torch_python: AnyPath
    """Python interpreter for ``dry_build`` of a program.  It needs torch, torch-tensorrt and tensorrt-rtx."""
    torch_wheel: AnyPath
    """Folder with an unpacked torch-tensorrt wheel; by default, the installed package is used."""
    trust_pickle: bool
    """Allow ``dry_build`` to load a program with ``torch.export.load``."""
    options: Mapping[str, Any]
    """Arguments of ``torch_tensorrt.dynamo.compile`` for ``dry_build`` of a program."""
    isolated: bool
    """Ignore suppressions in the metadata of models."""
    baseline: AnyPath
    """A baseline file.  The findings that this file records are reported as suppressed."""
    min_confidence: Confidence
    """Hide findings below this confidence."""


def read_own(own: Mapping[str, object], keywords: Iterable[str]) -> dict[str, Any]:
    """Check and convert the arguments that only one function has.

    Args:
        own: these arguments by name.
        keywords: the names of the other keywords of the call.

    Raises:
        ArgumentError: an argument has a wrong value, or the function does not have one of the keywords.
    """
    for name in keywords:
        if name not in Keywords.__annotations__:
            raise unknown_keyword(name, (*Keywords.__annotations__, *own))
    return read(own)
