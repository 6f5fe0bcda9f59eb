"""Runs over many models: gain and correctness of the cache, and the gain of a second process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import onnx

from benchmarks.measure import ENVIRONMENT, TRTLINT, report

ROOT = Path(__file__).resolve().parent.parent
COPIES = 400
"""Number of models to generate if there are no real models."""
SETTINGS = ["--trt", "10.8", "--gpu", "L4", "--isolated"]


@dataclass(frozen=True, slots=True)
class Done:
    """A finished run: its output, and its wall and processor time in seconds, including the workers."""

    out: bytes
    seconds: float
    processor: float


@contextmanager
def models(folder: Path) -> Iterator[Path]:
    """Yield the real exported models; without such models, yield small generated models that all differ."""
    exported = Path(os.environ.get("TRTLINT_SHARED", ROOT.parent / "shared")) / "data" / "exported"
    if exported.is_dir():
        yield exported
        return
    own = folder / "models"
    own.mkdir()
    originals = sorted((ROOT / "tests" / "data" / "models").glob("*.onnx"))
    for number in range(COPIES):
        # Protobuf merges concatenated messages, so the appended bytes add an entry to the metadata.
        extra = onnx.ModelProto(metadata_props=[onnx.StringStringEntryProto(key="copy", value=str(number))])
        data = originals[number % len(originals)].read_bytes() + extra.SerializeToString()
        (own / f"{number}.onnx").write_bytes(data)
    yield own


def begin(arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], Path, float]:
    """Start a run whose output goes to its own file."""
    descriptor, name = tempfile.mkstemp()
    with os.fdopen(descriptor, "wb") as file:
        start = time.perf_counter()
        process = subprocess.Popen([*TRTLINT, *arguments], stdout=file, env=ENVIRONMENT)
    return process, Path(name), start


def end(process: subprocess.Popen[bytes], output: Path, start: float) -> Done:
    """Wait for a run.

    Raises:
        subprocess.CalledProcessError: the run failed.
    """
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise subprocess.CalledProcessError(process.returncode, process.args)
    out = output.read_bytes()
    output.unlink()
    return Done(out, seconds, usage.ru_utime + usage.ru_stime)


def run(*arguments: str) -> Done:
    """Run trtlint."""
    return end(*begin(arguments))


def damage(cache: Path) -> dict[Path, bytes]:
    """Truncate or change every entry of a cache; return the original contents."""
    entries = {entry: entry.read_bytes() for entry in sorted(cache.glob("*/*.json"))}
    for number, (entry, data) in enumerate(entries.items()):
        entry.write_bytes(data[: len(data) // 2] if number % 2 else data.replace(b"[", b"{", 1))
    return entries


def main() -> bool:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with models(folder) as path:
            count = len(list(path.glob("*.onnx")))
            load = os.getloadavg()[0]
            print(f"{count} models, {os.cpu_count()} processors, load {load:.1f} before the start")
            return _cache(path, folder) & _processes(path)


def _cache(path: Path, folder: Path) -> bool:
    command = [str(path), *SETTINGS, "--cache-dir"]
    first = str(folder / "first")
    cold = run(*command, first)
    warm = min((run(*command, first) for _ in range(3)), key=lambda done: done.seconds)
    print(
        f"  cold {cold.seconds:.2f} s ({cold.processor:.2f} s of processor), "
        f"warm {warm.seconds:.2f} s ({warm.processor:.2f} s)"
    )
    second = str(folder / "second")
    together = [begin([*command, second]) for _ in range(2)]
    outputs = [end(*started).out for started in together]
    entries = damage(folder / "first")
    mended = run(*command, first)
    rebuilt = all(entry.read_bytes() == data for entry, data in entries.items())
    facts = {
        "a warm cache gives the same report": warm.out == cold.out,
        "two runs at once on one cache agree": outputs == [cold.out, cold.out],
        f"{len(entries)} damaged entries change nothing and are rebuilt": mended.out == cold.out and rebuilt,
    }
    for fact, holds in facts.items():
        print(f"  {fact:<64} {'yes' if holds else 'NO'}")
    return report("warm run / cold run", warm.seconds / cold.seconds, 0.1) and all(facts.values())


def _processes(path: Path) -> bool:
    if (os.cpu_count() or 1) < 2:
        print("  one processor only: nothing to gain from a second process")
        return True
    command = [str(path), *SETTINGS, "--no-cache", "-j"]
    runs: dict[str, list[Done]] = {"1": [], "2": []}
    for _ in range(3):
        for workers, done in runs.items():
            done.append(run(*command, workers))
    one, two = (min(done, key=lambda done: done.seconds) for done in runs.values())
    print(
        f"  -j 1 {one.seconds:.2f} s ({one.processor:.2f} s of processor), "
        f"-j 2 {two.seconds:.2f} s ({two.processor:.2f} s)"
    )
    same = one.out == two.out
    print(f"  {'-j 2 gives the same report':<64} {'yes' if same else 'NO'}")
    return report("-j 2 / -j 1 (1.6 times as fast is 0.625)", two.seconds / one.seconds, 0.625) and same


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
