"""Combine the contents of the files of one build: log, layers, profile and engine header."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from trtlint.buildfiles import layers, profile
from trtlint.buildfiles.diagnosis import cut_in_parsing
from trtlint.buildfiles.errors import BuildFileError, unreadable
from trtlint.buildfiles.inspector import inspect_plan
from trtlint.buildfiles.kinds import GivenAs
from trtlint.buildfiles.layers import LayerInfo, load_json
from trtlint.buildfiles.log import read_log
from trtlint.buildfiles.plan import MAGIC, PlanHeader, read_plan
from trtlint.buildfiles.profile import Profile
from trtlint.buildfiles.recognise import JSON_START, is_binary
from trtlint.buildfiles.records import Log
from trtlint.buildfiles.settings import BuildSettings
from trtlint.buildfiles.settings import from_json as settings_from_json
from trtlint.files.problem import named
from trtlint.files.regular import open_regular

if TYPE_CHECKING:
    from trtlint.buildfiles.kinds import BuildFile

_Content = TypeVar("_Content")
_ANY: GivenAs = "any"
FOREIGN = "contains no line of a TensorRT build"
"""The reason why a log gives no facts."""
UNKNOWN = "trtlint recognizes no line of this log, so it can say nothing about the build"
"""The reason why a log that names TensorRT gives no facts."""
_STDIN = "-"
_KINDS: Mapping[type, str] = {
    Log: "log",
    LayerInfo: "file of engine layers",
    Profile: "profile",
    PlanHeader: "engine",
}
"""Contents that a build can have only once, each with its name in error messages."""
_ENGINES = (".engine", ".plan", ".trt")


class InspectedPlan(Struct, frozen=True):
    """An engine file, and the layers that TensorRT listed for it."""

    header: PlanHeader
    layers: LayerInfo


class BuildRecord(Struct, frozen=True):
    """The contents of the files of one build. A field ``*_name`` is empty if the build has no such file.

    Attributes:
        files: the files, as the user wrote them.
        log: the log.
        log_name: the file of the log.
        layers: the engine's layers, from a layer file.  If there is no such file, the layers come from the
            last list of layers in the log.
        layers_name: the file with the layers.
        profile: layer times, from a profile file.  If there is no such file, the times come from the last
            table of times in the log.
        profile_name: the file with the layer times.
        plan: the header of the engine file.
        plan_name: the engine file.
        settings: the build settings in the files.  The log takes precedence over the metadata, and the
            metadata over the engine header.
        places: the source of each setting, such as ``build.log:12``.
        notes: gaps and contradictions in the files.
    """

    files: tuple[str, ...] = ()
    log: Log | None = None
    log_name: str = ""
    layers: LayerInfo | None = None
    layers_name: str = ""
    profile: Profile | None = None
    profile_name: str = ""
    plan: PlanHeader | None = None
    plan_name: str = ""
    settings: BuildSettings = field(default_factory=BuildSettings)
    places: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_build(paths: Iterable[str | tuple[str, GivenAs]]) -> BuildRecord:
    """Read the files of one build, each given as a path or as a pair of path and role.

    The path ``-`` is a log on standard input. A role is the kind of the file according to the user, such as
    ``"layers"``.

    Raises:
        BuildFileError: a file is unreadable, differs in kind from its role, or is the second file of a kind.
            The message begins with the file's name.
    """
    return together([read_file(*((entry, _ANY) if isinstance(entry, str) else entry)) for entry in paths])


class FileContents(Struct, frozen=True):
    """The contents of a build file.

    Attributes:
        path: the file, as the user wrote it.
        content: the parsed contents.
        note: a sentence about contents that are missing, or None.
    """

    path: str
    content: BuildFile | InspectedPlan
    note: str | None = None


def read_file(path: str, role: GivenAs = "any") -> FileContents:
    """Read one file of a build.

    Raises:
        BuildFileError: the file is unreadable or differs in kind from its role.  The message begins with
            the file's name.
    """
    with named(path):
        content, note = _read(path, role)
    return FileContents(path, content, note)


def together(files: Sequence[FileContents]) -> BuildRecord:
    """Combine the files of one build.

    Raises:
        BuildFileError: two files have the same kind.
    """
    found: list[tuple[BuildFile, str]] = []
    settings: list[tuple[BuildSettings, str]] = []
    notes: list[str] = []
    for file in files:
        if file.note is not None:
            notes.append(file.note)
        for content in _parts(file.content):
            if isinstance(content, BuildSettings):
                settings.append((content, file.path))
            elif any(isinstance(content, type(other)) for other, _ in found):
                message = f"a second {_KINDS[type(content)]}; pass one file of each kind for a build"
                raise BuildFileError(message, path=file.path)
            else:
                found.append((content, file.path))
            if isinstance(content, Log):
                cut = cut_in_parsing(content)
                notes += (f"{file.path}: {note}" for note in (*content.notes, cut) if note)
    log, log_name = _of_kind(found, Log)
    layers, layers_name = _of_kind(found, LayerInfo)
    if log is not None and layers is None and log.dumps:
        layers, layers_name = log.dumps[-1], log_name
    profile, profile_name = _of_kind(found, Profile)
    if log is not None and profile is None and log.profiles:
        profile, profile_name = log.profiles[-1], log_name
    plan, plan_name = _of_kind(found, PlanHeader)
    if log is not None:
        settings.insert(0, (log.settings, log_name))
    if plan is not None:
        settings.append((BuildSettings(product=plan.product, version=plan.version), plan_name))
    merged, places, conflicts = _merged(settings)
    return BuildRecord(
        files=tuple(file.path for file in files),
        log=log,
        log_name=log_name,
        layers=layers,
        layers_name=layers_name,
        profile=profile,
        profile_name=profile_name,
        plan=plan,
        plan_name=plan_name,
        settings=merged,
        places=MappingProxyType(places),
        notes=(*notes, *conflicts),
    )


def _of_kind(found: Iterable[tuple[BuildFile, str]], kind: type[_Content]) -> tuple[_Content | None, str]:
    """Return the content that has the type ``kind``, and the file that it comes from."""
    return next(((content, path) for content, path in found if isinstance(content, kind)), (None, ""))


def _parts(content: BuildFile | InspectedPlan) -> tuple[BuildFile, ...]:
    return (content.layers, content.header) if isinstance(content, InspectedPlan) else (content,)


def _read(path: str, role: GivenAs) -> tuple[BuildFile | InspectedPlan, str | None]:
    binary = path == _STDIN and is_binary(path)
    if path == _STDIN or role == "log":
        content: BuildFile = read_log(path)
    else:
        content = read_build_file(Path(path))
    if role == "profile":
        return _only_times(content), None
    if role == "layers":
        return _only_layers(path, content)
    if isinstance(content, Log) and not (content.is_log or content.profiles):
        if not content.size:
            raise BuildFileError("the log is empty; save the output of the build, with standard error (2>&1)")
        if binary or (path != _STDIN and is_binary(path)):
            raise BuildFileError("a binary file, not a log; give the output of the build, as text or .gz")
        return content, f"{path}: {UNKNOWN if content.named else FOREIGN}"
    return content, None


def _only_times(content: BuildFile) -> Profile:
    if isinstance(content, Log) and content.profiles:
        return content.profiles[-1]
    if not isinstance(content, Profile):
        raise BuildFileError("the file has no layer times; give the file that trtexec --exportProfile writes")
    return content


def _only_layers(path: str, content: BuildFile) -> tuple[BuildFile | InspectedPlan, str | None]:
    if isinstance(content, PlanHeader):
        found = inspect_plan(Path(path))
        if isinstance(found, LayerInfo):
            return InspectedPlan(content, found), None
        return content, f"{path}: {found}; trtlint uses only the product and version of this engine"
    if isinstance(content, Log) and content.dumps:
        return content.dumps[-1], None
    if not isinstance(content, LayerInfo):
        raise BuildFileError("the file has no engine layers")
    return content, None


def _merged(
    sources: Iterable[tuple[BuildSettings, str]],
) -> tuple[BuildSettings, dict[str, str], list[str]]:
    """Merge the settings of several files. The settings of an earlier file take precedence.

    Returns:
        The settings, the source of each setting, and sentences about contradictions.
    """
    merged, places, conflicts = BuildSettings(), dict[str, str](), list[str]()
    for settings, name in sources:
        for item in BuildSettings.__struct_fields__:
            value, known = getattr(settings, item), getattr(merged, item)
            if value is None or item == "found":
                continue
            line = settings.found.get(item)
            place = name if line is None else f"{name}:{line}"
            if item not in places:
                merged = replace(merged, **{item: value})
                places[item] = place
            elif value != known and item != "tool":  # several tools can take part in one build
                first = places[item]
                conflicts.append(
                    f"{place} reports {_words(item, value)}, but {first} reports {_words(item, known)}; "
                    f"trtlint uses {first}: check that both files come from the same build"
                )
    return merged, places, conflicts


def _words(name: str, value: object) -> str:
    words = name.replace("_", " ")
    text = ", ".join(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)
    return f"{words} {text}"


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
    for from_json in (layers.from_json, profile.from_json, settings_from_json):
        content: BuildFile | None = from_json(root)
        if content is not None:
            return content
    raise BuildFileError("unknown JSON: it is not layer information, a profile or metadata", line=1)
