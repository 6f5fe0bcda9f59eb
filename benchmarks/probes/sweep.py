"""All operators with all types that their schemas allow, including rare types that random draws miss.

Each operator is drawn several times for each type of its first operand. Its data come from an input of the
model, from a stored tensor, or from an input with a dynamic dimension. All other operands are stored, and all
nodes are in the main graph.
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
    """A draw with a given opset, first type and origin of data."""

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
        """Add an operand; data come from the given origin."""
        part = self.outer
        if operand.kind != "data" or self._source == "stored":
            return self.stored(operand.array, type, part)
        return self.fed(operand.array, type)

    def _after(self, results: list[Any]) -> None:
        """Add no operator after the results."""


def types(op: str, opset: int) -> tuple[int, ...]:
    """Return ONNX's numbers of the allowed types of the first operand; 0 if there is only one."""
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
    """Return at most ``draws`` probes of one operator, type and origin of data."""
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
    """Write the probes, with ``requests.jsonl``: ``DRAWS 0 FOLDER``."""
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
