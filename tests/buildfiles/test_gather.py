"""Tests of build files grouped by build, with and without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trtlint.buildfiles.gather import BuildInput, by_itself, of_model
from trtlint.buildfiles.record import read_build
from trtlint.files.problem import Problem

LAYERS = json.dumps({"Layers": ["conv", "relu"], "Bindings": ["x", "y"]})
SECOND = "a second log; pass one file of each kind for a build"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.log").write_text("[W] [TRT] first\n")
    Path("b.log").write_text("[W] [TRT] second\n")
    Path("layers.json").write_text(LAYERS)
    Path("cut.json").write_text(LAYERS[:-4])


def alone(*paths: str) -> BuildInput:
    return BuildInput(Path(paths[0]), read_build(paths))


def broken(problem: Problem) -> BuildInput:
    return BuildInput(Path(problem.path), None, (problem,))


def problem_of(path: str) -> Problem:
    (found,) = by_itself([(path, "any")])
    (problem,) = found.problems
    assert found == broken(problem)
    assert problem.path == path
    return problem


def test_files_of_different_kinds_are_one_build() -> None:
    assert by_itself([("a.log", "any"), ("layers.json", "any")]) == [alone("a.log", "layers.json")]
    assert by_itself([]) == []


def test_two_files_of_a_kind_are_builds_of_their_own_in_order() -> None:
    files = ["b.log", "layers.json", "a.log"]
    assert by_itself((path, "any") for path in files) == [alone(path) for path in files]


def test_a_broken_file_has_its_place_among_the_builds() -> None:
    cut, gone = problem_of("cut.json"), problem_of("gone.log")
    assert cut != gone
    found = by_itself([(path, "any") for path in ("cut.json", "b.log", "gone.log", "a.log")])
    assert found == [broken(cut), alone("b.log"), broken(gone), alone("a.log")]
    assert by_itself([("gone.log", "any"), ("cut.json", "any")]) == [broken(gone), broken(cut)]
    found = by_itself([("./gone.log", "any"), ("b.log", "any")])
    assert [build.path for build in found] == [Path("gone.log"), Path("b.log")]


def test_a_role_is_required() -> None:
    assert by_itself([("a.log", "layers")]) == [broken(Problem("a.log", "the file has no engine layers"))]


def test_the_files_of_a_model() -> None:
    model = Path("model.onnx")
    assert of_model(model, []) == BuildInput(model, None, ())
    assert of_model(model, [("a.log", "any"), ("layers.json", "layers")]) == BuildInput(
        model, read_build(["a.log", "layers.json"]), ()
    )
    gone = problem_of("gone.log")
    assert of_model(model, [("gone.log", "any"), ("a.log", "any")]) == BuildInput(
        model, read_build(["a.log"]), (gone,)
    )
    assert of_model(model, [("gone.log", "any")]) == BuildInput(model, None, (gone,))
    assert of_model(model, [("gone.log", "any"), ("a.log", "any"), ("b.log", "any")]) == BuildInput(
        model, None, (gone, Problem("b.log", SECOND))
    )


def test_a_file_name_may_contain_a_colon() -> None:
    for name in ("a.log", "b.log"):
        Path(name).rename(f"x: {name}")
    found = of_model(Path("model.onnx"), [("x: a.log", "any"), ("x: b.log", "any")])
    assert found.problems == (Problem("x: b.log", SECOND),)


def test_a_file_keeps_the_name_that_the_user_gave() -> None:
    (found,) = by_itself([("./gone.log", "any")])
    assert found.problems == (Problem("./gone.log", "No such file or directory"),)
