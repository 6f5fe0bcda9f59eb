"""Small valid models at random: an operator, where its operands come from, and the place it stands in.

A model is drawn from a seed, checked by ONNX, and run; what does not run is drawn again.  Nothing here
knows what TensorRT takes.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from benchmarks.probes.places import Places
from benchmarks.probes.recipes import OFTEN, RECIPES
from benchmarks.probes.tensors import UnluckyError, valid

_TRIES = 40


@dataclass(slots=True)
class Probe:
    """A model and what is needed to build and to run it.

    Attributes:
        model: the model.
        op: the operator that was drawn.
        place: where it stands.
        tags: what else was drawn.
        shapes: shape of each input.
        values: elements of each small input.
        ran: whether it was run.
    """

    model: onnx.ModelProto
    op: str
    place: str
    tags: list[str]
    shapes: dict[str, list[int]]
    values: dict[str, list[Any]]
    ran: bool


def draw(seed: int) -> Probe:
    """The probe of a seed.

    Raises:
        UnluckyError: no draw of this seed was valid.
    """
    for attempt in range(_TRIES):
        rng = random.Random(f"{seed}.{attempt}")
        try:
            return _Drawing(rng).probe()
        except UnluckyError:
            continue
    raise UnluckyError(f"seed {seed}")


class _Drawing(Places):
    def probe(self) -> Probe:
        """Draw everything once."""
        names = (*RECIPES, *OFTEN, *OFTEN, *OFTEN)
        op = self.rng.choice(names)
        call = RECIPES[op](self.rng, self.opset)
        if call is None:
            raise UnluckyError(op)
        outputs = self.call(call)
        results = self.trial(outputs)
        results = getattr(self, f"_{self.place}")(results)
        self._after(results)
        model = self._model(results)
        self._declare(model)
        ran = valid(model, self.feeds)
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


def main() -> None:
    """Write the probes of a range of seeds, and what is needed to judge them: ``FIRST END FOLDER``."""
    first, end, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    with (folder / "requests.jsonl").open("w", encoding="utf-8") as requests:
        for seed in range(first, end):
            try:
                probe = draw(seed)
            except UnluckyError:
                continue
            path = folder / f"s{seed:05d}.onnx"
            onnx.save(probe.model, path)
            row: dict[str, Any] = {
                "model": str(path),
                "name": path.stem,
                "op": probe.op,
                "place": probe.place,
            }
            row |= {"tags": probe.tags, "shapes": probe.shapes, "values": probe.values, "ran": probe.ran}
            requests.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
