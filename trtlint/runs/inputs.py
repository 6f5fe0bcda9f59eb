"""Convert paths and options to tasks.  The paths are models or build files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trtlint.buildfiles.kinds import BuildFiles, GivenAs
from trtlint.buildfiles.recognise import is_build_file
from trtlint.errors import SettingError
from trtlint.files.expand import expand
from trtlint.policy.options import LintOptions
from trtlint.remote.addresses import Address, is_address, parse, require_local
from trtlint.runs.evidence import Readers, evidence_of_build
from trtlint.runs.task import SettingsSource, Task
from trtlint.runs.torchinputs import is_torch, torch_tasks

if TYPE_CHECKING:
    from trtlint.model.load import ModelSource


def tasks_of(reader: SettingsSource, options: LintOptions) -> list[Task]:
    """Return a task for each model, or for each build if only build files are given.

    Build files from the user replace the build files in the configuration.

    Raises:
        SettingError: an option cannot be used, or two options contradict each other.
        FileError, ExperimentError: the file of an option cannot be used, or a package is missing.
    """
    if "" in options.paths:
        raise SettingError("a path is empty; check that your shell variable is set")
    scripts, paths = _for_torch(options)
    models, files = _sort(paths, options)
    here, addresses = _apart(models)
    found = reader.settings([*expand(here), *(Path(address.name) for address in addresses)])
    dry = options.dry.level in ("parse", "build")
    record = options.record
    build = next((path for path, _ in files), None) if record is None else next(iter(record.files), "record")
    if dry or any(options.evidence.values()) or options.explain_miss is not None:
        require_local(models)
    if build is not None and dry:
        first, second, third = map(options.spelling, ("dry_build", "dry_parse", "compare"))
        raise SettingError(
            f"{build} describes a real build, so trtlint runs no dry build; omit this file, or omit {first}, "
            f"{second} and {third}"
        )
    if build is not None and len(found) > 1:
        raise SettingError(
            f"{build} describes the build of one model, but {len(found)} models are given; "
            "pass only that model"
        )
    if build is not None and not found:
        from trtlint.buildfiles.gather import BuildInput, by_itself

        alone = by_itself(files) if record is None else [BuildInput(Path(build), record)]
        tasks = [
            Task.of(reader.settings_of(each.path), evidence_of_build(each), alone=True) for each in alone
        ]
    else:
        settings, elsewhere = found[: len(found) - len(addresses)], found[len(found) - len(addresses) :]
        readers = Readers(options, [each.file for each in settings], files)
        tasks = [Task.of(each, readers.read(each, each.file)) for each in settings]
        for each, address in zip(elsewhere, addresses, strict=True):
            tasks.append(Task.of(each, readers.read(each, None), source=address))
        readers.close()
    if options.torch.release is None:
        return tasks
    return [*torch_tasks(reader, options, options.torch.release, scripts), *tasks]


def memory_task(reader: SettingsSource, options: LintOptions, name: str, model: ModelSource) -> Task:
    """Return the task for a model in memory.  Reports call the model ``name``.

    Raises:
        SettingError, FileError: as for :func:`tasks_of`.
    """
    settings = reader.settings_of(Path(name))
    _, files = _sort((), options)
    readers = Readers(options, (), files)
    found = readers.read(settings, None)
    readers.close()
    return Task.of(settings, found, source=model)


def _for_torch(options: LintOptions) -> tuple[list[str], list[str]]:
    """Separate the scripts and programs for Torch-TensorRT from the remaining paths."""
    if options.torch.release is None:
        return [], [*options.paths]
    scripts = [path for path in options.paths if is_torch(path)]
    return scripts, [path for path in options.paths if not is_torch(path)]


def _sort(paths: Sequence[str], options: LintOptions) -> tuple[list[str], list[tuple[str, GivenAs]]]:
    """Separate models and folders from build files, as :func:`sort` does.

    Raises:
        SettingError: there are build files, but the options have the contents of a build, too.
    """
    models, files = sort(paths, options.build_files)
    if files and options.record is not None:
        raise SettingError(f"the argument 'record' already has the files of a build; omit {files[0][0]}")
    return models, files


def sort(paths: Sequence[str], given: BuildFiles) -> tuple[list[str], list[tuple[str, GivenAs]]]:
    """Separate models and folders from build files.

    Args:
        paths: the paths on the command line.
        given: the build files in options such as ``--log``.

    Returns:
        The models and folders, and the build files with their kinds.
    """
    files: list[tuple[str, GivenAs]] = [(path, kind) for kind, path in given.items()]
    models = []
    for path in paths:
        if not is_address(path) and is_build_file(path):
            files.append((path, "any"))
        else:
            models.append(path)
    if sum(path == "-" for path, _ in files) > 1:
        raise SettingError("standard input (-) is given twice; use it for one file")
    return models, files


def _apart(models: Sequence[str]) -> tuple[list[str], list[Address]]:
    """Separate the paths of local models from the addresses of remote models."""
    addresses = {text: parse(text) for text in models if is_address(text)}
    if addresses:
        from trtlint.remote.file import require_packages

        for address in addresses.values():
            require_packages(address)
    return [text for text in models if text not in addresses], list(addresses.values())
