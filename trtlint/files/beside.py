"""Find files that a model names, such as external data."""

from __future__ import annotations

import os
from pathlib import Path


def real_file(folder: Path, name: str, model: Path) -> Path | None:
    """Return the real path of a file in a folder, or None if the file is outside the folder.

    A link is allowed if its target is in the folder, as in Kubernetes volumes. If the model file is a link, a
    target in the folder of the model's real file is also allowed, as in download caches.

    Args:
        folder: folder that must contain the file.
        name: path relative to the folder. An absolute path counts as outside.
        model: model that needs the file.

    Raises:
        ValueError: the name contains a NUL.
    """
    home, file = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / name))
    within = home in file.parents or file.parent == Path(os.path.realpath(model)).parent
    return file if within and not Path(name).is_absolute() else None
