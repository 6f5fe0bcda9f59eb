"""Tests of the kinds of facts, and of the kinds that need a build."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pytest

from tests.conftest import REPOSITORY
from tests.graphs import facts_of
from trtlint.facts.kinds import fact_class, ground_of, kinds, module_of

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[1,2] x) => (float[1,2] y) { y = Relu (x) }
"""


def test_every_kind_has_a_documented_class_of_its_name() -> None:
    for kind in kinds():
        assert fact_class(kind).kind == kind
        assert "Attributes:" in (fact_class(kind).__doc__ or ""), kind


def test_the_kinds_about_builds_are_those_that_say_nothing_of_a_model_alone() -> None:
    facts = facts_of(MODEL)
    apart = [kind for kind in kinds() if ground_of(kind) != "model"]
    assert {"layer", "flag"} <= set(apart)
    for kind in apart:
        assert not list(module_of(kind).find(facts)), kind


def test_facts_and_their_model_are_freed_without_the_collector() -> None:
    facts = facts_of(MODEL)
    for kind in kinds():
        facts.of(kind)
    assert facts.sizes.bytes(facts.model.graph.outputs[0]) == 8
    freed, graph = weakref.ref(facts), weakref.ref(facts.model.graph)
    gc.disable()
    try:
        del facts
        assert freed() is None
        assert graph() is None
    finally:
        gc.enable()


@pytest.mark.slow
def test_a_lint_of_a_model_alone_imports_no_reader_of_builds() -> None:
    code = (
        "import sys, trtlint; trtlint.lint('examples/nafnet.onnx'); "
        "print(*(m for m in sys.modules if m.startswith('trtlint.buildfiles.')))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    # A path can name a build file, so the modules that recognise build files are imported.
    recognising = ("jsonlines", "plan", "recognise", "stream")
    assert set(run.stdout.split()) <= {
        f"trtlint.buildfiles.{name}" for name in ("errors", "kinds", "patterns", *recognising)
    }
