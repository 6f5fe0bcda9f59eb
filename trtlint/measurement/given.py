"""Read the argument ``measurement`` of the Python API."""

from __future__ import annotations

import os
from pathlib import Path

from trtlint.measurement.identity import digest
from trtlint.measurement.measurement import Measurement, MeasurementError, read_measurement


def measurement_of(given: str | os.PathLike[str] | Measurement, model: Path | None) -> Measurement:
    """Return ``given``, or the measurement in the file ``given``.

    If ``model`` is not None, check that the measurement belongs to the model.

    Raises:
        MeasurementError: the file is not a measurement, or is about another model.
        ModelError: the model cannot be read.
    """
    found = given if isinstance(given, Measurement) else read_measurement(Path(given))
    if model is not None and found.digest != digest(model):
        name = found.path if isinstance(given, Measurement) else os.fspath(given)
        raise MeasurementError(
            f"{name}: this is a measurement of another model, or of an older version of {found.path}; "
            "measure again"
        )
    return found
