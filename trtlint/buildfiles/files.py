"""Read a build file. Its content decides the kind of the file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.buildfiles import layers, profile, settings
from trtlint.buildfiles.errors import BuildFileError, unreadable
from trtlint.buildfiles.layers import load_json
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.plan import MAGIC, read_plan
from trtlint.buildfiles.recognise import JSON_START
from trtlint.files.regular import open_regular

if TYPE_CHECKING:
    from trtlint.buildfiles.kinds import BuildFile

_ENGINES = (".engine", ".plan", ".trt")


def read_build_file(path: Path) -> BuildFile:
    """Read one build file: a log, an engine file (only its header), or JSON.

    JSON files contain layer information, a profile or metadata.

    Raises:
        BuildFileError: the file is unreadable or truncated, is JSON of an unknown kind, or has only
            end-to-end times.
    """
    try:
        with open_regular(path) as file:
            head = file.read(4096)
    except OSError as error:
        raise unreadable(path, error) from error
    if head[:4] in MAGIC:
        return read_plan(path)
    if not head and path.suffix.lower() in _ENGINES:
        raise BuildFileError(
            "the engine file is empty because its build failed; pass the log of that build with --log"
        )
    if not JSON_START.match(head.removeprefix(b"\xef\xbb\xbf")):
        return read_log(path)
    root = load_json(path)
    for module in (layers, profile, settings):
        content: BuildFile | None = module.from_json(root)
        if content is not None:
            return content
    raise BuildFileError("unknown JSON: it is not layer information, a profile or metadata", line=1)
