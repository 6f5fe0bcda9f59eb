"""Group command-line options, for ``--help`` and the command reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import click

from trtlint.knowledge.nearest import nearest
from trtlint.runs.evidencefiles import EVIDENCE_FILES

GROUPS: Mapping[str, Sequence[str]] = {
    "Target": (
        *("trt", "rtx", "gpu", "first", "last", "product", "fp16", "bf16", "int8", "fp8", "best"),
        *("strongly_typed", "tf32", "plugins", "build"),
    ),
    "Rules": ("select", "extend_select", "ignore", "min_confidence", "preview", "rules", "explain_miss"),
    "Output": (
        *("format_", "output", "outputs", "quiet", "show_conditional", "statistics", "diff", "dry_run"),
        "source_root",
        *("fail_on", "exit_zero"),
    ),
    "Evidence": ("log", "layers", "profile", "inputs", *(kind.name for kind in EVIDENCE_FILES), "weights"),
    "Dry build": ("dry_build", "dry_parse", "no_dry_build", "compare", "shapes", "rtx_path"),
    "ONNX Runtime": ("ep", "ep_options"),
    "Torch-TensorRT": ("torch_tensorrt", "torch_python", "torch_wheel", "trust_pickle"),
    "Configuration": (
        *("config", "isolated", "show_settings", "baseline", "write_baseline", "update_baseline"),
        *("reason", "expires"),
    ),
    "Execution": ("jobs", "executor", "cache", "cache_dir", "require_lfs"),
}
"""Parameter names of the options in each group, the most common options first."""
OTHER = "Options"
"""The group of the options that belong to none of the groups in ``GROUPS``."""
_PREFIXES = {"dry_": "Dry build", "verify": "Evidence"}
"""The group of an option that ``GROUPS`` does not list, by the beginning of its parameter name."""


def group_of(option: click.Option) -> str:
    """Return the name of the group that an option belongs to."""
    name = option.name or ""
    for group, names in GROUPS.items():
        if name in names:
            return group
    return next((group for prefix, group in _PREFIXES.items() if name.startswith(prefix)), OTHER)


def grouped(params: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the options of a command by group, the most common groups first."""
    found: dict[str, list[click.Option]] = {group: [] for group in (*GROUPS, OTHER)}
    for param in params:
        if isinstance(param, click.Option):
            found[group_of(param)].append(param)
    for group, options in found.items():
        names = list(GROUPS.get(group, ()))
        options.sort(key=lambda option: names.index(option.name) if option.name in names else len(names))
    return {group: options for group, options in found.items() if options}


def shown_groups(params: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the options by group, in the order of the help.

    A command with few options has a single group.
    """
    groups = grouped(params)
    if sum(map(len, groups.values())) > _FEW:
        return groups
    return {OTHER: [option for options in groups.values() for option in options]}


def write_groups(
    params: Iterable[click.Parameter], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write a help section for each group of options.

    A command with few options has a single section.
    """
    for group, options in shown_groups(params).items():
        records = (option.get_help_record(ctx) for option in options)
        shown = [record for record in records if record is not None]
        if shown:
            with formatter.section(group):
                formatter.write_dl(shown)


_FEW = 12
"""Largest number of options that a help shows without groups."""


_SIMILAR = 0.6
"""Minimum similarity of an option that the message about an unknown option suggests."""
_PATH = re.compile(r"(?!.*=).*\b(FILE|DIR|PATH|MODEL|EARLIER|LATER)\b")
"""Pattern of the metavars of paths, but not of options with an optional value such as ``[=FILE.npz]``."""


class GroupedCommand(click.Command):
    """A command whose help shows its options in groups."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            click.UsageError: an option does not exist, or a path is empty.  Path('') is the current folder,
                which the user did not name.
        """
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            # click also compares the dashes, so it suggests --best and --int8 for --quiet.
            names = {each.lstrip("-"): each for each in error.possibilities or ()}
            near = nearest(error.option_name.lstrip("-"), names, count=len(names) or 1, cutoff=_SIMILAR)
            possible = [names[name] for name in near]
            raise click.NoSuchOption(error.option_name, possibilities=possible, ctx=error.ctx) from None
        for param in self.params:
            given = ctx.params.get(param.name or "")
            empty = given == "" or (isinstance(given, tuple) and "" in given)
            if empty and _PATH.match(param.make_metavar(ctx)):
                name = param.opts[0] if isinstance(param, click.Option) else "a path"
                raise click.UsageError(f"{name} is empty; check that your shell variable is set", ctx)
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups."""
        write_groups(self.get_params(ctx), ctx, formatter)
