"""Names of command-line options that differ from the keywords of the Python API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trtlint.errors import ArgumentError
from trtlint.knowledge.nearest import did_you_mean

_REPORT = "use trtlint.write_report for a report, and out= of trtlint.fix and trtlint.convert for a model"

OTHERWISE: Mapping[str, str] = {
    "build": "use command=",
    "config": "functions of the Python API ignore configuration files",
    "fail_on": "only trtlint.check has fail_on=",
    "from": "trtlint.upgrade has first=",
    "noTF32": "use tf32=False",
    "to": "trtlint.upgrade has last=, and trtlint.convert has to=",
    "show_conditional": "see ModelReport.conditional",
    "explain_miss": "use trtlint.explain_miss",
    **dict.fromkeys(("o", "output", "format", "html"), _REPORT),
    **dict.fromkeys(("write_baseline", "update_baseline"), "only the command line writes baselines"),
    **dict.fromkeys(("inputs", "load_inputs"), "only trtlint.measure and trtlint.convert have this keyword"),
    "data_loader_script": "only trtlint.measure has this keyword",
    **dict.fromkeys(("dry_run", "verify_build"), "only trtlint.convert has this keyword"),
    **dict.fromkeys(
        (
            "cache", "cache_dir", "no_cache", "diff", "executor", "exit_zero", "jobs",
            "network_script", "no_dry_build", "quiet", "require_lfs", "script", "show_settings",
            "source_root", "statistics",
        ),
        "only the command line has this option",
    ),
}  # fmt: skip
"""Options of the command line that are not keywords of a function, each with a remedy.

The names have ``_`` in place of ``-``.
"""


def unknown_keyword(name: str, known: Iterable[str]) -> ArgumentError:
    """Return the error for a keyword that a function does not have.

    Args:
        name: the keyword.
        known: the keywords of the function.
    """
    known = [*known]
    positive = name.removeprefix("no_")
    if name in OTHERWISE:
        hint = f"; {OTHERWISE[name]}"
    elif name != positive and positive in known:
        hint = f"; use {positive}=False"
    else:
        hint = did_you_mean(name, known)
    return ArgumentError(f"no keyword {name!r}{hint}")
