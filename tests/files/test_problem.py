"""Tests of problems with files, and of the errors that they come from."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from trtlint.files.problem import LONGEST, Problem, UnreadableError, named


def test_the_text_of_an_error_has_the_file_and_the_position() -> None:
    error = UnreadableError("cut off", offset=7, line=2, node="a/b")
    assert str(error) == "cut off"
    error.path = "c: d.log"
    assert (error.message, error.line) == ("cut off", 2)
    assert str(error) == "c: d.log: cut off (line 2) at byte 7 at node a/b"
    assert str(UnreadableError("cut off", path="m.onnx")) == "m.onnx: cut off"
    assert str(UnreadableError("", path="m", offset=0, line=0)) == "m:  (line 0) at byte 0"


def test_an_error_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(UnreadableError("cut off", path="m.onnx", offset=7, line=2)))
    assert str(sent) == "m.onnx: cut off (line 2) at byte 7"


def test_a_problem_takes_the_file_from_the_error() -> None:
    error = UnreadableError("m.onnx: cut off", offset=7, line=2, node="n")
    assert Problem.of("m.onnx", error) == Problem("m.onnx", "m.onnx: cut off (line 2)", 7, "n")
    error.path = "c: d.log"
    problem = Problem.of(Path("m.onnx"), error)
    assert problem == Problem("c: d.log", "m.onnx: cut off (line 2)", 7, "n")
    assert problem.text == "m.onnx: cut off (line 2) at byte 7 at node n"
    assert str(problem) == f"c: d.log: {problem.text}"


def test_a_problem_of_the_system() -> None:
    assert Problem.of(Path("a"), OSError(13, "Permission denied", "b")) == Problem("a", "Permission denied")


def test_long_texts_are_shortened() -> None:
    problem = Problem("a", "m" * (LONGEST + 1), node="n" * (LONGEST + 1))
    assert (problem.message, problem.node) == (f"{'m' * LONGEST}…", f"{'n' * LONGEST}…")


@pytest.mark.parametrize(("path", "text"), [(None, "b.log: cut off"), ("a.log", "a.log: cut off")])
def test_the_innermost_name_counts(path: str | None, text: str) -> None:
    with pytest.raises(UnreadableError) as caught, named("c.log"), named(Path("b.log")):
        raise UnreadableError("cut off", path=path)
    assert str(caught.value) == text
