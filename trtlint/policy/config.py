"""Configuration: ``trtlint.toml``, or ``[tool.trtlint]`` in ``pyproject.toml``.

Like ruff, trtlint uses the nearest file in the folder of the model or in a folder above. ``[[models]]``
sections override the general part of the file, and the command line overrides both. Paths and globs are
relative to the folder of the file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from trtlint.buildfiles.kinds import FILE_KINDS, BuildFiles
from trtlint.dry_build.agreement import PROBE
from trtlint.engine.finding import Confidence, Severity
from trtlint.errors import SettingError
from trtlint.files.globs import matches_path
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.regular import read_bytes
from trtlint.policy import schema
from trtlint.policy.options import INSTALLED, DryOptions, FailOn, TargetOptions, shapes_of_texts
from trtlint.policy.selection import RuleLayer
from trtlint.policy.suppression import Acceptance, texts

OWN, SHARED = "trtlint.toml", "pyproject.toml"
_TABLE = "tool.trtlint"
_MOST_BYTES = 1 << 20
"""Largest configuration in bytes."""
_DEEPEST = 16
"""Maximum nesting depth of tables and lists. The schema needs a depth of four."""


class Choices(Struct, frozen=True):
    """Settings from one table of a configuration file, or from the command line.

    Unset settings are empty or None.

    Attributes:
        where: prefix of error messages, with the file and the table; empty for the command line.
        targets: build targets.
        layer: the rules to select and to ignore.
        severity: pairs of a rule selector and a severity.
        fail_on: lowest severity that makes the command fail.
        min_confidence: lowest confidence of shown findings.
        plugins: operators of plugins that the build loads in addition to TensorRT's own plugins.
        build_files: the build files that belong to the model, such as a log.
        dry: dry build options.
    """

    where: str = ""
    targets: tuple[TargetOptions, ...] = ()
    layer: RuleLayer = field(default_factory=RuleLayer)
    severity: tuple[tuple[str, Severity], ...] = ()
    fail_on: FailOn | None = None
    min_confidence: Confidence | None = None
    plugins: tuple[str, ...] = ()
    build_files: BuildFiles = field(default_factory=dict)
    dry: DryOptions = field(default_factory=DryOptions)


class ModelSection(Struct, frozen=True):
    """Settings in a ``[[models]]`` section.  They apply to models whose path matches a glob in ``paths``."""

    paths: tuple[str, ...]
    choices: Choices


class Configuration(Struct, frozen=True):
    """The content of a configuration file, or default settings if there is no file.

    Attributes:
        file: the file; None if there is none.
        general: settings for all models.
        sections: the ``[[models]]`` sections, in file order.
        rules: folders of rule files.
        preview: true to run preview rules.
        baseline: the baseline file; None if the configuration names none.
        suppress: suppressions.
    """

    file: Path | None = None
    general: Choices = Choices()
    sections: tuple[ModelSection, ...] = ()
    rules: tuple[Path, ...] = ()
    preview: bool = False
    baseline: Path | None = None
    suppress: tuple[Acceptance, ...] = ()

    def relative(self, model: Path) -> str:
        """Return the path of a model for comparison with globs.

        The path is relative to the folder of the configuration, with ``/``.
        """
        return model.as_posix() if self.file is None else relative(model, self.file.parent)

    def choices(self, model: Path) -> Iterator[Choices]:
        """Yield the settings for a model: the general settings, then each section for the model's path."""
        path = self.relative(model)
        yield self.general
        for section in self.sections:
            if any(matches_path(glob, path) for glob in section.paths):
                yield section.choices

    def suppressions(self, model: Path) -> tuple[Acceptance, ...]:
        """Return the suppressions that apply to a model."""
        path = self.relative(model)
        return tuple(entry for entry in self.suppress if entry.covers_model(path))


def relative(file: Path, folder: Path) -> str:
    """Return the path of a file relative to a folder, with ``/``.  A path on another drive stays absolute."""
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:  # another drive
        return file.absolute().as_posix()


