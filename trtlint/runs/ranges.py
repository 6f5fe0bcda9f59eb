"""Read measurements as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trtlint.engine.evidence.base import Evidence
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.measurement.given import GivenMeasurement, data_of, measurement_of
from trtlint.measurement.identity import digest
from trtlint.measurement.measurement import UnusableMeasurementError
from trtlint.model.errors import ModelError
from trtlint.runs.evidencefiles import FileReader


class RangeReader(FileReader):
    """Reads measurements, and finds the measurement of each model.

    A measurement of an older version of the model is an error.
    """

    def __init__(self, given: Sequence[GivenMeasurement]) -> None:
        super().__init__(given)
        self._used: set[str] = set()
        self._complete = True
        self._read = [measurement_of(each) for each in given]

    def evidence_for(self, model: Path | None) -> Evidence | None:
        """Return the last measurement of a model, or None if no measurement is about the model.

        A measurement of a model in memory is not checked, because it has no file.
        """
        if model is None:
            self._used.update(found.digest for _, found in self._read)
            return RangeEvidence(self._read[-1][1])
        try:
            known = digest(model)
        except (ModelError, OSError):  # linting reports the reason
            self._complete = False
            return None
        self._used.add(known)
        found = next((each for _, each in reversed(self._read) if each.digest == known), None)
        return None if found is None else RangeEvidence(found)

    def close(self) -> None:
        """Check that each measurement belongs to a model of the run, unless a model could not be read."""
        for name, found in self._read:
            if self._complete and found.digest not in self._used:
                raise UnusableMeasurementError(
                    f"{name}: this is a measurement of another model, or of an older version of "
                    f"{found.path}; measure again"
                )

    @staticmethod
    def is_data(value: object) -> bool:
        """Return True if a value is a measurement, or a result of :func:`trtlint.measure`."""
        return data_of(value) is not None
