"""The command line.

Only click is imported here; each command imports what it needs when it runs, so that help and
usage errors cost little.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from trtlint import __version__
from trtlint.commands.arguments import (
    BUILD,
    PREVIEW,
    RULES,
    SELECTORS,
    build_file_options,
    build_files,
    build_options,
    target,
    target_options,
)
from trtlint.commands.convertoptions import convert_command
from trtlint.commands.dryoptions import LintCommand, dry_options, take_dry_options
from trtlint.commands.epoptions import ep_options, take_ep_options
from trtlint.commands.fixoptions import fix_options, given
from trtlint.commands.group import Main
from trtlint.commands.measureoptions import measure_options
from trtlint.commands.starting import doctor, init
from trtlint.commands.torchoptions import take_torch_options, torch_options
from trtlint.policy.options import LintOptions
from trtlint.report.formats import FORMATS

_HELP = {"help_option_names": ["-h", "--help"]}


@click.group(cls=Main, context_settings=_HELP, no_args_is_help=True)
@click.version_option(__version__, message="trtlint %(version)s")
def cli() -> None:
    """Tell what TensorRT will get wrong, refuse or run slowly in an ONNX model, before it is built.

    Anything you don't specify is treated as unknown. trtlint counts the findings that depend on it and
    names the option that would decide them.

    \b
    trtlint model.onnx --trt 10.7
    trtlint models/ --trt 10.7..11.4 --gpu L4 --fp16
    trtlint upgrade model.onnx --from 8.6 --to 11.4 --build build.sh
    trtlint rule ACC102
    """  # noqa: D301 - click's mark of lines that stay


@cli.command(cls=LintCommand, context_settings=_HELP, short_help="Lint models; what `trtlint PATH...` does.")
@click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path())
@target
@RULES
@click.option("--select", multiple=True, metavar="RULE,...", help=f"Only these: {SELECTORS}")
@click.option(
    "--extend-select",
    multiple=True,
    metavar="RULE,...",
    help="Run these rules in addition to the configured ones.",
)
@click.option("--ignore", multiple=True, metavar="RULE,...", help=f"Not these: {SELECTORS}")
@PREVIEW
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Format of the report on standard output (default: full).",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="FORMAT[:FILE]",
    help="Write another report in this format, to a file or to standard output; repeatable.",
)
@click.option(
    "--source-root",
    metavar="DIR",
    help="Folder below which the exported Python code lies, if the exporter's paths do not say so.",
)
@click.option("--statistics", is_flag=True, help="Also count models and places for each rule.")
@click.option(
    "-q", "--quiet", is_flag=True, help="Print findings and errors only; for several models, one line each."
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    help="Lowest severity that makes the command fail (default: error).",
)
@click.option(
    "--min-confidence",
    type=click.Choice(["confirmed", "high", "medium", "low"]),
    help="Hide findings below this confidence; they are still counted (default: low).",
)
@click.option(
    "--ranges",
    multiple=True,
    metavar="FILE",
    help="What `trtlint measure` wrote of a model; repeatable.",
)
@click.option("--weights", is_flag=True, help="Also read all weights: NaN, infinity, what FP16 cannot hold.")
@BUILD
@build_file_options
@dry_options
@torch_options
@ep_options
@click.option("--config", metavar="FILE", help="Use this configuration instead of the nearest to each model.")
@click.option("--isolated", is_flag=True, help="Ignore configurations and the suppressions in models.")
@click.option("--show-settings", is_flag=True, help="Print the settings of each file, and lint nothing.")
@click.option("--baseline", metavar="FILE", help="Ignore findings recorded in this file.")
@click.option("--write-baseline", metavar="FILE", help="Record all findings in this file as known.")
@click.option("--update-baseline", is_flag=True, help="Remove findings from the baseline that are gone.")
@click.option("--exit-zero", is_flag=True, help="Return exit code 0, also with findings.")
@click.option("--show-conditional", is_flag=True, help="Also show findings that depend on unset options.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=0),
    default=1,
    metavar="N",
    help="Number of worker processes (0: one per CPU; default: 1).",
)
@click.option("--executor", metavar="dask://HOST:PORT", help="Lint on the workers of a Dask cluster.")
@click.option("--cache/--no-cache", default=True, help="Reuse results of earlier runs, and keep new ones.")
@click.option("--cache-dir", metavar="DIR", help="Folder for these results.")
@click.option("--require-lfs", is_flag=True, help="Fail on Git LFS pointers instead of skipping them.")
@click.option(
    "--explain-miss", nargs=2, metavar="RULE NODE", help="Explain why a rule does not report a node."
)
def lint(**options: Any) -> int:
    """Lint ONNX files, and folders searched for them.

    Exit code: 0 clean, 1 findings at or above --fail-on, 2 wrong usage or rule file, 3 a file that
    cannot be read or not searched to the end, 4 a bug in trtlint.
    """
    from trtlint.commands.lint import run_lint

    target = target_options(options)
    left = build_files(options)
    torch = take_torch_options(options)
    if not options["paths"] and not left and torch.build is None:
        raise click.UsageError("no path given: trtlint PATH... (see trtlint --help)")
    dry, format_ = take_dry_options(options), options.pop("format_")
    ep = take_ep_options(options)
    return run_lint(
        LintOptions(left=left, target=target, dry=dry, torch=torch, ep=ep, format=format_, **options)
    )


@cli.command(context_settings=_HELP, short_help="Rewrite models so that findings are gone.")
@click.argument("paths", nargs=-1, required=True, metavar="MODEL...")
@click.option(
    "-o", "--output", metavar="FILE", help="The fixed model (default: MODEL.fixed.onnx, beside the model)."
)
@target
@RULES
@click.option("--select", multiple=True, metavar="RULE,...", help=f"Only these: {SELECTORS}")
@click.option("--ignore", multiple=True, metavar="RULE,...", help=f"Not these: {SELECTORS}")
@PREVIEW
@fix_options
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    default=None,
    help="Mildest finding left that gives exit code 1 (default: error).",
)
@BUILD
@build_file_options
@ep_options
@click.option("--config", metavar="FILE", help="Use this configuration instead of the nearest to each model.")
@click.option("--isolated", is_flag=True, help="Ignore configurations and the suppressions in models.")
def fix(**options: Any) -> int:
    """Rewrite ONNX models so that findings are gone, and write them beside their sources.

    Each rewrite is linted again; one whose finding stays, or that brings another as grave, is taken
    back. One with which the whole model is invalid, or worse in --verify, is withdrawn alone. The source
    is never changed, and weights are copied as they are.

    Exit code: 0 nothing left at or above --fail-on, 1 findings left, or what --verify or
    --verify-build was to prove could not be told, 2 wrong usage or inputs, 3 a file that cannot be
    read, or is not written, 4 a bug in trtlint.

    \b
    trtlint fix model.onnx -o fixed.onnx --trt 10.7 --gpu L4 --diff
    """  # noqa: D301 - click's mark of lines that stay
    from trtlint.commands.fix import run_fix
    from trtlint.commands.fixrequest import FixOptions

    own = given(options)
    as_json = options.pop("format_") == "json"
    ep = take_ep_options(options)
    lint = LintOptions(target=target_options(options), left=build_files(options), ep=ep, **options)
    return run_fix(FixOptions(lint, as_json=as_json, **own))


@cli.command(context_settings=_HELP, short_help="Say what moving models to another version changes.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--from", "first", required=True, metavar="VERSION", help="The version in use, such as 8.6.")
@click.option("--to", "last", metavar="VERSION", help="The version to move to (default: the newest known).")
@click.option("--product", type=click.Choice(["tensorrt", "tensorrt-rtx"]), default="tensorrt")
@build_options
@BUILD
@RULES
@click.option("--select", multiple=True, metavar="RULE,...", help=f"Only these: {SELECTORS}")
@click.option("--ignore", multiple=True, metavar="RULE,...", help=f"Not these: {SELECTORS}")
@PREVIEW
@click.option("--format", "format_", type=click.Choice(["text", "json", "markdown", "html"]), default="text")
@click.option("--output", "outputs", multiple=True, metavar="FORMAT:FILE", help="Also to a file; repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    default="never",
    help="Mildest finding about the graph at the end of the way that gives exit code 1.",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Only the matrix of refusals, what models have in common, and a line for each.",
)
@click.option("--config", metavar="FILE", help="Use this configuration instead of the nearest to each model.")
@click.option("--isolated", is_flag=True, help="Ignore configurations and the suppressions in models.")
@click.option("--show-conditional", is_flag=True, help="Also show findings that depend on unset options.")
def upgrade(**options: Any) -> int:
    """Say what moving ONNX models from one version to another changes, step by step.

    What is fixed, what newly breaks, what must change in the graph, in the build command and in the
    code that runs the engine, and which version of the range is the safest for the model.

    \b
    trtlint upgrade model.onnx --from 8.6 --to 11.4 --gpu L4 --build build.sh
    """  # noqa: D301 - click's mark of lines that stay
    from trtlint.commands.upgrade import UpgradeOptions, run_upgrade

    target = target_options({"trt": (), "rtx": (), **options})
    kept = set(UpgradeOptions.__dataclass_fields__) & set(options)
    return run_upgrade(
        UpgradeOptions(target=target, format=options["format_"], **{key: options[key] for key in kept})
    )


@cli.command(cls=LintCommand, context_settings=_HELP, short_help="Tell what FP16 does to a model, on a CPU.")
@click.argument("model", metavar="MODEL")
@measure_options
@target
@click.option("-o", "--output", metavar="FILE", help="Also write the measurement to this file, as JSON.")
@click.option("--format", "format_", type=click.Choice(["text", "json", "html"]), default="text")
def measure(**options: Any) -> int:
    """Tell what FP16 does to a model: ranges of its tensors, the error at its outputs, what to keep in FP32.

    The model is run on the CPU with ONNX Runtime (pip install 'trtlint[measure]'), no GPU is needed.

    \b
    trtlint measure model.onnx --inputs batch.npz -o ranges.json

    Exit code: 0 the outputs are good in every build, 1 they are not or it depends on the build, 2 wrong
    usage or inputs, 3 the model cannot be read, run or measured, 4 a bug in trtlint.
    """  # noqa: D301 - click's mark of lines that stay
    from trtlint.commands.measure import MeasureOptions, run_measure

    return run_measure(
        MeasureOptions(target=target_options(options), format=options.pop("format_"), **options)
    )


cli.add_command(convert_command)


@cli.command(context_settings=_HELP, short_help="Show what trtlint sees in a model.")
@click.argument("paths", metavar="PATH...", nargs=-1)
@build_file_options
@BUILD
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only facts of this kind; repeatable.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
def facts(**options: Any) -> int:
    """Show the facts of an ONNX file, and of what a build of it left behind: what rules look at.

    With the layers of the engine, also where each node went: layer, precision, format and time.
    """
    from trtlint.commands.facts import run_facts

    given, paths = build_files(options), options["paths"]
    if not paths and not given:
        raise click.UsageError("no path given: trtlint facts PATH... (see trtlint facts --help)")
    as_json = options["format_"] == "json"
    return run_facts(paths, options["kinds"], given, as_json=as_json, command=options["build"])


@cli.command(context_settings=_HELP, short_help="List the rules.")
@click.argument("selectors", nargs=-1, metavar="[RULE,...]...")
@RULES
@click.option("--statistics", is_flag=True, help="Count them, by group, ground, evidence and so on.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
def rules(selectors: tuple[str, ...], rules: tuple[str, ...], *, statistics: bool, format_: str) -> int:
    """List the rules: what they find, how grave it is, for which versions, and on what they rest.

    All of them, those in preview included, or those that ids, id prefixes, names or groups select:
    `trtlint rules ACC PERF104 memory`.
    """
    from trtlint.commands.rules import run_rules

    return run_rules(selectors, rules, statistics=statistics, as_json=format_ == "json")


@cli.command(context_settings=_HELP, short_help="Explain a rule.")
@click.argument("key", metavar="ID|NAME")
@RULES
def rule(key: str, rules: tuple[str, ...]) -> int:
    """Explain a rule: what it does, why it is a risk, which versions, how to fix it."""
    from trtlint.commands.rules import run_rule

    return run_rule(key, rules)


@cli.command(context_settings=_HELP, short_help="Write into a copy of a model that a finding is accepted.")
@click.argument("model", metavar="MODEL")
@click.argument("rule", metavar="RULE")
@click.option("--node", metavar="GLOB", help="Only at these nodes; `*` is any characters.")
@click.option("--module", metavar="GLOB", help="Only in these modules, such as 'blocks.*.attn'.")
@click.option("--reason", required=True, metavar="TEXT", help="Why it is accepted.")
@click.option("--expires", metavar="DATE", help="The last day on which it is, as in 2027-03-31.")
@click.option("--output", "-o", required=True, metavar="FILE", help="The copy.")
@RULES
def suppress(**options: Any) -> int:
    """Write a copy of MODEL whose metadata says that RULE's findings are accepted, and why.

    RULE is an id, an id prefix, a name or a group. Weights are copied as they are, whatever they take; the
    entry is JSON under the metadata key trtlint.suppress. Reports go on counting what is accepted.

    \b
    trtlint suppress vit.onnx ACC102 --module 'blocks.*.attn' --reason 'measured' -o copy.onnx
    """  # noqa: D301 - click's mark of lines that stay
    from trtlint.commands.suppress import SuppressOptions, run_suppress

    return run_suppress(SuppressOptions(**options))


@cli.command(context_settings=_HELP, short_help="Compare two scans of many models.")
@click.argument("earlier", metavar="EARLIER")
@click.argument("later", metavar="LATER")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    default="error",
    help="Mildest new finding that gives exit code 1 (default: error).",
)
def trend(earlier: str, later: str, format_: Any, fail_on: Any) -> int:
    """Tell which findings are new and which are gone between two scans.

    EARLIER and LATER are what lint wrote with --output jsonl:FILE or --output parquet:FILE.

    Exit code: 0 nothing new, 1 new findings at or above --fail-on, 3 a file that cannot be read.
    """
    from trtlint.commands.trend import run_trend

    return run_trend(earlier, later, format=format_, fail_on=fail_on)


@cli.command(context_settings=_HELP, short_help="Write a copy of a model without its weights.")
@click.argument("model", metavar="MODEL")
@click.option("--output", "-o", metavar="FILE", help="The copy; MODEL.skeleton.onnx beside it by default.")
@click.option("--hide-names", is_flag=True, help="Replace the words in names; leave out texts and metadata.")
def skeleton(model: str, output: str | None, *, hide_names: bool) -> int:
    """Write a copy of MODEL without its weights, to show a wrong or missed finding to others.

    The graph, types and shapes stay, and small tensors: whole numbers of at most a kilobyte, up to 16
    other numbers. Names of operators stay in any case.
    """
    from trtlint.commands.skeleton import run_skeleton

    return run_skeleton(model, output, hide_names=hide_names)


@cli.command(context_settings=_HELP, short_help="Run the examples of rule files.")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
def test(paths: tuple[str, ...]) -> int:
    """Run the examples in rule files, trtlint's own if no path is given.

    Exit code: 0 all hold, 1 one fails, 2 a rule file is wrong.
    """
    from trtlint.commands.examples import run_examples

    return run_examples(paths)


cli.add_command(init)
cli.add_command(doctor)


def run(args: Sequence[str]) -> int:
    """Run the command line; every error becomes one line on standard error and an exit code."""
    from trtlint.commands.ending import ended

    return ended(lambda: cli.main(list(args), prog_name="trtlint", standalone_mode=False))
