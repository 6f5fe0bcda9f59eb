"""What the command line can ask for, as plain data."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Literal

from trtlint.buildfiles.witnesses import BuildFiles
from trtlint.knowledge.providers import Provider
from trtlint.lean import dataclass
from trtlint.target.flags import Flag

FailOn = Literal["error", "warning", "note", "never"]
MinConfidence = Literal["confirmed", "high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What the user said of the build; None where nothing was said."""

    trt: tuple[str, ...] = ()
    rtx: tuple[str, ...] = ()
    gpu: str | None = None
    flags: tuple[tuple[Flag, bool], ...] = ()
    """Precision and typing options that were given, by name: ``("fp16", True)``."""
    plugins: tuple[str, ...] | None = None
    """Names of the plugins that the build loads."""


MOST_SECONDS = 24 * 3600
"""Seconds that an experiment may take at most."""
RELEASE = re.compile(r"\d{1,4}(\.\d{1,4}){1,3}")
"""A release of TensorRT-RTX, as it is asked for."""
INSTALLED = ""
"""The release of TensorRT-RTX that is there, whichever it is."""


@dataclass(frozen=True, slots=True)
class DryOptions:
    """What NVIDIA's parser and builder are to be asked, without a GPU.

    Attributes:
        level: how far to go, ``off`` for not at all; None where the configuration decides.
        version: the release of TensorRT-RTX, :data:`INSTALLED` for the one that is there; None where
            nothing was said.
        rtx_path: the folder with its wheels, None for the packages of this Python.
        shapes: what inputs are built for, as ``NAME:1x3x224x224``.
        seconds: the time that one may take, None for the usual.
        memory: the bytes of memory that one may take, None for the usual.
        logs: the folder to leave logs in.
        compare: the inputs to compare the parsed network with the model on: files, ``probe``, or an empty
            text for made-up ones; none for no comparison, None where nothing was said.
    """

    level: Literal["off", "parse", "build"] | None = None
    version: str | None = None
    rtx_path: str | None = None
    shapes: tuple[str, ...] = ()
    seconds: float | None = None
    memory: int | None = None
    logs: str | None = None
    compare: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TorchOptions:
    """Options about Torch-TensorRT.

    Attributes:
        release: the release, such as ``2.13``; None where nothing was said.
        python: the Python for a dry build, None for this one.
        wheel: a folder with an unpacked wheel, None for the installed one.
        trust_pickle: whether a program may be loaded with ``torch.export.load``.
        build: a call given as text, or a script with calls.
    """

    release: str | None = None
    python: str | None = None
    wheel: str | None = None
    trust_pickle: bool = False
    build: str | None = None


@dataclass(frozen=True, slots=True)
class EpOptions:
    """The provider of ONNX Runtime that runs the models.

    Attributes:
        provider: its name, None where a build command or nothing names one.
        texts: its options, ``KEY=VALUE`` apart by white space.
    """

    provider: Provider | None = None
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LintOptions:
    """What ``trtlint lint`` was asked for."""

    paths: tuple[str, ...]
    target: TargetOptions
    rules: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool | None = None
    """Whether rules in preview run; None where the configuration decides."""
    format: str | None = None
    """For standard output; None where nothing was asked for."""
    outputs: tuple[str, ...] = ()
    """``FORMAT`` or ``FORMAT:FILE``."""
    source_root: str | None = None
    statistics: bool = False
    quiet: bool = False
    fail_on: FailOn | None = None
    """None where the configuration decides, as for the next ones."""
    min_confidence: MinConfidence | None = None
    config: str | None = None
    isolated: bool = False
    show_settings: bool = False
    baseline: str | None = None
    write_baseline: str | None = None
    update_baseline: bool = False
    build: str | None = None
    """A trtexec command line, or a file with such lines."""
    left: BuildFiles = field(default_factory=dict)
    """What a build left behind."""
    dry: DryOptions = DryOptions()
    torch: TorchOptions = TorchOptions()
    ep: EpOptions = EpOptions()
    ranges: tuple[str, ...] = ()
    """What ``trtlint measure`` wrote of models."""
    weights: bool = False
    """Whether all weights are read."""
    show_conditional: bool = False
    exit_zero: bool = False
    jobs: int = 1
    """Processes to lint with; 0 for one for each processor."""
    executor: str | None = None
    """A Dask scheduler, ``dask://host:port``, in place of processes."""
    cache: bool = True
    cache_dir: str | None = None
    require_lfs: bool = False
    explain_miss: tuple[str, str] | None = None
