"""Predicted parts of models, compared with NVIDIA's parser when ONNX Runtime's providers query it.

    python -m benchmarks.partitions [--all-probes] [--rewrite] [--sample 40 --seed 1] [MODEL...]

The default models are in ``shared/data``: exported, public and repro, and the probes with several refusals.
Models that the parser accepts as a whole are not counted. ``--sample`` draws from the refused models.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from trtlint.case import Case
from trtlint.dry_build.wheels import find
from trtlint.engine.evidence.partition import PartitionEvidence
from trtlint.engine.partition import predicted
from trtlint.engine.rulebook import load_builtin
from trtlint.engine.ruleset import RuleSet
from trtlint.partition.result import Partition, ProviderSettings
from trtlint.partition.simulate import simulate
from trtlint.policy.options import TargetOptions
from trtlint.policy.targets import targets_of

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))


@dataclass(frozen=True, slots=True)
class Compared:
    """Comparison of one model.

    Attributes:
        model: name of the model.
        asked: the parts according to the parser.
        expected: the predicted parts.
        seconds: time of the parser.
    """

    model: str
    asked: Partition
    expected: Partition
    seconds: float

    @property
    def equal(self) -> bool:
        """Return whether the parts and the remaining nodes are the same."""
        return _parts(self.asked) == _parts(self.expected) and _left(self.asked) == _left(self.expected)


def _parts(partition: Partition) -> set[frozenset[str]]:
    return {frozenset(part) for part in partition.parts}


def _left(partition: Partition) -> set[str]:
    return {each.node for each in partition.left}


def compare(path: Path, *, rewrite: bool) -> Compared | None:
    """Compare one model; return None if the parser accepts all of it or cannot run."""
    wheels = find()
    began = time.monotonic()
    found = simulate(path, "tensorrt", wheels, ProviderSettings(), rewrite=rewrite)
    seconds = time.monotonic() - began
    if found.partition is None or not found.partition.left:
        return None
    line = ".".join(wheels.version.split(".")[:2])
    targets = tuple(targets_of(TargetOptions(rtx=(line,))))
    opened = Case(path, targets, RuleSet(load_builtin().entries)).open()
    report = opened.evaluate()
    assert opened.model is not None
    expected = predicted(opened.model, report.findings, "tensorrt", ProviderSettings(), rewritten=rewrite)
    return Compared(path.name, found.partition, expected, seconds)


def models(folder: Path, *, all_probes: bool) -> Iterator[Path]:
    """Yield the models of ``shared/data``, decompressed if necessary."""
    data = SHARED / "data"
    yield from sorted((data / "exported").glob("*.onnx"))
    yield from sorted((data / "repro").glob("*.onnx"))
    for packed in sorted((data / "public").glob("*.gz")):
        target = folder / packed.stem
        target.write_bytes(gzip.decompress(packed.read_bytes()))
        yield target
    with (data / "probes" / "verdicts-rtx-1.7.1.jsonl").open(encoding="utf-8") as lines:
        verdicts = [json.loads(line) for line in lines]
    wanted = {
        f"{each['model']}.onnx"
        for each in verdicts
        if each["parse"] is False and (all_probes or len(each["errors"]) > 1)
    }
    for name in ("probes/models.zip", "real-exports/models.zip"):
        with zipfile.ZipFile(data / name) as archive:
            for entry in sorted(archive.namelist()):
                if entry.endswith(".onnx") and (name.startswith("real") or Path(entry).name in wanted):
                    target = folder / Path(entry).name
                    target.write_bytes(archive.read(entry))
                    yield target


def refused(path: Path) -> bool:
    """Return whether the parser refuses a model."""
    try:
        found = simulate(path, "tensorrt", find(), ProviderSettings(), rewrite=False)
    except Exception:  # noqa: BLE001 - a model that cannot be read is not counted
        return False
    return found.partition is not None and bool(found.partition.left)


def drawn(paths: Iterable[Path], count: int, seed: int) -> list[Path]:
    """Draw refused models at random, with a seed."""
    shuffled = sorted(paths)
    random.Random(seed).shuffle(shuffled)
    return list(islice(filter(refused, shuffled), count))


def compared(paths: Iterable[Path], *, rewrite: bool) -> Iterator[Compared]:
    """Yield the comparison of each model that the parser splits."""
    for path in paths:
        try:
            found = compare(path, rewrite=rewrite)
        except Exception as error:  # noqa: BLE001 - a model that cannot be read is not counted
            print(f"{path.name}: {error}")
            continue
        if found is not None:
            yield found


def cost(path: Path, runs: int = 5) -> tuple[float, float]:
    """Return the best seconds of a lint without and with the prediction."""
    target = tuple(targets_of(TargetOptions(trt=("10.13",), gpu="L4")))
    rules = RuleSet(load_builtin().entries)
    evidence = (PartitionEvidence("tensorrt", ProviderSettings()),)

    def best(case: Case) -> float:
        times = []
        for _ in range(runs):
            began = time.perf_counter()
            case.evaluated()
            times.append(time.perf_counter() - began)
        return min(times)

    return best(Case(path, target, rules)), best(Case(path, target, rules, evidence=evidence))


def main() -> None:
    """Print the comparison of each model, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--all-probes", action="store_true", help="also probes with one refusal")
    parser.add_argument("--rewrite", action="store_true", help="after the rewrites of ONNX Runtime")
    parser.add_argument("--sample", type=int, default=0, help="number of models drawn from the refused ones")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = arguments.models or models(Path(folder), all_probes=arguments.all_probes)
        if arguments.sample:
            paths = drawn(paths, arguments.sample, arguments.seed)
        found = []
        for each in compared(paths, rewrite=arguments.rewrite):
            found.append(each)
            asked, expected = each.asked, each.expected
            print(
                f"{'same ' if each.equal else 'other'} {each.model}: parser {len(asked.parts)} parts, "
                f"{asked.taken} taken, {len(asked.left)} left, {asked.calls} calls, {each.seconds:.1f} s; "
                f"predicted {len(expected.parts)} parts, {expected.taken} taken, {len(expected.left)} left"
            )
            if not each.equal:
                only = sorted(_left(asked) - _left(expected)), sorted(_left(expected) - _left(asked))
                print(f"      left by the parser alone {only[0][:4]}, by the prediction alone {only[1][:4]}")
    same = sum(each.equal for each in found)
    hit = sum(len(_left(each.asked) & _left(each.expected)) for each in found)
    left = sum(len(_left(each.asked)) for each in found)
    said = sum(len(_left(each.expected)) for each in found)
    print(
        f"{same} of {len(found)} models the same; nodes left: {hit} of {said} predicted, "
        f"{hit} of {left} found"
    )


if __name__ == "__main__":
    main()
