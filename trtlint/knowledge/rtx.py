"""What TensorRT-RTX can build without a GPU, by release line: the file rtx.yaml."""

from __future__ import annotations

from functools import cache

from packaging.version import Version

from trtlint.knowledge import data
from trtlint.lean import dataclass

USUAL_SM = 89
"""What is built for where nobody has said it: SM 8.9, which every release can."""


@dataclass(frozen=True, slots=True)
class Builder:
    """The builder in the wheels of one release line of TensorRT-RTX.

    Attributes:
        line: the release line, ``1.7``.
        sms: the compute capabilities times ten that it builds for, in order.
        parser: the release line of TensorRT whose parser's sources it has, None where none is known.
    """

    line: str
    sms: tuple[int, ...]
    parser: str | None

    def nearest(self, sm: int) -> int:
        """The compute capability that it builds for that is nearest to one; the older of two."""
        return min(self.sms, key=lambda own: (abs(own - sm), own))


@cache
def builders() -> tuple[Builder, ...]:
    """The builders that are known, oldest first."""
    return tuple(Builder(row["line"], tuple(row["sm"]), row.get("parser")) for row in data("rtx"))


def builder(version: str) -> Builder:
    """The builder of a release; of one that is not known, the newest that is older, else the oldest.

    Which parser such a release has is not known.
    """
    wanted = Version(version).release[:2]
    known = [each for each in builders() if Version(each.line).release <= wanted]
    found = known[-1] if known else builders()[0]
    if Version(found.line).release == wanted:
        return found
    return Builder(".".join(map(str, wanted)), found.sms, None)
