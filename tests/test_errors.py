"""Tests of the exception tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache

import pytest

import trtlint
from tests.test_architecture import modules
from trtlint.errors import ExperimentError, FileError, SettingError, TrtlintError

PYTHONS = {"Exception", "ValueError", "OSError", "RuntimeError", "TypeError", "KeyError", "LookupError"}


@cache
def bases() -> Mapping[str, list[str]]:
    """Return the names of the base classes of each class of the project."""
    return {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for source in modules().values()
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef)
    }


def is_exception(name: str) -> bool:
    return name in {*PYTHONS, "BaseException"} or any(map(is_exception, bases().get(name, ())))


@pytest.mark.slow
def test_all_exceptions_of_the_project_have_one_base() -> None:
    found = [name for name, above in bases().items() if above and PYTHONS.issuperset(above)]
    assert found == ["TrtlintError"]


@pytest.mark.slow
def test_only_some_exceptions_have_a_base_class_of_python() -> None:
    """The docstring of trtlint.errors has the reasons."""
    found = {(name, base) for name, above in bases().items() for base in above[1:] if base in PYTHONS}
    assert found == {
        ("SettingError", "ValueError"),
        ("ArgumentError", "TypeError"),
        ("IrregularError", "OSError"),
    }


@pytest.mark.slow
def test_a_class_with_the_name_of_an_error_is_an_exception() -> None:
    assert [name for name in bases() if re.search("Errors?$", name) and not is_exception(name)] == []


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
        ("trtlint.measurement.measure", "FailedMeasurementError", ExperimentError),
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
