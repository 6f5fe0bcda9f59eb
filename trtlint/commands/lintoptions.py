"""Define the options of ``trtlint lint``."""

from __future__ import annotations

import click

from trtlint.commands.arguments import (
    BUILD,
    CONFIGURATION,
    PREVIEW,
    SELECTORS,
    SHOW_CONDITIONAL,
    build_file_options,
    bundle,
    evidence_options,
    fail_on_option,
)
from trtlint.commands.dryoptions import dry_options
from trtlint.commands.epoptions import ep_options
from trtlint.commands.reportoptions import NO_RESULT
from trtlint.commands.torchoptions import torch_options
from trtlint.report.formats import FORMATS

lint_options = bundle(
    click.option("--select", multiple=True, metavar="RULE,...", help=f"Run only these rules: {SELECTORS}"),
    click.option(
        "--extend-select",
        multiple=True,
        metavar="RULE,...",
        help="Run these rules in addition to the configured ones.",
    ),
    click.option("--ignore", multiple=True, metavar="RULE,...", help=f"Skip these rules: {SELECTORS}"),
    PREVIEW,
    click.option(
        "--format",
        "format_",
        type=click.Choice(("text", *FORMATS)),
        help="Format of the report on standard output (default: text; full is another name for text).",
    ),
    NO_RESULT,
    click.option(
        "--output",
        "outputs",
        multiple=True,
        metavar="FORMAT[:FILE]",
        help="Also write a report in this format, to a file or to standard output; repeatable.",
    ),
    click.option(
        "--source-root",
        metavar="DIR",
        help="Root folder of the model's Python code, if the source paths in the model do not exist on "
        "this machine.",
    ),
    click.option(
        "--statistics", is_flag=True, help="Also print the number of models and places for each rule."
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Print only findings and errors; for several models, print one line for each model. With "
        "--output to a file, print only errors, unless --format is given.",
    ),
    fail_on_option("Lowest severity that makes the command fail (default: error).", None),
    click.option(
        "--min-confidence",
        type=click.Choice(["confirmed", "high", "medium", "low"]),
        help="Show only findings of at least this confidence, and count the hidden ones (default: low).",
    ),
    evidence_options(),
    click.option(
        "--weights",
        is_flag=True,
        help="Also check all weights for NaN, infinity and values outside the range of FP16.",
    ),
    BUILD,
    build_file_options,
    dry_options,
    torch_options,
    ep_options,
    CONFIGURATION,
    click.option("--show-settings", is_flag=True, help="Print the settings of each file, then exit."),
    click.option(
        "--baseline",
        metavar="FILE",
        help="Ignore the findings recorded in this file. New errors make the command fail; with --fail-on "
        "note, all new findings do.",
    ),
    click.option(
        "--write-baseline",
        metavar="FILE",
        help="Write all current findings to this file as a baseline; later runs with --baseline ignore them.",
    ),
    click.option(
        "--update-baseline", is_flag=True, help="Remove from the baseline the findings that no longer occur."
    ),
    click.option("--exit-zero", is_flag=True, help="Return exit code 0 even with findings."),
    SHOW_CONDITIONAL,
    click.option(
        "-j",
        "--jobs",
        type=click.IntRange(min=0),
        default=1,
        metavar="N",
        help="Number of worker processes (0: one per CPU; default: 1).",
    ),
    click.option("--executor", metavar="dask://HOST:PORT", help="Lint on the workers of a Dask cluster."),
    click.option(
        "--cache/--no-cache", default=True, help="Reuse cached results and cache new ones (default: on)."
    ),
    click.option("--cache-dir", metavar="DIR", help="Folder of the cache."),
    click.option("--require-lfs", is_flag=True, help="Fail on Git LFS pointers instead of skipping them."),
    click.option(
        "--explain-miss", nargs=2, metavar="RULE NODE", help="Explain why RULE does not report NODE."
    ),
)
