"""Request the dry builds of a model, as data that another process can receive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from trtlint.dry_build.result import Level
from trtlint.engine.evidence.base import Evidence
from trtlint.facts.kinds import Ground
from trtlint.target.target import Target

if TYPE_CHECKING:
    from trtlint.dry_build.shapes import ShapeRange
    from trtlint.network.compare import CompareRequest
    from trtlint.process.spawn import Limits


class DryJob(Struct, frozen=True):
    """Request for the dry builds of one model.

    Attributes:
        version: the release of TensorRT-RTX.
        folder: the folder of the wheels; None for the packages of the Python that runs the job.
        level: ``parse`` or ``build``.
        shapes: the shapes of the inputs.
        limits: the time and memory limits of one dry build.
        kept: the cache folder; None to cache nothing.
        logs: the folder for logs; None to save no logs.
        compare: the inputs for a comparison of the parsed network with the model; None to compare nothing.
        asked: the shapes from the option ``--shapes`` or the keyword ``shapes``, which must match the inputs
            of the model.
        alone: True if the run has no other model. Then each name in ``asked`` must be an input of the model.
    """

    version: str
    folder: str | None
    level: Level
    shapes: tuple[ShapeRange, ...]
    limits: Limits
    kept: Path | None = None
    logs: Path | None = None
    compare: CompareRequest | None = None
    asked: tuple[ShapeRange, ...] = ()
    alone: bool = True

    @property
    def grounds(self) -> frozenset[Ground]:
        """The kinds of data that the dry builds provide as facts."""
        return frozenset({"build", "trial"})

    def gather(self, model: Path, targets: tuple[Target, ...]) -> tuple[Evidence, ...]:
        """Run one dry build for each GPU that a target names.

        Raises:
            WheelError: the wheels are not installed.
            InputsError: the given shapes, or the inputs for a comparison, do not match the model.
        """
        from trtlint.runs.dry import dry_builds

        if self.asked:
            self._require_fit(model)
        return dry_builds(self, model, targets)

    def _require_fit(self, model: Path) -> None:
        from trtlint.dry_build.given import wrong_shape
        from trtlint.measurement.inputs import InputsError
        from trtlint.model.errors import ModelError
        from trtlint.model.load import load

        try:
            inputs = load(model).graph.inputs
        except (ModelError, OSError):  # the lint reports the problem with the file
            return
        if wrong := wrong_shape(self.asked, inputs, named=self.alone):
            raise InputsError(f"--shapes {wrong}")

    def elsewhere(self) -> DryJob:
        """Return a copy of the job that another machine can run: it has no cache folder and no log folder."""
        return replace(self, kept=None, logs=None)
