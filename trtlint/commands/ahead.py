"""A large model that is read, and begins to be copied, before it is known what becomes of it.

To load what lints and rewrites takes a tenth of a second, in which the kernel copies a third of a gigabyte
if it has a core of its own: `benchmarks/writing.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trtlint.commands.stopping import tidying_up
from trtlint.lean import dataclass
from trtlint.model.copying import LARGE

if TYPE_CHECKING:
    from trtlint.fixes.source import Source
    from trtlint.model.writer import Writing


@dataclass(frozen=True, slots=True)
class Begun:
    """A model that was read, and is being copied.

    Attributes:
        source: the model.
        out: where it goes.
        writing: the file there, which is not kept unless it is finished.
    """

    source: Source
    out: Path
    writing: Writing

    def is_of(self, model: Path, out: Path) -> bool:
        """Whether it is what is to become of a model."""
        return (self.source.path, self.out) == (model, out)


def beside(model: Path) -> Path:
    """Where the fixed form of a model goes if nothing else is said."""
    return model.with_name(f"{model.stem}.fixed{model.suffix}")


def destination(model: Path, given: str | None) -> Path:
    """Where the fixed model goes.

    Raises:
        click.UsageError: it cannot go there.
    """
    out = beside(model) if given is None else Path(given)
    if out.exists() and model.exists() and out.samefile(model):
        raise click.UsageError(f"{out} is the model itself; a model is never fixed in place")
    if not out.parent.is_dir():
        raise click.UsageError(f"there is no folder {out.parent} for the fixed model")
    return out


def writes_at_once(dry_run: bool, verify: bool, verify_build: bool) -> bool:
    """Whether a fixed model is written as soon as it is there, before anything is proven of the file."""
    return not (dry_run or verify or verify_build)


@contextmanager
def ahead(paths: Sequence[str], own: Mapping[str, Any]) -> Iterator[Begun | None]:
    """Begin with the only model of a command, if that is a large file; what is not finished is not kept.

    Whatever is wrong with the command or the file is told later, as of any other.

    Args:
        paths: the models, as they are written.
        own: the options of ``trtlint fix``.
    """
    model = Path(paths[0])
    at_once = writes_at_once(own["dry_run"], own["verify"], own["verify_build"])
    if len(paths) > 1 or not at_once or not _is_large(model):
        yield None
        return
    from trtlint.files.problem import UnreadableError
    from trtlint.fixes.source import read_source
    from trtlint.model.writer import Writing

    begun: Begun | None = None
    with tidying_up():
        with suppress(click.UsageError, UnreadableError, OSError):
            out = destination(model, own["output"])
            begun = Begun(read_source(model), out, Writing(out))
        if begun is None:
            yield None
            return
        with begun.writing:
            begun.writing.begin(begun.source.proto, begun.source.raw.tensors)
            yield begun


def _is_large(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size >= LARGE
    except (OSError, ValueError):
        return False
