"""Read the keyword ``ranges`` of the Python API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from trtlint.measurement.measurement import Measurement, read_measurement


class HasMeasurement(Protocol):
    """The result of :func:`trtlint.measure`."""

    @property
    def measurement(self) -> Measurement:
        """The measurement."""


def data_of(given: object) -> Measurement | None:
    """Return the measurement if ``given`` is or contains one, or None for any other value."""
    found = getattr(given, "measurement", given)
    return found if isinstance(found, Measurement) else None


GivenMeasurement = str | os.PathLike[str] | Measurement | HasMeasurement


def measurement_of(given: GivenMeasurement) -> tuple[str, Measurement]:
    """Return the name of a measurement, and the measurement.

    The name is the path of the file with the measurement.  For a measurement in memory, the name is the path
    of the measured model.

    Args:
        given: the measurement, a result that contains the measurement, or the path of its file.

    Raises:
        UnusableMeasurementError: the file is not a measurement.
    """
    if isinstance(given, str | os.PathLike):
        return os.fspath(given), read_measurement(Path(given))
    found = given if isinstance(given, Measurement) else given.measurement
    return found.path, found
