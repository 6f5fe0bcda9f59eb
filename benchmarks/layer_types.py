"""Types of the layers that ``--layerPrecisions`` names, according to NVIDIA's parser.

    python -m benchmarks.layer_types [--models DIR] [--limit N] [--only TEXT] [--type fp32|fp16]

The models are those of ``benchmarks.convert``. The benchmark names a random 15 % of the operators of each
model, with ``--precisionConstraints=obey``. With ``--type fp16``, all other operators are requested in FP32.
The result is the type of the tensors of each layer that TensorRT-RTX parses from the converted file.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.convert import SHARED, models
from trtlint.buildcommand.layerspecs import LayerSpec
from trtlint.conversion.layertypes import LayerTypes, of_script
from trtlint.conversion.result import ConversionError
from trtlint.conversion.run import run
from trtlint.conversion.session import ConversionRequest, ConversionSession
from trtlint.errors import TrtlintError
from trtlint.model.graph import Node
from trtlint.model.protos import text

_SHARE = 0.15
_OPTION: Final = "--layerPrecisions"
_SCRIPT = """
import json

def postprocess(network):
    rows = []
    for layer in network:
        types = {{}}
        for side, count, get in (("in", layer.num_inputs, layer.get_input),
                                 ("out", layer.num_outputs, layer.get_output)):
            found = [get(index) for index in range(count)]
            types[side] = [str(each.dtype).split(".")[-1] for each in found if each is not None]
        rows.append([layer.name, str(layer.type).split(".")[-1], types])
    json.dump(rows, open({path!r}, "w"))
"""
_NO_FLOATS = frozenset({"SHAPE"})
"""Layers that read tensors of any type and compute nothing with their elements."""
_FLOATS = {"FLOAT": "fp32", "HALF": "fp16", "BF16": "bf16"}


def layers(model: Path, folder: Path) -> list[tuple[str, str, dict[str, list[str]]]]:
    """Return the layers of the parsed network: name, kind, and element types of the tensors."""
    rows, script = folder / "layers.json", folder / "hook.py"
    script.write_text(_SCRIPT.format(path=str(rows)), encoding="utf-8")
    rows.unlink(missing_ok=True)
    of_script(model, str(script))
    found: list[tuple[str, str, dict[str, list[str]]]] = json.loads(rows.read_text(encoding="utf-8"))
    return found


def _type_of(tensors: dict[str, list[str]]) -> set[str]:
    """Return the float types of a layer's outputs; if no output is a float, the float types of its inputs."""
    for side in ("out", "in"):
        found = {_FLOATS[each] for each in tensors[side] if each in _FLOATS}
        if found:
            return found
    return set()


def named(model: Path, seed: int, type_: str) -> list[str]:
    """Return the names of random operators that support the type."""
    labels = ConversionSession(ConversionRequest(model, measure=False)).labels

    def fits(node: Node) -> bool:
        return bool(text(node.proto.name)) and (type_ == "fp32" or node not in labels.fixed)

    names = sorted({text(node.proto.name) for node in labels.nodes if fits(node) and not node.scope})
    return random.Random(seed).sample(names, round(len(names) * _SHARE))


def judge(model: Path, folder: Path, seed: int, type_: str) -> dict[str, Any]:
    """Convert one model, and compare the types of the named layers with the requested types."""
    names = named(model, seed, type_)
    specs = [LayerSpec(_OPTION, name, type_) for name in names]
    if type_ == "fp16":
        specs.insert(0, LayerSpec(_OPTION, "*", "fp32"))
    out = folder / "out.onnx"
    _, draft = run(ConversionRequest(model, measure=False, layers=LayerTypes(tuple(specs), "obey")), None)
    if draft.converted is None:  # no name was drawn, so that all operators stay in FP32
        return {"named": len(names), "held": 0, "wrong": []}
    draft.write(out)
    wanted = set(names)
    found = [
        (name, kind, _type_of(types))
        for name, kind, types in layers(out, folder)
        if name in wanted and kind not in _NO_FLOATS
    ]
    held = {name for name, _, types in found if types}
    wrong = [[name, kind, sorted(types)] for name, kind, types in found if types - {type_}]
    return {"named": len(names), "held": len(held), "wrong": wrong}


def _rows(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for seed, (name, data) in enumerate(list(models(given.models))[: given.limit]):
            if given.only not in name:
                continue
            source = Path(folder, "source.onnx")
            source.write_bytes(data)
            try:
                yield {"model": name, **judge(source, Path(folder), seed, given.type)}
            except (ConversionError, TrtlintError, AttributeError, AssertionError) as error:
                yield {"model": name, "error": f"{type(error).__name__}: {error}"[:200]}


def main() -> None:
    """Print the models with wrong types, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, default=SHARED / "data")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--type", choices=["fp32", "fp16"], default="fp32")
    rows = []
    for row in _rows(parser.parse_args()):
        rows.append(row)
        if row.get("wrong") or "error" in row:
            print(json.dumps(row), flush=True)
    judged = [row for row in rows if "error" not in row]
    wrong = sum(len({name for name, _, _ in row["wrong"]}) for row in judged)
    print(f"{len(judged)} of {len(rows)} models converted and parsed")
    print(
        f"named {sum(row['named'] for row in judged)}, held by the network {sum(r['held'] for r in judged)}"
    )
    print(f"with another type {wrong}")


if __name__ == "__main__":
    main()
