"""Every operator with every type that its schema allows: what a random draw meets once in a thousand.

An operator is drawn a few times for each type of its first operand.  Data come from inputs of the model,
from a stored tensor, or from an input with a dynamic dimension; all else is stored, and stands in the main
graph.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from onnx import defs

from benchmarks.probes.calls import Call, Operand
from benchmarks.probes.draw import Drawing, Probe, write
from benchmarks.probes.recipes import RECIPES
from benchmarks.probes.tensors import UnluckyError, number_of

SOURCES = ("fed", "stored", "dynamic")
OPSETS = (17, 23)
_TRIES = 12


class _Swept(Drawing):
    """A draw whose opset, first type and source of data are given."""

    def __init__(self, rng: random.Random, opset: int, type: int, source: str) -> None:
        super().__init__(rng)
        self.opset, self.place = opset, "main"
        self._type, self._source = type, source
        self._symbolic = source == "dynamic"

    def _types_of(self, call: Call) -> list[int]:
        first = call.operands[0] if call.operands else None
        if first is not None and first.type is None and self._type:
            changed = Operand(first.array, first.kind, self._type)
            call.operands = [changed, *call.operands[1:]]
        return super()._types_of(call)

    def operand(self, operand: Operand, type: int) -> str:
        """An operand from the source, where it is data."""
        part = self.outer
        if operand.kind != "data" or self._source == "stored":
            return self.stored(operand.array, type, part)
        return self.fed(operand.array, type)

    def _after(self, results: list[Any]) -> None:
        """Nothing behind the results."""


def types(op: str, opset: int) -> tuple[int, ...]:
    """ONNX's numbers of the types that the first operand may have; 0 where there is no choice."""
    try:
        schema = defs.get_schema(op, opset)
    except defs.SchemaError:
        return (0,)
    if not schema.inputs:
        return (0,)
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    found = [number_of(text) for text in allowed.get(schema.inputs[0].type_str, ())]
    return tuple(number for number in found if number and number != 8) or (0,)


def sweep(op: str, opset: int, type: int, source: str, draws: int) -> list[Probe]:
    """The probes of one operator, type and source, at most so many."""
    found: list[Probe] = []
    for attempt in range(_TRIES):
        rng = random.Random(f"{op}.{opset}.{type}.{source}.{attempt}")
        try:
            found.append(_Swept(rng, opset, type, source).probe(op))
        except UnluckyError:
            continue
        if len(found) == draws:
            break
    return found


def main() -> None:
    """Write the probes and what is needed to judge them: ``DRAWS 0 FOLDER``."""
    draws, folder = int(sys.argv[1]), Path(sys.argv[3])
    np.seterr(all="ignore")
    probes = (
        (f"{op}_{opset}_{type}_{source}_{index}".replace(".", "-"), probe)
        for op in RECIPES
        for opset in OPSETS
        for type in types(op, opset)
        for source in SOURCES
        for index, probe in enumerate(sweep(op, opset, type, source, draws))
    )
    write(probes, folder)


if __name__ == "__main__":
    main()
