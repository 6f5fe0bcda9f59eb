"""Dependencies of trtlint, linked into test environments without downloads."""

from __future__ import annotations

import sysconfig
from pathlib import Path

_OWN = ("trtlint", "_editable_impl_trtlint", "pip", "__pycache__")


def link_dependencies(folder: Path) -> Path:
    """Link to all installed packages except trtlint and pip.

    pip treats packages on the import path as installed, and still checks every requirement.  ``.pth`` files
    only work in environment folders, so this function skips them.
    """
    folder.mkdir(parents=True)
    for place in dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")):
        for entry in Path(place).iterdir():
            if not entry.name.startswith(_OWN) and entry.suffix != ".pth":
                (folder / entry.name).symlink_to(entry)
    return folder
