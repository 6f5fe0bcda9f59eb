"""The files that tell of a build: the tables that options, configuration and readers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from trtlint.buildfiles.layers import LayerInfo
    from trtlint.buildfiles.plan import PlanHeader
    from trtlint.buildfiles.profile import Profile, Times
    from trtlint.buildfiles.records import Log
    from trtlint.buildfiles.settings import BuildSettings

    BuildFile = Log | LayerInfo | Profile | Times | BuildSettings | PlanHeader
    """What a file can hold."""

FileKind = Literal["log", "layers", "profile"]

WITNESSES: Mapping[FileKind, str] = {
    "log": "Log of a build, plain or .gz; - for standard input.",
    "layers": "Layers of the engine (--exportLayerInfo), or the engine.",
    "profile": "Layer times (--exportProfile).",
}
"""What each of them is, in the words of the help of its option."""

BuildFiles = Mapping[FileKind, str]
"""Paths of what a build left behind, in the order of the table; what is not there was not given."""

GivenAs = Literal["any"] | FileKind
"""What a file was given as; ``any`` is told by its content."""

JSON = ("layers", "profile", "settings")
"""The modules that read JSON, in the order in which they are asked: ``from_json(root)`` gives what a parsed
file holds, None where it is of another kind."""