class Configurations:
    """The configurations of all models of a run.  Each file is read once.

    Args:
        file: the configuration file for all models; None to use the nearest file of each model.
        isolated: true to use default settings instead of configuration files.
    """

    def __init__(self, file: Path | None = None, *, isolated: bool = False) -> None:
        self._file = file
        self._isolated = isolated
        self._found: dict[Path, Configuration] = {}

    def of(self, model: Path) -> Configuration:
        """Return the configuration for a model or folder.

        Return default settings if there is no configuration file.

        Raises:
            SettingError: the configuration file cannot be read, or has an error.
        """
        if self._isolated:
            return Configuration()
        if self._file is not None:
            if self._file not in self._found:
                self._found[self._file] = load(self._file)
            return self._found[self._file]
        path = Path(os.path.abspath(model))  # noqa: PTH100 - resolve() would follow links to other folders
        return self._nearest(path if os.path.isdir(path) else path.parent)  # noqa: PTH112

    def _nearest(self, folder: Path) -> Configuration:
        passed: list[Path] = []
        found: Configuration | None = None
        for candidate in (folder, *folder.parents):
            found = self._found.get(candidate)
            if found is None:
                passed.append(candidate)
                found = self._here(candidate)
            if found is not None:
                break
        found = found or Configuration()
        self._found.update(dict.fromkeys(passed, found))
        return found

    def _here(self, folder: Path) -> Configuration | None:
        if _is_there(folder / OWN):
            return load(folder / OWN)
        shared = folder / SHARED
        if _is_there(shared) and _own_table(_toml(shared)) is not None:
            return load(shared)
        return None


def load(file: Path) -> Configuration:
    """Load a configuration file.  In ``pyproject.toml``, only the table ``[tool.trtlint]`` is read.

    Raises:
        SettingError: the file cannot be read, or violates the schema.  The message begins with the file and
            the key.
    """
    document = _toml(file)
    prefix = ""
    if file.name == SHARED:
        table = _own_table(document)
        if table is None:
            raise SettingError(f"{shown(file)}: the table [{_TABLE}] is missing")
        document, prefix = table, f"{_TABLE}."
    document = _plain(document, f"{shown(file)}: {prefix.removesuffix('.')}")
    try:
        schema.check(document)
    except schema.SchemaError as error:
        raise SettingError(f"{shown(file)}: {prefix}{_explained(error)}") from None
    where = f"{shown(file)}: {prefix}"
    folder = Path(os.path.abspath(file)).parent  # noqa: PTH100
    baseline = document.get("baseline")
    return Configuration(
        file=folder / file.name,
        general=_choices(document, where, folder),
        sections=tuple(
            ModelSection(texts(table["path"]), _choices(table, f"{where}models[{number}].", folder))
            for number, table in enumerate(document.get("models", ()))
        ),
        rules=tuple(folder / path for path in document.get("rules", ())),
        preview=document.get("preview", False),
        baseline=None if baseline is None else folder / baseline,
        suppress=tuple(
            Acceptance.of(table, "configuration", f"{where}suppress[{number}]")
            for number, table in enumerate(document.get("suppress", ()))
        ),
    )


def _explained(error: schema.SchemaError) -> str:
    """Return the message of an error.  For a key in the wrong table, the message has the remedy."""
    table, _, name = error.key.rpartition(".")
    if not error.message.startswith("no such key"):
        return str(error)
    if error.key == "tool":
        remedy = f"[{_TABLE}] is for {SHARED}; write the keys without this table"
    elif table and name in schema.configuration()["properties"]:
        remedy = f"{name} is a key of the whole file, so move it above the first table"
    else:
        return str(error)
    return f"{error.key}: no such key; {remedy}"


def shown(file: Path) -> str:
    """Return a path for messages: relative if the file is in the current folder, otherwise as given."""
    try:
        return file.absolute().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return str(file)


def overlay(base: TargetOptions, over: TargetOptions) -> TargetOptions:
    """Combine a configured target with options of the command line. The command line takes precedence.

    A version on the command line replaces the configured versions of TensorRT and TensorRT-RTX.
    """
    versions = {} if over.trt or over.rtx else {"trt": base.trt, "rtx": base.rtx}
    flags = tuple({**dict(base.flags), **dict(over.flags)}.items())
    plugins = base.plugins if over.plugins is None else over.plugins
    return replace(over, **versions, gpu=over.gpu or base.gpu, flags=flags, plugins=plugins)


