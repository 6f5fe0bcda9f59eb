"""Read measurement files as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trtlint.engine.evidence.base import Evidence
from trtlint.engine.evidence.ranges import RangeEvidence
from trtlint.errors import SettingError
from trtlint.measurement.given import data_of, measurement_of
from trtlint.measurement.identity import digest
from trtlint.measurement.measurement import UnusableMeasurementError, read_measurement
from trtlint.model.errors import ModelError
from trtlint.runs.evidencefiles import FileReader


class RangeReader(FileReader):
    """Reads measurement files, and finds the measurement of each model.

    A measurement of an older version of the model is an error.
    """

    def __init__(self, files: Sequence[str]) -> None:
        super().__init__(files)
        self._used: set[str] = set()
        try:
            self._read = {file: read_measurement(Path(file)) for file in files}
        except UnusableMeasurementError as error:
            raise SettingError(str(error)) from None

    def evidence_for(self, model: Path) -> Evidence | None:
        """Return the last measurement of a model, or None if no measurement is about the model."""
        try:
            known = digest(model)
        except (ModelError, OSError):  # linting reports the reason
            return None
        self._used.add(known)
        found = next((each for each in reversed([*self._read.values()]) if each.digest == known), None)
        return None if found is None else RangeEvidence(found)

    def close(self) -> None:
        """Check that each measurement belongs to a model of the run."""
        for file, found in self._read.items():
            if found.digest not in self._used:
                raise SettingError(
                    f"{file}: this is a measurement of another model, or of an older version of "
                    f"{found.path}; measure again"
                )

    @staticmethod
    def is_data(value: object) -> bool:
        """Return True if a value is a measurement, or a result of :func:`trtlint.measure`."""
        return data_of(value) is not None

    @staticmethod
    def of_keyword(value: Any, model: Path | None) -> Evidence:
        """Return the measurement that the keyword ``ranges`` gives.

        Raises:
            UnusableMeasurementError: the file is not a measurement, or is about another model.
            ModelError: the model cannot be read.
        """
        return RangeEvidence(measurement_of(value, model))
