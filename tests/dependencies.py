"""Dependencies of trtlint, linked into test environments without downloads."""

from __future__ import annotations

import sysconfig
from pathlib import Path

_OWN = ("trtlint", "_editable_impl_trtlint", "pip", "__pycache__")


def link_dependencies(folder: Path) -> Path:
    """Link to all packages installed here but trtlint and pip.

    pip takes what lies on the path of imports for installed, and still checks that each requirement is met;
    files that extend this path (``.pth``) count in folders of an environment only, and are left out.
    """
    folder.mkdir(parents=True)
    for place in dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib")):
        for entry in Path(place).iterdir():
            if not entry.name.startswith(_OWN) and entry.suffix != ".pth":
                (folder / entry.name).symlink_to(entry)
    return folder
