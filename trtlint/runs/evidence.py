"""Read evidence, such as build logs, that the user or the configuration names.

A new kind of evidence needs a reader class here and an entry in :data:`READERS`, unless it comes from a file
that the table in :mod:`trtlint.runs.evidencefiles` can describe.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from trtlint.buildfiles.kinds import GivenAs
from trtlint.buildfiles.plan import is_plan
from trtlint.engine.evidence.base import Evidence, PendingEvidence
from trtlint.errors import SettingError
from trtlint.files.problem import Problem
from trtlint.policy.options import INSTALLED, DryOptions, LintOptions
from trtlint.policy.settings import FileSettings
from trtlint.runs.evidencefiles import EVIDENCE_FILES

if TYPE_CHECKING:
    from trtlint.buildfiles.gather import BuildInput
    from trtlint.dry_build.shapes import ShapeRange
    from trtlint.network.compare import CompareRequest
    from trtlint.runs.dryjob import DryJob

BuildFileNames = Sequence[tuple[str, GivenAs]]
"""Files of a build, each with its kind according to the user."""


class ModelEvidence(Struct, frozen=True):
    """The evidence that was read for one model.

    Attributes:
        evidence: the evidence.
        problems: the build files that could not be read.
    """

    evidence: tuple[Evidence | PendingEvidence, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __or__(self, other: ModelEvidence) -> ModelEvidence:
        """Join the evidence and the problems of two results."""
        return ModelEvidence(self.evidence + other.evidence, self.problems + other.problems)


class EvidenceReader:
    """Base class of the readers.  Each reads one kind of evidence.

    Args:
        options: the options of the user, which override the configuration.
        models: the local models of the run.
        files: the build files from the user.
    """

    def __init__(self, options: LintOptions, models: Sequence[Path], files: BuildFileNames) -> None:
        self._options = options
        self._models = models
        self._files = files

    def read(self, settings: FileSettings, before: ModelEvidence, model: Path | None) -> ModelEvidence:
        """Return the evidence about one model.

        Args:
            settings: the settings of the model.
            before: the evidence from the readers that ran before this reader.
            model: the file of the model; None if the model is remote or in memory.

        Raises:
            SettingError: an option cannot be used.
            FileError, ExperimentError: a file cannot be used, or a package is missing.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Check, after the last model, that every given file was used.

        Raises:
            FileError: a file was not used.
        """


class Readers:
    """The readers of all kinds of evidence, for one run.

    Args:
        options: the options of the user, which override the configuration.
        models: the local models of the run.
        files: the build files from the user.  They are only allowed with a single model.
    """

    def __init__(self, options: LintOptions, models: Sequence[Path], files: BuildFileNames = ()) -> None:
        self._readers = [make(options, models, files) for make in READERS]

    def read(self, settings: FileSettings, model: Path | None) -> ModelEvidence:
        """Return the evidence of all kinds about one model, see :meth:`EvidenceReader.read`."""
        found = ModelEvidence()
        for reader in self._readers:
            found |= reader.read(settings, found, model)
        return found

    def close(self) -> None:
        """Close all readers, see :meth:`EvidenceReader.close`."""
        for reader in self._readers:
            reader.close()


class BuildReader(EvidenceReader):
    """Reads the build files that the user or the configuration names, such as logs."""

    def read(self, settings: FileSettings, before: ModelEvidence, model: Path | None) -> ModelEvidence:  # noqa: ARG002
        """Return the build files of one model as evidence."""
        # Loading an engine runs code in the engine, so an engine from a checkout is not loaded.
        own = ((path, "any" if is_plan(Path(path)) else role) for role, path in settings.build_files.items())
        files = self._files or ([] if model is None else [*own])
        record = self._options.record
        if not files and record is None:
            return ModelEvidence()
        from trtlint.buildfiles.gather import BuildInput, of_model

        build = of_model(settings.file, files) if record is None else BuildInput(settings.file, record)
        return evidence_of_build(build)


def evidence_of_build(gathered: BuildInput) -> ModelEvidence:
    """Return the files of a build as evidence."""
    if gathered.record is None:
        return ModelEvidence(problems=gathered.problems)
    from trtlint.engine.evidence.build import BuildEvidence

    return ModelEvidence((BuildEvidence(gathered.record),), gathered.problems)


class DryBuildReader(EvidenceReader):
    """Reads the options for a dry build.

    The process that lints the model runs the dry build.
    """

    def __init__(self, options: LintOptions, models: Sequence[Path], files: BuildFileNames) -> None:
        super().__init__(options, models, files)
        self._dry = options.dry
        self._names = Counter(model.stem for model in self._models)
        self._versions: dict[str, str] = {}

    def read(self, settings: FileSettings, before: ModelEvidence, model: Path | None) -> ModelEvidence:
        """Return a request for a dry build of one model.

        The result is empty if the user requests no dry build, or gives the files of a real build, or if the
        model is not a local file.
        """
        if before.evidence or before.problems:
            return ModelEvidence()
        named = [choices.dry for choices in settings.choices]
        wanted = next((each for each in (self._dry, *reversed(named)) if each.level is not None), None)
        if wanted is None and (unused := self._unused()):
            build, parse, compared = map(self._options.spelling, ("dry_build", "dry_parse", "compare"))
            raise SettingError(f"{self._options.spelling(unused)} needs {build}, {parse} or {compared}")
        if wanted is None or wanted.level == "off" or model is None:
            return ModelEvidence()
        from trtlint.dry_build.given import command_shapes, fixed_shapes

        asked = tuple(fixed_shapes(self._dry.shapes))
        configured = fixed_shapes(shape for each in named for shape in each.shapes)
        shapes = [*configured, *command_shapes(settings.command), *asked]
        requested = (each.compare for each in (self._dry, *reversed(named)))
        compare = next((each for each in requested if each is not None), ())
        where = f"{settings.configuration.file}: compare"
        where = self._options.spelling("compare") if self._dry.compare else where
        request = self._comparison(compare, tuple(shapes), where) if compare else None
        job = self._job(model, wanted, tuple(shapes), request)
        if asked:
            job = replace(job, asked=asked, alone=len(self._models) == 1)
        return ModelEvidence((job,))

    def _unused(self) -> str:
        """Return an option that has no effect without a dry build, or an empty text.

        If the run has several local models, only ``shapes`` is checked. The other options have an effect if
        the configuration requests a dry build for one of the models.
        """
        dry = self._dry
        if dry.shapes:
            return "shapes"
        limits = {"seconds": dry.seconds, "memory": dry.memory, "logs": dry.logs}
        given = (f"dry_build_{name}" for name, value in limits.items() if value is not None)
        return next(given, "") if len(self._models) < 2 else ""

    def _job(
        self, model: Path, wanted: DryOptions, shapes: tuple[ShapeRange, ...], compare: CompareRequest | None
    ) -> DryJob:
        from trtlint.process.spawn import Limits
        from trtlint.runs.dryjob import DryJob

        options, usual = self._dry, Limits()
        return DryJob(
            version=self._version(wanted.version or INSTALLED),
            folder=None if options.rtx_path is None else os.path.abspath(options.rtx_path),  # noqa: PTH100
            level="parse" if wanted.level == "parse" else "build",
            shapes=shapes,
            limits=Limits(options.seconds or usual.seconds, options.memory or usual.memory),
            logs=None if options.logs is None else self._folder(Path(options.logs), model),
            compare=compare,
        )

    @staticmethod
    def _comparison(values: tuple[str, ...], shapes: tuple[ShapeRange, ...], where: str) -> CompareRequest:
        """Return a request to compare the ONNX model with the parser's network.

        Args:
            values: the values of the option.
            shapes: shapes of inputs.
            where: the option or the configuration key, for messages.

        Raises:
            SettingError: the inputs cannot be used.
        """
        from trtlint.measurement.inputs import InputsError
        from trtlint.network.compare import request_of

        try:
            return request_of(values, tuple((each.name, each.shapes[1]) for each in shapes))
        except InputsError as error:
            raise SettingError(f"{where}: {error}") from None

    def _folder(self, logs: Path, model: Path) -> Path:
        """Return the folder inside ``logs`` for the log of a model.

        Different models with the same file name get different folders.
        """
        if self._names[model.stem] == 1:
            return logs
        return logs.joinpath(*(part for part in model.parent.parts if part not in (model.anchor, "..")))

    def _version(self, wanted: str) -> str:
        """Return the installed TensorRT-RTX release.

        Raises:
            WheelError: the wheels are not installed, or ``wanted`` names another release.
        """
        if wanted not in self._versions:
            from trtlint.dry_build.wheels import find

            folder = None if self._dry.rtx_path is None else Path(self._dry.rtx_path)
            self._versions[wanted] = find(wanted or None, folder).version
        return self._versions[wanted]


class FileReaders(EvidenceReader):
    """Reads the files of each kind in :data:`~trtlint.runs.evidencefiles.EVIDENCE_FILES`."""

    def __init__(self, options: LintOptions, models: Sequence[Path], files: BuildFileNames) -> None:
        super().__init__(options, models, files)
        given = ((kind, options.evidence.get(kind.name)) for kind in EVIDENCE_FILES)
        self._readers = [kind.load()(paths) for kind, paths in given if paths]

    def read(self, settings: FileSettings, before: ModelEvidence, model: Path | None) -> ModelEvidence:  # noqa: ARG002
        """Return the evidence from all files that are about one model."""
        found = (reader.evidence_for(model) for reader in self._readers)
        return ModelEvidence(tuple(each for each in found if each is not None))

    def close(self) -> None:
        """Check that each file was used."""
        for reader in self._readers:
            reader.close()


class PartitionReader(EvidenceReader):
    """Reads the options for an execution provider of ONNX Runtime.

    The evidence contains the nodes of the model that the provider runs.
    """

    def read(self, settings: FileSettings, before: ModelEvidence, model: Path | None) -> ModelEvidence:  # noqa: ARG002
        """Return the partition of one model, or a request to compute the partition.

        If ``before`` requests a dry build, the partition is computed with NVIDIA's parser.  The result is
        empty if no execution provider is given.
        """
        command = settings.command
        provider = self._options.ep.provider or (None if command is None else command.provider)
        if provider is None and not before.evidence:
            return ModelEvidence()
        from trtlint.runs.partitionjob import evidence_of, log_of

        log = log_of(before.evidence)
        if provider is None and log is not None and log.provider:
            provider = "nv-tensorrt-rtx" if log.provider.startswith("Nv") else "tensorrt"
        if provider is None:
            return ModelEvidence()
        return ModelEvidence((evidence_of(provider, command, before.evidence),))


READERS: tuple[type[EvidenceReader], ...] = (BuildReader, DryBuildReader, FileReaders, PartitionReader)
"""The readers, in the order in which they run."""
