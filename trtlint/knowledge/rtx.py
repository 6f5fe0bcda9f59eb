"""Read which TensorRT-RTX builders work without a GPU, from rtx.yaml."""

from __future__ import annotations

from functools import cache

from msgspec import Struct
from packaging.version import Version

from trtlint.knowledge import data

USUAL_SM = 89
"""The default compute capability, SM 8.9, times ten.  Every TensorRT-RTX release supports SM 8.9."""


class Builder(Struct, frozen=True):
    """The builder in the wheels of one TensorRT-RTX release line.

    Attributes:
        line: the release line, such as ``1.7``.
        sms: the supported compute capabilities times ten, the lowest first.
        parser: the TensorRT release line with the same parser; None if unknown.
    """

    line: str
    sms: tuple[int, ...]
    parser: str | None

    def nearest(self, sm: int | None) -> int:
        """Return the supported compute capability that is nearest to ``sm``.  None means :data:`USUAL_SM`."""
        return next(each for each in nearest_first(sm) if each in self.sms)


@cache
def builders() -> tuple[Builder, ...]:
    """Return the known builders, oldest first."""
    return tuple(Builder(row["line"], tuple(row["sm"]), row.get("parser")) for row in data("rtx"))


def nearest_first(sm: int | None) -> list[int]:
    """Return the compute capabilities that any release supports, the nearest to ``sm`` first.

    Of two equally near compute capabilities, the lower one is first.  None means :data:`USUAL_SM`.
    """
    wanted = USUAL_SM if sm is None else sm
    known = {each for builder in builders() for each in builder.sms}
    return sorted(known, key=lambda each: (abs(each - wanted), each))


def builder(version: str) -> Builder:
    """Return the builder of a TensorRT-RTX release.

    For an unknown release, the compute capabilities come from the last known release that is older.  If no
    known release is older, they come from the first known release.  The ``parser`` of an unknown release is
    None.
    """
    wanted = Version(version).release[:2]
    known = [each for each in builders() if Version(each.line).release <= wanted]
    found = known[-1] if known else builders()[0]
    if Version(found.line).release == wanted:
        return found
    return Builder(".".join(map(str, wanted)), found.sms, None)
