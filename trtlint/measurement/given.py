"""Read the keyword ``ranges`` of the Python API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from trtlint.measurement.identity import digest
from trtlint.measurement.measurement import Measurement, UnusableMeasurementError, read_measurement


class HasMeasurement(Protocol):
    """The result of :func:`trtlint.measure`."""

    @property
    def measurement(self) -> Measurement:
        """The measurement."""


def data_of(given: object) -> Measurement | None:
    """Return the measurement if ``given`` is or contains one, or None for any other value."""
    found = getattr(given, "measurement", given)
    return found if isinstance(found, Measurement) else None


def measurement_of(
    given: str | os.PathLike[str] | Measurement | HasMeasurement, model: Path | None
) -> Measurement:
    """Return the measurement ``given``, or the measurement in the result or file ``given``.

    If ``model`` is not None, check that the measurement belongs to the model.

    Raises:
        UnusableMeasurementError: the file is not a measurement, or is about another model.
        ModelError: the model cannot be read.
    """
    if isinstance(given, str | os.PathLike):
        found, name = read_measurement(Path(given)), os.fspath(given)
    else:
        found = given if isinstance(given, Measurement) else given.measurement
        name = found.path
    if model is not None and found.digest != digest(model):
        raise UnusableMeasurementError(
            f"{name}: this is a measurement of another model, or of an older version of {found.path}; "
            "measure again"
        )
    return found
