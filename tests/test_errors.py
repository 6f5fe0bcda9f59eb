"""Tests of the exception tree."""

from __future__ import annotations

import ast

import pytest

import trtlint
from tests.test_architecture import modules
from trtlint.errors import ExperimentError, FileError, SettingError, TrtlintError

PYTHONS = {"Exception", "ValueError", "OSError", "RuntimeError", "TypeError", "KeyError", "LookupError"}


@pytest.mark.slow
def test_all_exceptions_of_the_project_have_one_base() -> None:
    apart = [
        f"{module}.{node.name}"
        for module, source in modules().items()
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
        and node.bases
        and all(isinstance(base, ast.Name) and base.id in PYTHONS for base in node.bases)
    ]
    assert apart == ["trtlint.errors.TrtlintError"]


@pytest.mark.parametrize(
    ("module", "name", "base"),
    [
        ("trtlint.model.errors", "ModelError", FileError),
        ("trtlint.buildfiles.errors", "BuildFileError", FileError),
        ("trtlint.files.regular", "IrregularError", FileError),
        ("trtlint.target.parsing", "TargetError", SettingError),
        ("trtlint.engine.rule", "RuleError", SettingError),
        ("trtlint.buildcommand", "CommandError", SettingError),
        ("trtlint.dry_build.errors", "WheelError", ExperimentError),
        ("trtlint.measurement.measure", "MeasureError", ExperimentError),
        ("trtlint.api", "CheckError", TrtlintError),
    ],
)
def test_each_is_below_the_type_that_says_what_is_wrong(module: str, name: str, base: type) -> None:
    found = getattr(__import__(module, fromlist=[name]), name)
    assert issubclass(found, base)
    assert issubclass(found, TrtlintError)


def test_one_handler_is_enough_for_the_python_interface() -> None:
    with pytest.raises(TrtlintError):
        trtlint.Target(version="1.2")
    with pytest.raises(TrtlintError):
        trtlint.Target(gpu="nope")
