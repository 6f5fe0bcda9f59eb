"""trtlint: a linter for TensorRT builds of ONNX models, without a GPU.

- :func:`lint` reads ONNX models and returns a :class:`Report` of :class:`Finding` objects.
- :func:`check` lints at the end of an export script and raises an error for severe findings.
- :func:`fix` applies automatic fixes to a model.
- :func:`convert` makes a model strongly typed.
- :func:`measure` measures the effect of FP16 on a model.
- :func:`upgrade` compares two versions of TensorRT.
- :func:`find_facts` returns the facts that rules match.
- :func:`explain_miss` explains why a rule does not report a node.
- :func:`write_report` writes a report in a format of the option ``--output``.
- :func:`suppress`, :func:`skeleton` and :func:`trend` do the same as the commands with these names.

All exceptions of trtlint derive from :class:`TrtlintError`. Names are loaded on first use, so importing the
package is fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from trtlint.api import (
        CheckError,
        check,
        fix,
        lint,
        load_rules,
        measure,
        read_build,
        upgrade,
    )
    from trtlint.buildcommand import CommandError
    from trtlint.buildfiles.errors import BuildFileError
    from trtlint.case import Case
    from trtlint.conversion.result import Conversion
    from trtlint.converting import convert
    from trtlint.engine.finding import Finding, ModelReport, Report, Site
    from trtlint.engine.rule import Rule, RuleError
    from trtlint.errors import ArgumentError, ExperimentError, FileError, SettingError, TrtlintError
    from trtlint.model.errors import ModelError
    from trtlint.results import Fix, Measured
    from trtlint.target.parsing import TargetError
    from trtlint.target.target import Target
    from trtlint.tools import explain_miss, find_facts, skeleton, suppress, trend, write_report

__all__ = [
    "ArgumentError",
    "BuildFileError",
    "Case",
    "CheckError",
    "CommandError",
    "Conversion",
    "ExperimentError",
    "FileError",
    "Finding",
    "Fix",
    "Measured",
    "ModelError",
    "ModelReport",
    "Report",
    "Rule",
    "RuleError",
    "SettingError",
    "Site",
    "Target",
    "TargetError",
    "TrtlintError",
    "__version__",
    "check",
    "convert",
    "explain_miss",
    "find_facts",
    "fix",
    "lint",
    "load_rules",
    "measure",
    "read_build",
    "skeleton",
    "suppress",
    "trend",
    "upgrade",
    "write_report",
]

_HOMES = {
    name: home
    for home, listed in {
        "trtlint.api": "CheckError check fix lint load_rules measure read_build upgrade",
        "trtlint.buildcommand": "CommandError",
        "trtlint.buildfiles.errors": "BuildFileError",
        "trtlint.case": "Case",
        "trtlint.conversion.result": "Conversion",
        "trtlint.converting": "convert",
        "trtlint.engine.finding": "Finding ModelReport Report Site",
        "trtlint.engine.rule": "Rule RuleError",
        "trtlint.errors": "ArgumentError ExperimentError FileError SettingError TrtlintError",
        "trtlint.model.errors": "ModelError",
        "trtlint.results": "Fix Measured",
        "trtlint.target.parsing": "TargetError",
        "trtlint.target.target": "Target",
        "trtlint.tools": "explain_miss find_facts skeleton suppress trend write_report",
    }.items()
    for name in listed.split()
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
