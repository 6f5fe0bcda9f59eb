"""Random small valid models: an operator, the origin of its operands, and the graph that contains it.

A model is drawn from a seed, checked by ONNX, and run. If it does not run, another model is drawn. This code
does not depend on what TensorRT supports.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from benchmarks.probes.modules import MODULES
from benchmarks.probes.places import Places
from benchmarks.probes.recipes import OFTEN, RECIPES
from benchmarks.probes.tensors import UnluckyError, valid

_TRIES = 40
_MODULES = 0.3
"""Share of the probes that are modules of several operators."""


@dataclass(slots=True)
class Probe:
    """A model, with the data needed to build and run it.

    Attributes:
        model: the model.
        op: the tested operator.
        place: the kind of graph that contains the operator, such as a branch.
        tags: other drawn properties.
        shapes: shape of each input.
        values: elements of each small input.
        ran: whether ONNX Runtime ran the model.
    """

    model: onnx.ModelProto
    op: str
    place: str
    tags: list[str]
    shapes: dict[str, list[int]]
    values: dict[str, list[Any]]
    ran: bool


def draw(seed: int) -> Probe:
    """Return the probe of a seed.

    Raises:
        UnluckyError: no draw of this seed was valid.
    """
    for attempt in range(_TRIES):
        rng = random.Random(f"{seed}.{attempt}")
        try:
            return Drawing(rng).probe()
        except UnluckyError:
            continue
    raise UnluckyError(f"seed {seed}")


class Drawing(Places):
    """A random model under construction, with the tested operator."""

    def probe(self, op: str = "") -> Probe:
        """Draw a model; without ``op``, draw the operator, too."""
        if not op:
            modules = self.rng.random() < _MODULES
            op = self.rng.choice(tuple(MODULES) if modules else (*RECIPES, *OFTEN, *OFTEN, *OFTEN))
        results = self.trial(self._outputs(op))
        results = self.placed(results)
        self._after(results)
        model = self._model(results)
        self._declare(model)
        ran = valid(model, self.feeds)
        self._spoil(model)
        return Probe(
            model,
            op,
            self.place,
            self.tags,
            {name: list(array.shape) for name, array in self.feeds.items()},
            {
                n: a.reshape(-1).tolist()
                for n, a in self.feeds.items()
                if a.size <= 32 and a.dtype.kind in "iubf"
            },
            ran,
        )

    def _outputs(self, op: str) -> list[str]:
        if op in MODULES:
            return MODULES[op](self)
        call = RECIPES[op](self.rng, self.opset)
        if call is None:
            raise UnluckyError(op)
        return self.call(call)


def write(probes: Iterable[tuple[str, Probe]], folder: Path) -> None:
    """Save probes, and ``requests.jsonl`` with the data needed to judge them."""
    with (folder / "requests.jsonl").open("w", encoding="utf-8") as requests:
        for name, probe in probes:
            path = folder / f"{name}.onnx"
            onnx.save(probe.model, path)
            row: dict[str, Any] = {"model": str(path), "name": name, "op": probe.op, "place": probe.place}
            row |= {"tags": probe.tags, "shapes": probe.shapes, "values": probe.values, "ran": probe.ran}
            requests.write(json.dumps(row) + "\n")


def _drawn(first: int, end: int) -> Iterator[tuple[str, Probe]]:
    for seed in range(first, end):
        with suppress(UnluckyError):
            yield f"s{seed:05d}", draw(seed)


def main() -> None:
    """Write the probes of a range of seeds, with ``requests.jsonl``: ``FIRST END FOLDER``."""
    write(_drawn(int(sys.argv[1]), int(sys.argv[2])), Path(sys.argv[3]))


if __name__ == "__main__":
    main()
