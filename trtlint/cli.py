"""Command line of trtlint.

Only click is imported here. Each command imports its modules when it runs, so help and usage errors are fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from trtlint import __version__
from trtlint.commands.arguments import (
    BUILD,
    CONFIGURATION,
    PREVIEW,
    RULES,
    SELECTORS,
    SHOW_CONDITIONAL,
    TARGET,
    build_file_options,
    build_files,
    build_options,
    evidence_files,
    fail_on_option,
    target_options,
)
from trtlint.commands.convertoptions import convert_command
from trtlint.commands.dryoptions import LintCommand, take_dry_options
from trtlint.commands.epoptions import ep_options, take_ep_options
from trtlint.commands.fixoptions import fix_options, take_fix_options
from trtlint.commands.group import Main
from trtlint.commands.lintoptions import lint_options
from trtlint.commands.measureoptions import measure_options
from trtlint.commands.reportoptions import report_options, result_option, take_lint_outputs, take_outputs
from trtlint.commands.torchoptions import take_torch_options
from trtlint.errors import SettingError
from trtlint.policy.options import LintOptions
from trtlint.report.formats import ROWS


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, message="trtlint %(version)s")
def cli() -> None:
    """Find the parts of an ONNX model that TensorRT will compute wrongly, reject or run slowly.

    Anything you don't specify is unknown to trtlint. The report counts the findings that depend on it and
    names the options that would decide them.

    \b
    trtlint model.onnx --trt 10.7
    trtlint models/ --trt 10.7..11.4 --gpu L4 --fp16
    trtlint upgrade model.onnx --from 8.6 --to 11.4 --build build.sh
    trtlint rule ACC102
    """  # noqa: D301 - click keeps the line breaks after \b


@cli.command(cls=LintCommand, short_help="Lint models (the default command).")
@click.argument("paths", nargs=-1, metavar="PATH...", type=click.Path())
@TARGET
@RULES
@lint_options
def lint(**options: Any) -> int:
    """Lint ONNX files and all ONNX files in folders.

    Exit code: 0 clean, 1 findings at or above --fail-on, 2 invalid usage or rule file, 3 a file that
    cannot be read or searched completely, 4 a bug in trtlint.
    """
    from trtlint.commands.lint import run_lint

    target = target_options(options)
    files = build_files(options)
    torch = take_torch_options(options)
    if not options["paths"] and not files and torch.build is None:
        raise SettingError("no path given: trtlint PATH... (see trtlint --help)")
    dry, ep, outputs = take_dry_options(options), take_ep_options(options), take_lint_outputs(options)
    revisions = any(output.format in ROWS for output in outputs)
    evidence = evidence_files(options)
    given = LintOptions(
        build_files=files,
        evidence=evidence,
        target=target,
        dry=dry,
        torch=torch,
        ep=ep,
        revisions=revisions,
        **options,
    )
    return run_lint(given, outputs)


@cli.command(short_help="Apply automatic fixes to models.")
@click.argument("paths", nargs=-1, required=True, metavar="MODEL...")
@report_options("Write the fixed model to this file, or to this folder (default: MODEL.fixed.onnx).")
@TARGET
@RULES
@click.option("--select", multiple=True, metavar="RULE,...", help=f"Fix only these rules: {SELECTORS}")
@click.option("--ignore", multiple=True, metavar="RULE,...", help=f"Skip these rules: {SELECTORS}")
@PREVIEW
@fix_options
@fail_on_option("Fail if a finding of at least this severity remains (default: error).", None)
@BUILD
@build_file_options
@ep_options
@CONFIGURATION
def fix(**options: Any) -> int:
    """Apply automatic fixes to ONNX models and write the fixed copies.

    trtlint lints the model again after each rewrite. It reverts a rewrite that does not remove its
    finding, causes a finding of the same or a higher severity, makes the model invalid, or fails
    --verify. The original model is never changed, and weights are copied unchanged.

    Exit code: 0 no remaining finding at or above --fail-on, 1 such findings remain, or a check
    (--verify, --verify-build) was inconclusive, 2 invalid usage or inputs, 3 a file cannot be read or
    written, 4 a bug in trtlint.

    \b
    trtlint fix model.onnx -o fixed.onnx --trt 10.7 --gpu L4 --diff
    """  # noqa: D301 - click keeps the line breaks after \b
    from trtlint.commands.fix import FixOptions, run_fix

    outputs = take_outputs(options)
    own = take_fix_options(options)
    ep = take_ep_options(options)
    lint = LintOptions(
        target=target_options(options),
        build_files=build_files(options),
        evidence=evidence_files(options),
        ep=ep,
        **options,
    )
    return run_fix(FixOptions(lint, outputs=outputs, **own))


@cli.command(short_help="Report what an upgrade of TensorRT changes for models.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--from", "first", required=True, metavar="VERSION", help="Current version, such as 8.6.")
@click.option("--to", "last", metavar="VERSION", help="New version (default: the newest known).")
@click.option(
    "--product",
    type=click.Choice(["tensorrt", "tensorrt-rtx"]),
    default="tensorrt",
    help="Product that both versions belong to (default: tensorrt).",
)
@build_options
@BUILD
@RULES
@click.option("--select", multiple=True, metavar="RULE,...", help=f"Run only these rules: {SELECTORS}")
@click.option("--ignore", multiple=True, metavar="RULE,...", help=f"Skip these rules: {SELECTORS}")
@PREVIEW
@report_options()
@fail_on_option(
    "Fail if the new version has a finding about the graph of at least this severity (default: never).",
    "never",
)
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="For one model, print a summary instead of the details. Several models always get a summary.",
)
@CONFIGURATION
@SHOW_CONDITIONAL
def upgrade(**options: Any) -> int:
    """Report what an upgrade of TensorRT changes for ONNX models, version by version.

    The report lists fixed and new problems, and the changes that the graph, the build command and the
    runtime code need. The report recommends the safest version of the range.

    \b
    trtlint upgrade model.onnx --from 8.6 --to 11.4 --gpu L4 --build build.sh
    trtlint upgrade build.py program.pt2 --from 2.7 --to 2.14   # Torch-TensorRT
    """  # noqa: D301 - click keeps the line breaks after \b
    from trtlint.commands.upgrade import UpgradeOptions, run_upgrade

    outputs = take_outputs(options)
    own = {name: options.pop(name) for name in ("first", "last", "product", "fail_on")}
    options |= {"trt": (), "rtx": ()}
    lint = LintOptions(target=target_options(options), **options)
    return run_upgrade(UpgradeOptions(lint, outputs=outputs, **own))


@cli.command(cls=LintCommand, short_help="Measure the effect of FP16 on a model, on the CPU.")
@click.argument("model", metavar="MODEL")
@measure_options
@TARGET
@report_options("Also write the measurement to this file, as JSON.")
def measure(**options: Any) -> int:
    """Measure the effect of FP16 on a model: tensor ranges, output errors, and nodes to keep in FP32.

    trtlint runs the model on the CPU with ONNX Runtime; no GPU is needed. trtlint doctor shows how to install
    ONNX Runtime.

    \b
    trtlint measure model.onnx --inputs batch.npz -o ranges.json

    Exit code: 0 all outputs are within tolerance in every build, 1 an output exceeds the tolerance in at
    least one build, 2 invalid usage or inputs, 3 the model cannot be read, run or measured, 4 a bug in
    trtlint.
    """  # noqa: D301 - click keeps the line breaks after \b
    from trtlint.commands.measure import MeasureOptions, run_measure

    outputs = take_outputs(options)
    return run_measure(MeasureOptions(target=target_options(options), outputs=outputs, **options))


cli.add_command(convert_command)


@cli.command(
    short_help="Show the facts that trtlint finds in a model, such as attention blocks and foldable nodes.",
)
@click.argument("paths", metavar="PATH...", nargs=-1)
@build_file_options
@BUILD
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help="Show only facts of this kind; repeatable."
)
@report_options()
def facts(**options: Any) -> int:
    """Show the facts in an ONNX file and in the files of its build. Rules match these facts.

    With engine layers (--layers), also show the layer, precision, format and time of each node.
    """
    from trtlint.commands.facts import run_facts

    given, paths = build_files(options), options["paths"]
    if not paths and not given:
        raise SettingError("no path given: trtlint facts PATH... (see trtlint facts --help)")
    outputs = take_outputs(options)
    return run_facts(paths, options["kinds"], given, outputs=outputs, command=options["build"])


@cli.command(short_help="List the rules.")
@click.argument("selectors", nargs=-1, metavar="[RULE,...]...")
@RULES
@click.option("--statistics", is_flag=True, help="Count the rules by group, evidence and other properties.")
@report_options()
def rules(selectors: tuple[str, ...], rules: tuple[str, ...], *, statistics: bool, **options: Any) -> int:
    """List the rules with their severity, versions, evidence and summary.

    Without arguments, list all rules, including preview rules. Select rules by id, id prefix, name or
    group: `trtlint rules ACC PERF104 memory`.
    """
    from trtlint.commands.rules import run_rules

    return run_rules(selectors, rules, statistics=statistics, outputs=take_outputs(options))


@cli.command(short_help="Explain a rule.")
@click.argument("key", metavar="ID|NAME")
@RULES
def rule(key: str, rules: tuple[str, ...]) -> int:
    """Explain a rule: what it finds, the risk, the versions and the fix."""
    from trtlint.commands.rules import run_rule

    return run_rule(key, rules)


@cli.command(short_help="Write a copy of a model, and suppress a finding in the copy.")
@click.argument("model", metavar="MODEL")
@click.argument("rule", metavar="RULE")
@click.option(
    "--node", metavar="GLOB", help="Suppress the finding only at these nodes; `*` matches any characters."
)
@click.option(
    "--module", metavar="GLOB", help="Suppress the finding only in these modules, such as 'blocks.*.attn'."
)
@click.option("--reason", required=True, metavar="TEXT", help="Reason for accepting the finding.")
@click.option("--expires", metavar="DATE", help="Last day of the suppression, such as 2027-03-31.")
@result_option("Write the copy here.", required=True)
@RULES
def suppress(**options: Any) -> int:
    """Write a copy of MODEL, and suppress the findings of RULE in the metadata of the copy.

    RULE is an id, an id prefix, a name or a group. The metadata key trtlint.suppress stores the suppression
    and its reason, as JSON. Reports still count suppressed findings. Weights of any size are copied
    unchanged.

    \b
    trtlint suppress vit.onnx ACC102 --module 'blocks.*.attn' --reason 'measured' -o copy.onnx
    """  # noqa: D301 - click keeps the line breaks after \b
    from trtlint.commands.suppress import run_suppress
    from trtlint.policy.suppressing import SuppressOptions

    return run_suppress(SuppressOptions(**options))


@cli.command(short_help="Compare two scans of many models.")
@click.argument("earlier", metavar="EARLIER")
@click.argument("later", metavar="LATER")
@report_options()
@fail_on_option("Fail if there is a new finding of at least this severity (default: error).", "error")
def trend(earlier: str, later: str, fail_on: Any, **options: Any) -> int:
    """Report new and removed findings between two scans.

    EARLIER and LATER are files that lint wrote with --output jsonl:FILE or --output parquet:FILE.

    Exit code: 0 if no new finding reaches --fail-on, 1 if one does, 3 if a file cannot be read.
    """
    from trtlint.commands.trend import run_trend

    return run_trend(earlier, later, outputs=take_outputs(options), fail_on=fail_on)


@cli.command(short_help="Write a copy of a model without its weights.")
@click.argument("model", metavar="MODEL")
@result_option("Write the copy here (default: MODEL.skeleton.onnx).")
@click.option(
    "--hide-names", is_flag=True, help="Replace names by neutral names; remove doc strings and metadata."
)
def skeleton(model: str, output: str | None, *, hide_names: bool) -> int:
    """Write a copy of MODEL without its weights, for a report of a false or missed finding.

    The copy keeps the graph, types, shapes, operator types and small tensors: integer tensors of up
    to one kilobyte, and other tensors of up to 16 elements.
    """
    from trtlint.commands.skeleton import run_skeleton

    return run_skeleton(model, output, hide_names=hide_names)


@cli.command(short_help="Run the examples of rule files.")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
def test(paths: tuple[str, ...]) -> int:
    """Run the examples in rule files (default: the built-in rules).

    Exit code: 0 all examples pass, 1 an example fails, 2 a rule file is invalid.
    """
    from trtlint.commands.examples import run_examples

    return run_examples(paths)


@cli.command(short_help="Write a trtlint.toml with your build settings.")
@TARGET
@BUILD
@result_option("Write the configuration here (default: trtlint.toml).", default="trtlint.toml")
def init(build: str | None, output: str, **options: Any) -> int:
    """Write a configuration from a build command, from options, or from three questions.

    \b
    trtlint init --trt 10.8 --gpu L4 --build 'trtexec --onnx=model.onnx --fp16'
    """  # noqa: D301 - click keeps the line breaks after \b
    from trtlint.commands.init import run_init

    return run_init(target_options(options), build, output)


@cli.command(short_help="Show the packages and tools that are installed or missing.")
def doctor() -> int:
    """Show versions, the GPU and the cache, and how to install missing packages."""
    from trtlint.commands.doctor import run_doctor

    return run_doctor()


def run(args: Sequence[str]) -> int:
    """Run the command line and return the exit code.  Each error is printed as one line."""
    from trtlint.commands.ending import ended

    return ended(lambda: cli.main(list(args), prog_name="trtlint", standalone_mode=False))
