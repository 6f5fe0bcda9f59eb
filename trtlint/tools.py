"""Python functions for facts, missed findings, report files, suppressions, skeletons and trends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trtlint.arguments import read_local, read_one
from trtlint.cases import AnyPath, Keywords, one_case
from trtlint.engine.rulebook import load_builtin
from trtlint.errors import ArgumentError, SettingError
from trtlint.facts.kinds import ground_of, kinds
from trtlint.knowledge.nearest import did_you_mean
from trtlint.model.sources import Sources
from trtlint.policy.failing import counts
from trtlint.target.target import Target

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from trtlint.engine.finding import Report
    from trtlint.facts.base import Fact
    from trtlint.report.trend import Trend


def find_facts(
    model: AnyPath | Any,
    *names: str,
    target: Target | Sequence[Target] | None = None,
    **keywords: Unpack[Keywords],
) -> tuple[Fact, ...]:
    """Return the facts that rules match, as ``trtlint facts`` shows them.

    Args:
        model: a path, or a model in memory.
        *names: kinds of facts, such as ``"attention"``; by default, all kinds of the given data.
        target: the target, instead of keywords such as ``trt``.
        **keywords: as in :func:`trtlint.lint`.  Build files add facts about the build.

    Raises:
        ModelError, OSError: the model cannot be read.
        ArgumentError, SettingError, FileError: as in :func:`trtlint.lint`.
    """
    for name in names:
        if name not in kinds():
            raise ArgumentError(f"unknown kind of facts {name!r}{did_you_mean(name, kinds())}")
    case = one_case(model, target, keywords).case
    if any(ground_of(name) == "weights" for name in names):
        case = replace(case, weights=True)
    found = case.facts()
    there = names or [name for name in kinds() if ground_of(name) in found.grounds]
    return tuple(fact for name in there for fact in found.of(name))


def explain_miss(
    model: AnyPath | Any,
    rule: str,
    node: str,
    *,
    target: Target | Sequence[Target] | None = None,
    **keywords: Unpack[Keywords],
) -> tuple[str, ...]:
    """Explain why a rule does not report a node, for the first target.

    Args:
        model: a path, or a model in memory.
        rule: id or name of the rule.
        node: path of the node, as findings show it.
        target: the target, instead of keywords such as ``trt``.
        **keywords: as in :func:`trtlint.lint`.

    Returns:
        Lines of text.

    Raises:
        SettingError: there is no such rule.
        ModelError, OSError: the model cannot be read.
        ArgumentError, FileError: as in :func:`trtlint.lint`.
    """
    from trtlint.engine.explain import explain_miss as explained

    opened = one_case(model, target, keywords).case.open()
    chosen = next((each for each in opened.case.rules if rule in (each.id, each.name)), None)
    if chosen is None:
        raise SettingError(f"no rule {rule!r} is selected")
    first = opened.case.built_for[0]
    return tuple(explained(chosen.read(), opened.facts(first), first, node))


def write_report(report: Report, format: str, file: AnyPath) -> None:
    """Write a report to a file, in a format of ``trtlint --output``, such as ``"sarif"`` or ``"html"``.

    Raises:
        SettingError: the format is unknown, or the file cannot be written.
        OSError: the file cannot be written.
    """
    from trtlint.report.formats import Style
    from trtlint.report.notebook import facts_of_file
    from trtlint.report.outputs import Outputs, parse

    paths = dict.fromkeys(model.path for model in report.models)
    style = Style(
        files=len(paths),
        rules=load_builtin().entries,
        root=Sources().root,
        protected=[*map(Path, paths)],
        look=facts_of_file,
    )
    outputs = Outputs(parse([f"{format}:{read_one('out', file)}"], None, quiet=True), style, sys.stdout)
    for path in paths:
        outputs.add([each for each in report.models if each.path == path], partial(counts, fail_on="error"))
    outputs.close(report.notes)


def suppress(
    model: AnyPath,
    rule: str,
    *,
    reason: str,
    out: AnyPath,
    node: str | None = None,
    module: str | None = None,
    expires: str | None = None,
) -> Path:
    """Write a copy of a model whose metadata suppress a finding and state the reason.

    Args:
        model: the file.
        rule: id, id prefix, name or group of the rules.
        reason: the reason why the finding is accepted.
        out: the copy to write.
        node: glob of the nodes at which the finding is accepted; by default all nodes.
        module: glob of the modules in which the finding is accepted; by default all modules.
        expires: the last day of the suppression, such as ``"2027-03-31"``.

    Returns:
        The path of the copy.

    Raises:
        SettingError: no rule, node or module matches, or the copy cannot be written.
        ModelError: the model cannot be read.
    """
    from trtlint.policy.suppressing import SuppressOptions
    from trtlint.policy.suppressing import suppress as written

    path, copy = read_local("model", model), Path(read_one("out", out))
    written(SuppressOptions(str(path), rule, reason, str(copy), node, module, expires), load_builtin())
    return copy


def skeleton(model: AnyPath, out: AnyPath, *, hide_names: bool = False) -> Path:
    """Write a copy of a model without its weights, to share the model with others.

    Args:
        model: the file.
        out: the copy to write.
        hide_names: True to replace the names in the model by neutral names.

    Raises:
        ModelError: the model cannot be read.
        OSError: the copy cannot be written.
    """
    from trtlint.files.limits import limit_work
    from trtlint.files.replace import replacing
    from trtlint.model.outline import outline

    path, copy = read_local("model", model), Path(read_one("out", out))
    with limit_work(path):
        data = outline(path, hide_names=hide_names).SerializeToString()
    with replacing(copy, [path]) as file:
        file.write(data)
    return copy


def trend(earlier: AnyPath, later: AnyPath) -> Trend:
    """Return the new and removed findings between two scans.

    Args:
        earlier: the first scan, from ``trtlint --output jsonl:FILE`` or ``parquet:FILE``.
        later: the second scan.

    Raises:
        FileError: a file is not a scan.
    """
    from trtlint.report.trend import compare, read_rows

    return compare(read_rows(read_local("earlier", earlier)), read_rows(read_local("later", later)))
