"""Tell what kind of file a build left, and read it."""

from __future__ import annotations

from pathlib import Path

from trtlint.buildfiles.errors import BuildFileError, unreadable
from trtlint.buildfiles.layers import LayerInfo, is_layer_json, layers_from_json, load_json
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.plan import MAGIC, PlanHeader, read_plan
from trtlint.buildfiles.profile import (
    Profile,
    Times,
    is_profile_json,
    is_times_json,
    profile_from_json,
    times_from_json,
)
from trtlint.buildfiles.recognise import JSON_START
from trtlint.buildfiles.records import Log
from trtlint.buildfiles.settings import BuildSettings, is_metadata, settings_from_metadata
from trtlint.files.regular import open_regular

BuildFile = Log | LayerInfo | Profile | Times | BuildSettings | PlanHeader

_ENGINES = (".engine", ".plan", ".trt")


def read_build_file(path: Path) -> BuildFile:
    """Read a log, layer information, a profile, timings, metadata or an engine header, whichever the file is.

    Raises:
        BuildFileError: if the file cannot be read, is cut, or is JSON of no known kind.
    """
    try:
        with open_regular(path) as file:
            head = file.read(4096)
    except OSError as error:
        raise unreadable(path, error) from error
    if head[:4] in MAGIC:
        return read_plan(path)
    if not head and path.suffix.lower() in _ENGINES:
        raise BuildFileError("an empty file: the build that should have written the engine failed")
    if not JSON_START.match(head.removeprefix(b"\xef\xbb\xbf")):
        return read_log(path)
    root = load_json(path)
    if is_layer_json(root):
        return layers_from_json(root)
    if is_times_json(root):
        return times_from_json(root)
    if is_profile_json(root):
        return profile_from_json(root)
    if is_metadata(root) and isinstance(root, dict):
        return settings_from_metadata(root)
    raise BuildFileError("JSON, but neither layer information nor a profile, timings or metadata", line=1)


def read_layers(path: Path) -> LayerInfo:
    """Layer information from JSON, from a text dump, or from the last dump in a log.

    Raises:
        BuildFileError: if there are no layers in the file.
    """
    content = read_build_file(path)
    if isinstance(content, LayerInfo):
        return content
    if isinstance(content, Log) and content.dumps:
        dump = content.dumps[-1]
        return LayerInfo(dump.layers, dump.tensors)
    raise BuildFileError("no engine layers in this file")
