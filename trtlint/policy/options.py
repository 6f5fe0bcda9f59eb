"""Command-line options as plain data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from trtlint.buildfiles.kinds import BuildFiles
from trtlint.errors import SettingError
from trtlint.knowledge.providers import PROVIDERS, Provider
from trtlint.knowledge.torchreleases import TorchRelease
from trtlint.target.flags import Flag

if TYPE_CHECKING:
    from trtlint.buildcommand import BuildCommand
    from trtlint.buildcommand.shapes import Shape
    from trtlint.buildfiles.record import BuildRecord
    from trtlint.engine.finding import Confidence

Spelling = Callable[[str], str]
"""Function that returns the name of an option as the user writes it."""


def as_option(name: str) -> str:
    """Return the name of an option as the command line has it: ``--dry-build`` for ``dry_build``."""
    return f"--{name.replace('_', '-')}"


def as_keyword(name: str) -> str:
    """Return the name of an option as the Python API has it."""
    return "command" if name == "build" else name


FailOn = Literal["error", "warning", "note", "never"]


class TargetOptions(Struct, frozen=True):
    """Options that describe the build target.  Unset options are None."""

    trt: tuple[str, ...] = ()
    rtx: tuple[str, ...] = ()
    gpu: str | None = None
    flags: tuple[tuple[Flag, bool], ...] = ()
    """Precision and typing options that the user sets, as pairs of name and state: ``("fp16", True)``."""
    plugins: tuple[str, ...] | None = None
    """Operators of plugins that the build loads in addition to TensorRT's own plugins."""

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
        shapes: names and shapes of inputs.
        seconds: time limit of one dry build; None for the default.
        memory: memory limit of one dry build in bytes; None for the default.
        logs: folder for logs.
        compare: inputs for a comparison of the parsed network with the ONNX model. Each entry is the path of
            a file with inputs, the word ``probe``, or an empty text. An empty text means generated inputs.
            An empty tuple means no comparison; None means unset.
    """

    level: Literal["off", "parse", "build"] | None = None
    version: str | None = None
    rtx_path: str | None = None
    shapes: tuple[tuple[str, Shape], ...] = ()
    seconds: float | None = None
    memory: int | None = None
    logs: str | None = None
    compare: tuple[str, ...] | None = None


def shapes_of_texts(texts: Iterable[str], where: str) -> tuple[tuple[str, Shape], ...]:
    """Parse texts such as ``NAME:1x3x224x224`` to names and shapes.

    Args:
        texts: the texts.
        where: the option or the configuration key, for messages.

    Raises:
        SettingError: a text is not a shape.
    """
    from trtlint.buildcommand.shapes import read_shapes

    found: list[tuple[str, Shape]] = []
    for text in texts:
        for name, shape in read_shapes(text):
            if shape is None or not name:
                raise SettingError(f"{where}: {text!r} is not a shape; write it like NAME:1x3x224x224")
            found.append((name, shape))
    return tuple(found)


class TorchOptions(Struct, frozen=True):
    """Options for Torch-TensorRT.

    Attributes:
        release: release of Torch-TensorRT; None if unset.
        python: Python interpreter for a dry build; None for this interpreter.
        wheel: folder with an unpacked wheel of Torch-TensorRT; None for the installed wheel.
        trust_pickle: true to allow ``torch.export.load``, which can run code from the file.
        build: a call of Torch-TensorRT as text, or a script with such calls.
        arguments: arguments of the compiler for a dry run; None for the arguments of the call in ``build``.
    """

    release: TorchRelease | None = None
    python: str | None = None
    wheel: str | None = None
    trust_pickle: bool = False
    build: str | None = None
    arguments: Mapping[str, Any] | None = None


class EpOptions(Struct, frozen=True):
    """The execution provider of ONNX Runtime that runs the models, and its options.

    Attributes:
        provider: the name of the provider; None if unset, or if a build command names the provider.
        commands: the provider and its options as a build command; empty if no provider is set.
    """

    provider: Provider | None = None
    commands: tuple[BuildCommand, ...] = ()


def ep_options_of(
    provider: Provider | None, options: tuple[str, ...] | Mapping[str, object], spelling: Spelling
) -> EpOptions:
    """Return an execution provider with its options.

    Args:
        provider: the name of the provider; None if unset.
        options: the options by name, or as texts with ``KEY=VALUE`` separated by whitespace.
        spelling: returns the name of an option, for messages.

    Raises:
        SettingError: there are options, but no provider.
        CommandError: a text is not written as ``KEY=VALUE``.
    """
    if provider is None:
        if options:
            needed = f"{spelling('ep')}: {' or '.join(PROVIDERS)}"
            raise SettingError(f"{spelling('ep_options')} needs {needed}")
        return EpOptions()
    from trtlint.buildcommand.providers import of_command_line, of_options

    if isinstance(options, Mapping):
        return EpOptions(provider, (of_options(provider, options),))
    return EpOptions(provider, (of_command_line(provider, options),))


class LintOptions(Struct, frozen=True):
    """Options of ``trtlint lint``, or keywords of a function of the Python API."""

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
    min_confidence: Confidence | None = None
    config: str | None = None
    isolated: bool = False
    show_settings: bool = False
    baseline: str | None = None
    write_baseline: str | None = None
    update_baseline: bool = False
    build: str | None = None
    """A trtexec command line, or a file with such lines."""
    build_files: BuildFiles = field(default_factory=dict)
    """Build files that belong to the models, such as logs."""
    record: BuildRecord | None = None
    """The contents of the files of a build, from :func:`trtlint.read_build`."""
    dry: DryOptions = DryOptions()
    torch: TorchOptions = TorchOptions()
    ep: EpOptions = EpOptions()
    evidence: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """Files or data of each kind of evidence in :mod:`trtlint.runs.evidencefiles`, by name of the kind."""
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
    spelling: Spelling = as_option
    """Returns the name of an option, for messages."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options of the target and the build command, as arguments of a command line."""
        return (*self.target.arguments, *(() if self.build is None else ("--build", self.build)))
