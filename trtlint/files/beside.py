"""Files beside a model that nobody named on the command line: the model names them, or their place does."""

from __future__ import annotations

import os
from pathlib import Path


def real_file(folder: Path, name: str, model: Path) -> Path | None:
    """Where a file really lies; None where that is elsewhere.

    A link may lead on within the folder, as Kubernetes mounts files, or to where the model itself really
    lies: a download cache keeps the files of a repository in one folder, and links to them.

    Args:
        folder: where it is looked for.
        name: its path relative to that; one that is absolute is elsewhere.
        model: the model that it is looked for on behalf of.

    Raises:
        ValueError: a NUL in the name.
    """
    home, file = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / name))
    within = home in file.parents or file.parent == Path(os.path.realpath(model)).parent
    return file if within and not Path(name).is_absolute() else None
