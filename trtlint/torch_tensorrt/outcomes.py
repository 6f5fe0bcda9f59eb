"""Find the results of a dry run for operators whose converters have a known fault."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from trtlint.knowledge.torchreleases import torch_release
from trtlint.torch_tensorrt.faults import ConverterFault, converter_faults, matches
from trtlint.torch_tensorrt.program import Program, ProgramNode
from trtlint.torch_tensorrt.result import Fallback

Stage = Literal["", "unused", "compile", "network", "build", "passed"]
"""Result of the dry run for an operator:

- empty: no result
- ``unused``: the converter is not used
- ``compile``: the compilation ends with an error
- ``network``: the creation of a network ends with an error
- ``build``: the builder rejects the network of the operator
- ``passed``: no error
"""


class Outcome(Struct, frozen=True):
    """Result of a dry run for one operator.

    Attributes:
        stage: the result.
        said: the error; empty if there is no error.
    """

    stage: Stage = ""
    said: str = ""


def faults_of(program: Program) -> Iterator[tuple[ProgramNode, ConverterFault]]:
    """Yield the operators that a known converter fault affects, in the order of the graph.

    Each operator comes with the first fault that affects it.
    """
    minor = torch_release(program.release).minor
    faults = [fault for fault in converter_faults() if fault.affects(minor)]
    for node in program.nodes:
        fault = next((each for each in faults if matches(each, node)), None)
        if fault is not None:
            yield node, fault


def outcome_of(program: Program, node: ProgramNode, fault: ConverterFault) -> Outcome:
    """Return what the dry run found about an operator that a converter fault affects."""
    run = program.run
    if run is None or run.unasked:
        return Outcome()
    if _is_cause(node, fault, run.error, None):
        return Outcome("compile", run.error)
    for failure in run.failures:
        if _is_cause(node, fault, failure.message, failure.node):
            return Outcome("network" if failure.stage == "network" else "build", failure.message)
    if run.error or run.failures:
        return Outcome()
    in_torch = {each.name for each in run.fallbacks} | {each.op for each in run.fallbacks if each.op}
    if run.engines == 0 or node.name in in_torch or fault.becomes in in_torch:
        return Outcome("unused")
    return Outcome("passed")


def is_known(
    faults: Sequence[tuple[ProgramNode, ConverterFault]], said: str, failed: Fallback | None
) -> bool:
    """Return whether a known fault of a converter explains an error of the dry run.

    Args:
        faults: the operators with a fault, from :func:`faults_of`.
        said: the error.
        failed: the operator at which the conversion failed; None if unknown.
    """
    return any(_is_cause(node, fault, said, failed) for node, fault in faults)


def _is_cause(node: ProgramNode, fault: ConverterFault, said: str, failed: Fallback | None) -> bool:
    """Return whether an error occurs at an operator with a fault, or at a node that uses its result."""
    if not fault.ends or not said:
        return False
    if failed is not None and (
        failed.name == node.name
        or (bool(node.trace) and failed.trace == node.trace)
        or (bool(fault.becomes) and failed.op == fault.becomes)
    ):
        return True
    ops = [op for op in (node.op, fault.becomes) if op]
    if any(f"({op} in " in said or f"[aten_ops.{op.removeprefix('aten.')}]" in said for op in ops):
        return True
    return re.search(rf"%{re.escape(node.name)}\b", said) is not None
