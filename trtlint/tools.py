"""Python functions for facts, missed findings, report files, suppressions, skeletons and trends."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from trtlint.arguments import read, read_local, read_one
from trtlint.case import Case
from trtlint.cases import one_case
from trtlint.engine.finding import Report
from trtlint.engine.rulebook import Rulebook, load_builtin
from trtlint.errors import ArgumentError, FileError, SettingError
from trtlint.facts.kinds import ground_of, kinds
from trtlint.files.problem import named
from trtlint.keywords import AnyPath, Keywords
from trtlint.knowledge.nearest import did_you_mean
from trtlint.model.sources import Sources
from trtlint.policy.failing import counts
from trtlint.target.target import Target

if TYPE_CHECKING:
    from typing_extensions import Unpack

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
        *names: kinds of facts, such as ``"attention"``; by default, all kinds that the given files can have.
        target: the target, instead of keywords such as ``trt``.
        **keywords: as in :func:`trtlint.lint`.  Build files add facts about the build.

    Raises:
        ModelError, OSError: the model cannot be read.
        ArgumentError, SettingError, FileError: as in :func:`trtlint.lint`.
    """
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError.of(
                "names", name, "a string such as 'attention'; pass each kind of fact separately"
            )
        if name not in kinds():
            raise ArgumentError(f"unknown kind of facts {name!r}{did_you_mean(name, kinds())}")
    case = _case(model, target, keywords)
    if any(ground_of(name) == "weights" for name in names):
        case = replace(case, weights=True)
    with named(case.path):
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

    rule, node = read_one("rule", rule), read_one("node", node)
    case = _case(model, target, keywords)
    book = load_builtin() if keywords.get("rules") is None else Rulebook(case.rules.entries)
    chosen = book.rule(rule)
    with named(case.path):
        opened = case.open()
        first = opened.case.built_for[0]
        return tuple(explained(chosen, opened.facts(first), first, node))


def _case(model: Any, target: Target | Sequence[Target] | None, keywords: Mapping[str, Any]) -> Case:
    """Return the case of one model.

    Raises:
        FileError: a build file or a program cannot be read.
        SettingError: the model is an exported program in memory.
    """
    if "torch_tensorrt" in keywords and not isinstance(model, str | os.PathLike):
        raise SettingError("model: save the exported program to a .pt2 file first")
    case = one_case(model, target, keywords).case
    for problem in case.problems:
        raise FileError(str(problem))
    return case


def write_report(report: Report, format: str, file: AnyPath) -> None:
    """Write a report to a file, in a format of ``trtlint --output``, such as ``"sarif"`` or ``"html"``.

    Raises:
        ArgumentError: ``report`` is not a report.
        SettingError: the format is unknown or cannot show this report, or the path cannot be used.
        OSError: an error occurs while the file is written.
    """
    from trtlint.report.formats import Style, known
    from trtlint.report.notebook import facts_of_file
    from trtlint.report.outputs import Outputs, ReportOutput

    if not isinstance(report, Report):
        raise ArgumentError.of("report", report, "a trtlint.Report, such as the result of trtlint.lint")
    output = ReportOutput(known(read_one("format", format)), Path(read_one("out", file, "file")))
    paths = dict.fromkeys(model.path for model in report.models)
    style = Style(
        files=len(paths),
        rules=load_builtin().entries,
        root=Sources().root,
        protected=[*map(Path, paths)],
        look=facts_of_file,
    )
    outputs = Outputs([output], style, sys.stdout)
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
    expires: str | date | None = None,
) -> Path:
    """Write a copy of a model with metadata that suppresses a finding.

    Args:
        model: the file.
        rule: id, id prefix, name or group of the rules.
        reason: the reason why the finding is accepted.
        out: the copy to write.
        node: glob of the nodes at which the finding is accepted; by default all nodes.
        module: glob of the modules in which the finding is accepted; by default all modules.
        expires: the last day of the suppression, as a date or as text such as ``"2027-03-31"``.

    Returns:
        The path of the copy.

    Raises:
        SettingError: no rule, node or module matches, or the copy cannot be written.
        ModelError: the model cannot be read.
    """
    from trtlint.policy.suppressing import SuppressOptions
    from trtlint.policy.suppressing import suppress as written

    path, copy = read_local("model", model), Path(read_one("out", out))
    required = {"rule": read_one("rule", rule), "reason": read_one("reason", reason)}
    expires = expires.isoformat() if isinstance(expires, date) else expires
    given = required | read({"node": node, "module": module, "expires": expires})
    with named(path):
        written(SuppressOptions(model=str(path), output=str(copy), **given), load_builtin())
    return copy


def skeleton(model: AnyPath, out: AnyPath, *, hide_names: bool = False) -> Path:
    """Write a copy of a model without its weights, to share the model with others.

    Args:
        model: the file.
        out: the copy to write.
        hide_names: True to replace the names in the model by neutral names.

    Raises:
        ModelError: the model cannot be read.
        SettingError, OSError: the copy cannot be written.
    """
    from trtlint.files.limits import limit_work
    from trtlint.files.replace import replacing, require_output
    from trtlint.model.outline import outline, require_no_weights

    path, copy = read_local("model", model), Path(read_one("out", out))
    hidden = read_one("hide_names", hide_names)
    require_output(copy, [path], "the skeleton to")
    with named(path), limit_work(path):
        require_no_weights(path, copy)
        data = outline(path, hide_names=hidden).SerializeToString()
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

    scans = []
    for file in (read_local("earlier", earlier), read_local("later", later)):
        with named(file):
            scans.append(read_rows(file))
    return compare(*scans)
