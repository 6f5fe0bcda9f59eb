"""Facts of a linted model for its report."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from trtlint.commands.lint import _look
from trtlint.model.errors import ModelError

FACTS = object()


def look(error: Exception | None = None, *, path: str = "a.onnx", problem: str = "", **fields: Any) -> Any:
    """Return the facts of a model whose file gives an error when it is read again."""

    def facts() -> object:
        if error is not None:
            raise error
        return FACTS

    opened = SimpleNamespace(facts=facts)
    case = SimpleNamespace(alone=fields.get("alone", False), without_experiments=lambda: opened)
    task: Any = SimpleNamespace(problem=problem, case=case, address=fields.get("address"))
    return _look({"a.onnx": task}, path)


def test_a_linted_model_is_read_again() -> None:
    assert look() is FACTS


@pytest.mark.parametrize("error", [ModelError("damaged"), FileNotFoundError(2, "none")])
def test_a_model_that_can_no_longer_be_read_has_no_facts(error: Exception) -> None:
    assert look(error) is None


@pytest.mark.parametrize(
    "fields", [{"path": "b.onnx"}, {"problem": "no target"}, {"alone": True}, {"address": "https://a/b"}]
)
def test_files_that_are_not_read_again(fields: dict[str, Any]) -> None:
    assert look(**fields) is None
