"""Convert paths and options to tasks.  The paths are models or build files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trtlint.buildfiles.recognise import is_build_file
from trtlint.buildfiles.witnesses import BuildFiles, GivenAs
from trtlint.errors import SettingError
from trtlint.files.expand import expand
from trtlint.policy.options import LintOptions
from trtlint.policy.settings import FileSettings, SettingsReader
from trtlint.remote.addresses import Address, is_address, parse, require_local
from trtlint.runs.evidence import BuildFileNames, Read, Readers, names_of, read_build
from trtlint.runs.task import Task
from trtlint.runs.torchinputs import torch_tasks


def tasks_of(reader: SettingsReader, options: LintOptions) -> list[Task]:
    """Return a task for each model, or for each build if only build files are given.

    Build files on the command line replace the build files in the configuration.

    Raises:
        SettingError: build files are given with several models, or :meth:`SettingsReader.settings` fails.
    """
    if "" in options.paths:
        raise SettingError("a path is empty; check that your shell variable is set")
    scripts, paths = _for_torch(options)
    models, files = sort(paths, options.left)
    here, addresses = _apart(models)
    found = reader.settings([*expand(here), *(Path(address.name) for address in addresses)])
    dry = options.dry.level in ("parse", "build")
    if dry or any(options.evidence.values()) or options.explain_miss is not None:
        require_local(models)
    if files and dry:
        raise SettingError(
            f"{files[0][0]} describes a real build, so trtlint runs no dry build; leave this file out of the "
            "command, or leave out --dry-build and --dry-parse"
        )
    if files and len(found) > 1:
        raise SettingError(
            f"{files[0][0]} describes the build of one model, but {len(found)} models are given; "
            "pass only that model"
        )
    if files and not found:
        tasks = [*_builds(reader, files)]
    else:
        settings, elsewhere = found[: len(found) - len(addresses)], found[len(found) - len(addresses) :]
        readers = Readers(options, [each.file for each in settings], files)
        tasks = [_task(each, readers.read(each)) for each in settings]
        for each, address in zip(elsewhere, addresses, strict=True):
            tasks.append(_task(each, readers.read(each) if files else Read(), address))
        readers.close()
    if options.torch.release is None:
        return tasks
    return [*torch_tasks(reader, options, options.torch.release, scripts), *tasks]


def _for_torch(options: LintOptions) -> tuple[list[str], list[str]]:
    """Separate the scripts and programs for Torch-TensorRT from the remaining paths."""
    if options.torch.release is None:
        return [], [*options.paths]
    from trtlint.runs.torchjob import is_torch

    scripts = list(filter(is_torch, options.paths))
    return scripts, [path for path in options.paths if not is_torch(path)]


def _builds(reader: SettingsReader, files: BuildFileNames) -> Iterator[Task]:
    """Yield a task for each build whose model is not given."""
    from trtlint.buildfiles.gather import by_itself

    for gathered in by_itself(files):
        read = read_build(gathered)
        yield Task.of(reader.settings_of(gathered.path), read.evidence, read.problems, alone=True)


def _task(settings: FileSettings, read: Read, address: Address | None = None) -> Task:
    return Task.of(settings, read.evidence, read.problems, address=address)


def sort(paths: Sequence[str], given: BuildFiles) -> tuple[list[str], list[tuple[str, GivenAs]]]:
    """Separate models and folders from build files.

    Args:
        paths: the paths on the command line.
        given: the build files in options such as ``--log``.

    Returns:
        The models and folders, and the build files with their kinds.
    """
    files: list[tuple[str, GivenAs]] = list(names_of(given))
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
