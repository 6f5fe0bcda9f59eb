"""``trtlint skeleton``: write a copy of a model without its weights, to share the model with others."""

from __future__ import annotations

from pathlib import Path

import click

from trtlint.files.limits import limit_work
from trtlint.files.problem import Problem, UnreadableError
from trtlint.files.replace import replacing, require_output
from trtlint.model.outline import outline, require_no_weights
from trtlint.remote.addresses import require_local
from trtlint.report.escape import clean
from trtlint.runs.exits import Exit
from trtlint.runs.progress import Activity


def run_skeleton(model: str, output: str | None, *, hide_names: bool) -> int:
    """Write the copy without weights and return the exit code."""
    require_local([model])
    path = Path(model)
    out = path.parent / f"{path.stem}.skeleton.onnx" if output is None else Path(output)
    require_output(out, [path], "the skeleton to")
    try:
        with Activity(f"copying {path.name}"), limit_work(path):
            require_no_weights(path, out)
            data = outline(path, hide_names=hide_names).SerializeToString()
    except (UnreadableError, OSError) as error:
        click.echo(f"trtlint: {clean(str(Problem.of(path, error)))}", err=True)
        return Exit.UNREADABLE
    with replacing(out, [path]) as file:
        file.write(data)
    hidden = "names hidden" if hide_names else "names unchanged"
    click.echo(clean(f"{out}: {len(data):,} bytes, no weights, {hidden}"))
    return Exit.CLEAN
