"""Find path globs of a configuration that match no model, because of a typo or a deleted model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from trtlint.files.expand import SUFFIX
from trtlint.files.globs import matches_path
from trtlint.policy.config import Configuration

_OF_MODELS = (SUFFIX, "*", "/")
"""Ends of the globs that can match models.

Other globs are for scripts and programs, which a run over a folder does not lint.
"""


def unmatched(
    configurations: Iterable[Configuration], models: Sequence[Path], paths: Iterable[str]
) -> Iterator[str]:
    """Yield a note about each ``path`` of ``[[models]]`` and ``[[suppress]]`` that matches no model.

    The function does not search folders. It reports a path without wildcards if the file does not exist. It
    reports a glob if its part before the first wildcard does not exist, or is in a linted folder.

    Args:
        configurations: the configurations of the run.
        models: the linted files.
        paths: the paths on the command line.
    """
    folders = [os.path.realpath(path) for path in paths if os.path.isdir(path)]  # noqa: PTH112 - texts, not paths
    for configuration in configurations:
        if configuration.file is None:
            continue
        names = [configuration.relative(model) for model in models]
        for where, globs in _globs(configuration):
            for glob in globs:
                base = os.path.realpath(configuration.file.parent / _base(glob))
                gone = not os.path.exists(base)  # noqa: PTH110 - base is a text
                listed = glob.endswith(_OF_MODELS) and os.path.isdir(base)  # noqa: PTH112 - as above
                known = gone or (listed and any(_is_within(base, each) for each in folders))
                if known and not any(matches_path(glob, name) for name in names):
                    yield f"{where}path: {glob} matches no model"


def _globs(configuration: Configuration) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the file and table of each list of globs, as the beginning of a message, and the globs."""
    for section in configuration.sections:
        yield section.choices.where, section.paths
    for entry in configuration.suppress:
        yield f"{entry.suppression.where}.", entry.paths


def _base(glob: str) -> str:
    """Return the part of a glob before the first part with a wildcard.

    A glob without ``/`` matches names in all folders, so its base is the folder of the configuration.
    """
    parts = glob.removeprefix("./").split("/")
    if len(parts) == 1:
        return ""
    plain = next((index for index, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
    return "/".join(parts[:plain])


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))  # noqa: PTH118 - folder is a text
