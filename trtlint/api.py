"""Linting from Python."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from trtlint.engine.evaluate import evaluate
from trtlint.engine.finding import ModelReport, Problem, Report
from trtlint.engine.rulebook import Rule, Rulebook, builtin_rules, load_rules
from trtlint.facts import Facts
from trtlint.files import expand
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.target import Target

AnyPath = str | os.PathLike[str]


def lint(
    path: AnyPath | Iterable[AnyPath],
    target: Target | Sequence[Target] | None = None,
    *,
    rules: Iterable[Rule] | None = None,
) -> Report:
    """Lint ONNX files.

    Args:
        path: a file, a folder that is searched for ``*.onnx``, or several.
        target: what the engine is built for, or several; what is not given is unknown.
        rules: the rules to apply, as :func:`~trtlint.engine.rulebook.load_rules` gives them; those
            that come with trtlint if left out.

    Returns:
        A report for each file and target.  A file that cannot be linted has its reason in
        ``errors``.

    Raises:
        RuleError: a rule file is wrong.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path)
    targets = [target or Target()] if target is None or isinstance(target, Target) else list(target)
    chosen = _builtin() if rules is None else list(rules)
    files = expand(os.fspath(entry) for entry in paths)
    return Report(tuple(report for file in files for report in lint_file(file, targets, chosen)))


def lint_file(path: Path, targets: Sequence[Target], rules: Iterable[Rule]) -> tuple[ModelReport, ...]:
    """Lint one file for several targets: a report for each, in their order.

    What is wrong with the file is in the reports; any other exception is a bug in trtlint or in a
    rule, and is raised.
    """
    with _collection_held():
        return _lint_file(path, targets, rules)


@contextmanager
def _collection_held() -> Iterator[None]:
    """Hold the cyclic garbage collector while many objects are made that all stay.

    It would visit the whole graph again and again as facts are found, so that the time of a lint
    would grow faster than its nodes.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _lint_file(path: Path, targets: Sequence[Target], rules: Iterable[Rule]) -> tuple[ModelReport, ...]:
    try:
        facts = Facts(load(path))
    except ModelError as error:
        problem = Problem(str(path), error.message, error.offset, error.node)
    except OSError as error:
        problem = Problem(str(path), error.strerror or str(error))
    else:
        chosen = tuple(rules)
        return tuple(evaluate(chosen, facts, target) for target in targets)
    return tuple(ModelReport(str(path), target.words, errors=(problem,)) for target in targets)


@cache
def _builtin() -> Rulebook:
    return load_rules([builtin_rules()])
