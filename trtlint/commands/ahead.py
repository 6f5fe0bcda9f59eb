"""A large model that is read, and begins to be copied, before it is known what becomes of it.

To load what lints and rewrites takes a tenth of a second, in which the kernel copies a third of a gigabyte
if it has a core of its own: `benchmarks/writing.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trtlint.commands.stopping import tidying_up
from trtlint.lean import dataclass
from trtlint.model.copying import LARGE

if TYPE_CHECKING:
    from trtlint.commands.fixrequest import FixOptions
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


def destination(model: Path, given: str | None) -> Path:
    """Where the fixed model goes.

    Raises:
        click.UsageError: it cannot go there.
    """
    from trtlint.fixes.source import beside

    out = beside(model) if given is None else Path(given)
    if out.exists() and model.exists() and out.samefile(model):
        raise click.UsageError(f"{out} is the model itself; a model is never fixed in place")
    if not out.parent.is_dir():
        raise click.UsageError(f"there is no folder {out.parent} for the fixed model")
    return out


@contextmanager
def ahead(options: FixOptions) -> Iterator[Begun | None]:
    """Begin with the only model of a command, if that is a large file; what is not finished is not kept.

    Whatever is wrong with the command or the file is told later, as of any other.

    Args:
        options: what was asked for.
    """
    model = Path(options.lint.paths[0])
    if len(options.lint.paths) > 1 or not options.writes_at_once or not _is_large(model):
        yield None
        return
    from trtlint.files.problem import UnreadableError
    from trtlint.fixes.source import read_source
    from trtlint.model.writer import Writing

    begun: Begun | None = None
    with tidying_up():
        with suppress(click.UsageError, UnreadableError, OSError):
            out = destination(model, options.output)
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