def _is_there(file: Path) -> bool:
    """Return whether a path exists and is not a folder.

    The path may be a device file. trtlint rejects device files later, when it reads the file.
    """
    return os.path.exists(file) and not os.path.isdir(file)  # noqa: PTH110, PTH112


def _own_table(document: Mapping[str, Any]) -> dict[str, Any] | None:
    tool = document.get("tool")
    table = tool.get("trtlint") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else None


def _toml(file: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with limit_work(file):
            return tomllib.loads(read_bytes(file, _MOST_BYTES).decode("utf-8-sig"))
    except LimitError as error:
        raise SettingError(f"{shown(file)}: {error.message}") from None
    except OSError as error:
        raise SettingError(f"{shown(file)}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, UnicodeDecodeError
        raise SettingError(f"{shown(file)}: not TOML: {error}") from None


def _plain(value: Any, where: str, depth: int = 0) -> Any:
    """Convert TOML data to JSON data.  Dates become text.

    Raises:
        SettingError: the data are nested too deeply, or contain a NUL character.
    """
    if depth > _DEEPEST:
        raise SettingError(f"{where}: nested more than {_DEEPEST} levels deep")
    if isinstance(value, dict):
        return {key: _plain(item, where, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, where, depth + 1) for item in value]
    if isinstance(value, str) and "\0" in value:
        raise SettingError(f"{where}: a string contains a NUL character")
    return value.isoformat() if isinstance(value, date | datetime) else value


def _choices(table: Mapping[str, Any], where: str, folder: Path) -> Choices:
    targets = table.get("target", ())
    return Choices(
        where=where,
        targets=tuple(_target(entry) for entry in ([targets] if isinstance(targets, dict) else targets)),
        layer=RuleLayer(
            tuple(table.get("select", ())),
            tuple(table.get("extend-select", ())),
            tuple(table.get("ignore", ())),
            where,
        ),
        severity=tuple(table.get("severity", {}).items()),
        fail_on=table.get("fail-on"),
        min_confidence=table.get("min-confidence"),
        plugins=tuple(table.get("plugins", ())),
        build_files={kind: _named(folder / table[kind]) for kind in FILE_KINDS if kind in table},
        dry=_dry(table, where, folder),
    )


def _named(file: Path) -> str:
    """Return a path for messages, as :func:`shown` does.

    A file called ``-`` becomes ``./-``, because ``-`` stands for standard input.
    """
    name = shown(file)
    return f"./{name}" if name == "-" else name


def _dry(table: Mapping[str, Any], where: str, folder: Path) -> DryOptions:
    """Read the keys ``dry-build``, ``shapes`` and ``compare``."""
    wanted, compare = table.get("dry-build"), _compare(table.get("compare"), folder)
    shapes = shapes_of_texts(texts(table.get("shapes", ())), f"{where}shapes")
    if wanted is None and not compare:
        return DryOptions(shapes=shapes, compare=compare)
    if wanted is False:
        return DryOptions("off", shapes=shapes, compare=compare)
    if wanted in (None, "parse"):
        return DryOptions("parse", INSTALLED, shapes=shapes, compare=compare)
    return DryOptions("build", INSTALLED if wanted is True else wanted, shapes=shapes, compare=compare)


def _compare(given: bool | str | list[str] | None, folder: Path) -> tuple[str, ...] | None:
    """Read the key ``compare``: a boolean, ``"probe"``, or input files and folders."""
    if given is None:
        return None
    if isinstance(given, bool):
        return ("",) if given else ()
    return tuple(each if each == PROBE else _named(folder / each) for each in texts(given))


def _target(table: Mapping[str, Any]) -> TargetOptions:
    return TargetOptions(
        trt=texts(table.get("trt", ())),
        rtx=texts(table.get("rtx", ())),
        gpu=table.get("gpu"),
        flags=tuple((key, value) for key, value in table.items() if isinstance(value, bool)),  # type: ignore[misc]
    )
