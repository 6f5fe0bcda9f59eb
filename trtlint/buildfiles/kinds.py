"""Kinds of build files, with the descriptions for ``--help``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from trtlint.buildfiles.layers import LayerInfo
    from trtlint.buildfiles.plan import PlanHeader
    from trtlint.buildfiles.profile import Profile
    from trtlint.buildfiles.records import Log
    from trtlint.buildfiles.settings import BuildSettings

    BuildFile = Log | LayerInfo | Profile | BuildSettings | PlanHeader
    """The parsed contents of a build file."""

FileKind = Literal["log", "layers", "profile"]

FILE_KINDS: Mapping[FileKind, str] = {
    "log": "Log of a build, as text or .gz (-: standard input).",
    "layers": "Layer information of the engine (trtexec --exportLayerInfo), or the engine file itself.",
    "profile": "Times of the layers of the engine (trtexec --exportProfile).",
}
"""For each kind of build file, the help text of its option."""

BuildFiles = Mapping[FileKind, str]
"""For each kind, the file of a build. Kinds without a file are missing."""

GivenAs = Literal["any"] | FileKind
"""The kind of a file according to the user; ``any`` if the content of the file decides the kind."""
