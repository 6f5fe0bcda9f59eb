"""A structure linted, and checked, while it is being rewritten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx

from trtlint.case import Case
from trtlint.engine.finding import ModelReport
from trtlint.facts.facts import Facts
from trtlint.files.limits import limit_work
from trtlint.fixes.outcome import Lint, Linted
from trtlint.model.check import fault
from trtlint.model.load import Model, interpret, undeclared
from trtlint.model.tensors import TensorStore
from trtlint.policy.review import Review

Judge = Callable[[Model], tuple[Facts, tuple[ModelReport, ...]]]
"""Lints a model: its facts, and its reports, one a target."""


def judging(case: Case, review: Review) -> Judge:
    """What lints a case while its model is rewritten.

    Args:
        case: the case; what is known of the build of the first form is not of the others.
        review: takes out of the reports what is suppressed.
    """

    def judge(model: Model) -> tuple[Facts, tuple[ModelReport, ...]]:
        opened = case.with_model(model).open()
        return opened.facts(), opened.case.reviewed(opened.evaluated(), review)

    return judge


def linting(judge: Judge, path: Path, tensors: TensorStore) -> Lint:
    """What lints structures of a model as the file itself is linted.

    Args:
        judge: lints a model.
        path: the file.
        tensors: reads the tensors of which the structures have none.
    """

    def lint(proto: onnx.ModelProto) -> Linted:
        with limit_work(path):
            data, declared = undeclared(proto)
            model = interpret(path, data, tensors, declared)
            return Linted(proto, *judge(model))

    return lint


def checked(proto: onnx.ModelProto, before: onnx.ModelProto) -> tuple[onnx.ModelProto, str]:
    """A structure, and what the checker finds wrong with it; empty where it is valid.

    Types that the file declares of values in between go where they alone are wrong: they were so before.

    Args:
        proto: the structure.
        before: what it was made of.
    """
    wrong = fault(proto)
    if wrong and proto.graph.value_info:
        bare = onnx.ModelProto()
        bare.CopyFrom(proto)
        del bare.graph.value_info[:]
        if not fault(bare):
            return bare, ""
    if wrong and fault(before) == wrong:
        wrong = f"the checker refuses the source as well: {wrong}"
    return proto, wrong
