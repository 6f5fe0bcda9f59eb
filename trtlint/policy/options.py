"""Command-line options as plain data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from trtlint.buildfiles.witnesses import BuildFiles
from trtlint.knowledge.providers import Provider
from trtlint.knowledge.torchreleases import TorchRelease
from trtlint.target.flags import Flag

if TYPE_CHECKING:
    from trtlint.buildcommand import BuildCommand

FailOn = Literal["error", "warning", "note", "never"]
MinConfidence = Literal["confirmed", "high", "medium", "low"]


class TargetOptions(Struct, frozen=True):
    """Options that describe the build target.  Unset options are None."""

    trt: tuple[str, ...] = ()
    rtx: tuple[str, ...] = ()
    gpu: str | None = None
    flags: tuple[tuple[Flag, bool], ...] = ()
    """Precision and typing options that the user sets, as pairs of name and state: ``("fp16", True)``."""
    plugins: tuple[str, ...] | None = None
    """Names of the plugins that the build loads."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the options as arguments of a command line, such as ``--trt 10.7``."""
        found = [each for version in self.trt for each in ("--trt", version)]
        found += [each for version in self.rtx for each in ("--rtx", version)]
        found += ["--gpu", self.gpu] if self.gpu is not None else []
        found += [f"--{flag}" if on else f"--no-{flag}" for flag, on in self.flags]
        found += [] if self.plugins is None else ["--plugins", ",".join(self.plugins)]
        return tuple(found)


MOST_SECONDS = 24 * 3600
"""Longest time limit in seconds that an option accepts."""
RELEASE = re.compile(r"\d{1,4}(\.\d{1,4}){1,3}")
"""Pattern of a release number of TensorRT-RTX."""
INSTALLED = ""
"""Option value for the installed release of TensorRT-RTX."""


class DryOptions(Struct, frozen=True):
    """Options of a dry build.

    Attributes:
        level: last stage of the dry build, or ``off``; None to use the configuration.
        version: release of TensorRT-RTX, or :data:`INSTALLED`; None if unset.
        rtx_path: folder with the wheels of TensorRT-RTX; None for the packages of this Python.
        shapes: input shapes, as ``NAME:1x3x224x224``.
        seconds: time limit of one dry build; None for the default.
        memory: memory limit of one dry build in bytes; None for the default.
        logs: folder for logs.
        compare: inputs for a comparison of the parsed network with the ONNX model. Each entry is a file,
            ``probe``, or an empty text for generated inputs. An empty tuple means no comparison; None means
            unset.
    """

    level: Literal["off", "parse", "build"] | None = None
    version: str | None = None
    rtx_path: str | None = None
    shapes: tuple[str, ...] = ()
    seconds: float | None = None
    memory: int | None = None
    logs: str | None = None
    compare: tuple[str, ...] | None = None


class TorchOptions(Struct, frozen=True):
    """Options for Torch-TensorRT.

    Attributes:
        release: release of Torch-TensorRT; None if unset.
        python: Python interpreter for a dry build; None for this interpreter.
        wheel: folder with an unpacked wheel of Torch-TensorRT; None for the installed wheel.
        trust_pickle: true to allow ``torch.export.load``, which can run code from the file.
        build: a call of Torch-TensorRT as text, or a script with such calls.
    """

    release: TorchRelease | None = None
    python: str | None = None
    wheel: str | None = None
    trust_pickle: bool = False
    build: str | None = None


class EpOptions(Struct, frozen=True):
    """The execution provider of ONNX Runtime that runs the models, and its options.

    Attributes:
        provider: the name of the provider; None if unset, or if a build command names the provider.
        texts: the options of the provider, ``KEY=VALUE`` separated by whitespace.
    """

    provider: Provider | None = None
    texts: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[BuildCommand, ...]:
        """The provider and its options as a build command, or an empty tuple if no provider is set.

        Raises:
            CommandError: an option is not written as ``KEY=VALUE``.
        """
        if self.provider is None:
            return ()
        from trtlint.buildcommand.providers import of_command_line

        return (of_command_line(self.provider, self.texts),)


class LintOptions(Struct, frozen=True):
    """Options of ``trtlint lint``."""

    paths: tuple[str, ...]
    target: TargetOptions
    rules: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    preview: bool | None = None
    """True to run preview rules; None to use the configuration."""
    revisions: bool = False
    """True to add the revision of each model to its results."""
    source_root: str | None = None
    statistics: bool = False
    quiet: bool = False
    fail_on: FailOn | None = None
    """Lowest severity that makes the command fail; None to use the configuration."""
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
    """Build files that belong to the models, such as logs."""
    dry: DryOptions = DryOptions()
    torch: TorchOptions = TorchOptions()
    ep: EpOptions = EpOptions()
    evidence: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Files of each kind of evidence in :mod:`trtlint.runs.evidencefiles`, by the name of the kind."""
    weights: bool = False
    """True to read all weights."""
    show_conditional: bool = False
    exit_zero: bool = False
    jobs: int = 1
    """Number of worker processes; 0 for one per CPU."""
    executor: str | None = None
    """Dask scheduler ``dask://host:port`` to use instead of processes."""
    cache: bool = True
    cache_dir: str | None = None
    require_lfs: bool = False
    explain_miss: tuple[str, str] | None = None
