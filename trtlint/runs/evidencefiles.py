"""Kinds of evidence that the user gives as files.

Each kind has an option of the command line, such as ``--ranges FILE``, and a keyword of the Python API with
the same name.  Both come from the table :data:`EVIDENCE_FILES`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from msgspec import Struct

if TYPE_CHECKING:
    from trtlint.engine.evidence.base import Evidence
    from trtlint.measurement.given import HasMeasurement
    from trtlint.measurement.measurement import Measurement


class FileReader:
    """Base class of the readers of one kind of evidence from files.

    Args:
        given: the paths of files, or data that :meth:`is_data` accepts.

    Raises:
        FileError: a file cannot be used.
    """

    def __init__(self, given: Sequence[Any]) -> None:
        self._given = given

    def evidence_for(self, model: Path | None) -> Evidence | None:
        """Return the evidence about a model, or None if no file is about the model.

        Args:
            model: the file of the model; None if the model is in memory.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Check, after the last model, that every file was used.

        Raises:
            FileError: a file was not used.
        """

    @staticmethod
    def is_data(value: object) -> bool:  # noqa: ARG004
        """Return True if a value of the keyword is the data itself, not the path of a file."""
        return False


class EvidenceFile(Struct, frozen=True):
    """A kind of evidence that the user gives as files.

    Attributes:
        name: the keyword, such as ``ranges``.
        reader: the class of the reader, as ``module:class``.  It is imported when it is needed.
        help: the help of the option.
        fix_help: the help of the option in ``trtlint fix``; empty if it equals ``help``.
        expected: the allowed values of the keyword, for messages.
    """

    name: str
    reader: str
    help: str
    fix_help: str = ""
    expected: str = "a path"

    def load(self) -> type[FileReader]:
        """Import the reader."""
        module, _, name = self.reader.partition(":")
        reader: type[FileReader] = getattr(import_module(module), name)
        return reader


EVIDENCE_FILES: tuple[EvidenceFile, ...] = (
    EvidenceFile(
        "ranges",
        "trtlint.runs.ranges:RangeReader",
        "Use this measurement, which `trtlint measure -o` wrote; repeatable.",
        "For 16-bit models: keep in FP32 the nodes that this `trtlint measure` file lists; repeatable.",
        "a path, or a result of trtlint.measure",
    ),
)
"""The kinds, in the order in which their readers run.

Each kind also needs its keyword in :class:`EvidenceKeywords`.
"""


class EvidenceKeywords(TypedDict, total=False):
    """The keywords of the Python API for the kinds in :data:`EVIDENCE_FILES`."""

    ranges: str | os.PathLike[str] | Measurement | HasMeasurement
    """The result of :func:`trtlint.measure` for the model, or a file of ``trtlint measure -o``."""
