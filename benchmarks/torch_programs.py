"""Compare trtlint's predictions for programs with the dry run of Torch-TensorRT.

``python -m benchmarks.torch_programs PYTHON WHEELS [--releases 2.7 2.14]``: PYTHON has torch, the wheels of
TensorRT-RTX, timm and transformers. WHEELS contains an unpacked wheel of each release
(``WHEELS/2.14.0/torch_tensorrt``). No GPU is needed.

PYTHON exports the programs: single operators with a fixed and with a dynamic batch, layers, and whole models.
For each release, one process compiles them with ``dryrun=True``, and keeps the printed text and the answers
of the converter registry. Another process runs trtlint's dry run. The command prints each program with
different engines, operators without a converter, reasons, or nodes in PyTorch.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trtlint.knowledge.torchreleases import TorchRelease, torch_releases
from trtlint.torch_tensorrt.asking import OLDEST
from trtlint.torch_tensorrt.result import DryRun, result_of

HERE = Path(__file__).resolve().parents[1]
EXPORT = """
import sys, warnings
warnings.simplefilter("ignore")
sys.path[:0] = [f"{sys.argv[1]}/{name}" for name in ("scripts", "benchmarks")]
from pathlib import Path
import torch
import torch_operators
from torch_models import layers, models
out = Path(sys.argv[2])
def save(name, module, inputs, dynamic):
    shapes = tuple({0: torch.export.Dim("b", min=1, max=8)} for _ in inputs) if dynamic else None
    try:
        with torch.no_grad():
            if dynamic:
                program = torch.export.export(module.eval(), inputs, dynamic_shapes=shapes)
            else:
                program = torch.export.export(module.eval(), inputs)
        torch.export.save(program, str(out / f"{name}.pt2"))
    except Exception as error:  # torch.export raises many kinds of errors; the output names the program
        print(f"{name}: not exported: {type(error).__name__}")
for number, (function, inputs) in enumerate(torch_operators.programs(torch)):
    class One(torch.nn.Module):
        def forward(self, *values, function=function):
            return function(*values)
    class One1(torch.nn.Module):
        def forward(self, v, function=function):
            return function(v)
    class One2(torch.nn.Module):
        def forward(self, v, w, function=function):
            return function(v, w)
    made = {1: One1, 2: One2}.get(len(inputs), One)()
    name = f"op{number:03}"
    save(name, made, inputs, False)
    if len(inputs) in (1, 2):
        save(name + "-dynamic", made, inputs, True)
for name, module, inputs in layers(torch):
    save(f"layer-{name}", module, inputs, False)
    save(f"layer-{name}-dynamic", module, inputs, True)
for name, module, inputs in models(torch):
    save(f"model-{name}", module, inputs, False)
"""
THEIRS = """
import contextlib, io, json, logging, sys, tempfile, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
from pathlib import Path
from trtlint.torch_tensorrt._stand_in import install
package = install(sys.argv[2], sys.argv[3], [89], sys.argv[4], Path(tempfile.mkdtemp()))
import torch
logged = []
class Keep(logging.Handler):
    def emit(self, record):
        logged.append(record.getMessage())
compiler = logging.getLogger("torch_tensorrt.dynamo._compiler")
compiler.handlers[:], compiler.propagate = [Keep()], False
compiler.setLevel(logging.INFO)
registry = sys.modules["torch_tensorrt.dynamo.conversion._ConverterRegistry"]
asked, impure = {}, set()
stack = []
def watched(support):
    real = support.capability_validator
    def validator(*given):
        stack.append([])  # A validator can ask the registry about another node.
        found = real(*given)
        stack.pop()
        if stack:
            stack[-1].append(bool(found))
        return found
    object.__setattr__(support, "capability_validator", validator)
for table in registry.DYNAMO_CONVERTERS.registries:
    for own in table.values():
        for each in own if isinstance(own, (list, tuple)) else ():
            watched(each)
real = registry.ConverterRegistry.__getitem__
def getitem(self, node):
    stack.append([])
    try:
        return real(self, node)
    except KeyError as error:
        if "disallowed" in str(error):
            kind = "excluded"
        elif not any(node.target in table for table in self.registries):
            kind = "none"
        else:
            callables = any(callable(table.get(node.target)) for table in self.registries)
            kind = "static" if callables or any(stack[-1]) else "validator"
        if node.op == "call_function":
            asked[node.name] = kind
            if node.is_impure():
                impure.add(node.name)
        raise
    finally:
        stack.pop()
registry.ConverterRegistry.__getitem__ = getitem
if sys.argv[2].startswith("2.10."):
    # dryrun=True raises AttributeError before it prints, because PyTorch parts lack this method.
    torch.fx.GraphModule.set_output_tensors_as_unowned = lambda *_: None
def spec(value):
    if all(isinstance(size, int) for size in value.shape):
        return package.Input(shape=tuple(value.shape), dtype=value.dtype)
    low, usual, high = (
        [size if isinstance(size, int) else bound for size in value.shape] for bound in (1, 4, 8)
    )
    return package.Input(min_shape=low, opt_shape=usual, max_shape=high, dtype=value.dtype)
for file in sorted(Path(sys.argv[5]).glob("*.pt2")):
    asked.clear()
    impure.clear()
    logged.clear()
    program = torch.export.load(str(file))
    named = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    inputs = [spec(named[name]) for name in program.graph_signature.user_inputs]
    text, error = io.StringIO(), ""
    options = {"min_block_size": 5 if file.name.startswith("model") else 1}
    with contextlib.redirect_stdout(text):
        try:
            package.dynamo.compile(
                program, arg_inputs=inputs, device=package.Device("cuda:0"), dryrun=True, **options
            )
        except Exception as problem:  # the kind of exception is part of the answer
            error = type(problem).__name__
    said = text.getvalue() + "\\n".join(logged)
    print("ANSWER" + json.dumps([file.name, said, error, asked, sorted(impure)]), flush=True)
"""
OURS = """
import json, logging, sys, tempfile, warnings
sys.path.insert(0, sys.argv[1])
warnings.simplefilter("ignore")
from pathlib import Path
from trtlint.torch_tensorrt import _dryrun
from trtlint.torch_tensorrt._stand_in import install
package = install(sys.argv[2], sys.argv[3], [89], sys.argv[4], Path(tempfile.mkdtemp()))
import torch
logging.disable(logging.CRITICAL)
for file in sorted(Path(sys.argv[5]).glob("*.pt2")):
    answers = []
    options = {"min_block_size": 5 if file.name.startswith("model") else 1}
    request = {"release": sys.argv[2], "options": options, "build": False}
    _dryrun.compile_program(torch, package, request, answers.append, torch.export.load(str(file)))
    print("ANSWER" + json.dumps([file.name, answers]), flush=True)
"""
_NOTHING = re.compile(r"(\d+) supported operations detected in subgraph containing (\d+) computational")
_COVERAGE = re.compile(r"consists of (\d+) Total Operators, of which (\d+) operators are supported")
_COUNT = re.compile(r"^ ?(\S+): (\d+)$", re.MULTILINE)
_NODES = re.compile(r"currently set to run in Torch:\n(.*?)\nNote:", re.DOTALL)
_UNSUPPORTED = re.compile(r"listed with their op-count in the graph:\n(.*?)\n\n", re.DOTALL)
_ENGINE = re.compile(r"Number of Operators in Engine: (\d+)")


def answers_of(python: str, code: str, release: TorchRelease, wheels: str, programs: Path) -> list[Any]:
    """Run a child process and return its answers, one for each program."""
    command = [
        python,
        "-c",
        code,
        str(HERE),
        release.version,
        release.tensorrt,
        f"{wheels}/{release.version}",
        str(programs),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWER")]
    if done.returncode:
        print(f"{release.version}: ended early: {done.stderr.strip().splitlines()[-1:]}")
    return [json.loads(line.removeprefix("ANSWER")) for line in lines]


def printed(text: str, error: str, asked: Mapping[str, str]) -> dict[str, Any]:
    """Parse the text of a dry run."""
    coverage, nothing = _COVERAGE.search(text), _NOTHING.search(text)
    if coverage is None and nothing is not None and not error:
        # No operator is converted: the log reports this, and the release prints no dry run.
        reasons = dict(sorted(asked.items()))
        return {"total": int(nothing[2]), "supported": int(nothing[1]), "engines": 0, "reasons": reasons}
    if coverage is None:
        return {"error": error or "nothing printed"}
    unsupported = _UNSUPPORTED.search(text)
    counts = {} if unsupported is None else {_short(op): int(n) for op, n in _COUNT.findall(unsupported[1])}
    nodes = _NODES.search(text)
    sizes = [int(size) for size in _ENGINE.findall(text)]
    return {
        "error": error,
        "total": int(coverage[1]),
        "supported": int(coverage[2]),
        "unsupported": counts,
        "in_torch": sorted(nodes[1].split("\n")) if nodes else [],
        "engines": len(sizes),
        "sizes": sizes,
        "reasons": dict(sorted(asked.items())),
    }


def _short(operator: str) -> str:
    return operator.removeprefix("torch.ops.").removeprefix("_operator.")


def told(run: DryRun, answers: Sequence[Any], impure: Sequence[str]) -> dict[str, Any]:
    """Return the same data from trtlint's dry run.

    The printed text does not count operators with random results or other side effects, although it lists
    their nodes as nodes in PyTorch. trtlint reports these operators. The registry has no converter for
    operators that exist only on CPUs.
    """
    if not run.operators:
        return {"error": run.error.partition(":")[0] or run.unasked}
    sizes: list[int] = next((each["engine_operators"] for each in answers if "engine_operators" in each), [])
    return {
        "error": run.error.partition(":")[0],
        "total": run.operators,
        "supported": run.supported,
        "unsupported": dict(Counter(each.op for each in run.fallbacks if each.name not in impure)),
        "in_torch": sorted(run.in_torch),
        "engines": run.engines,
        "sizes": sizes,
        "reasons": {
            each.name: "none" if each.reason_kind == "cpu" else each.reason_kind
            for each in sorted(run.fallbacks, key=lambda f: f.name)
        },
    }


def compare(release: TorchRelease, python: str, wheels: str, programs: Path) -> tuple[int, int, int]:
    """Print the differences for a release; return the number of programs, fallbacks and differences."""
    with ThreadPoolExecutor(2) as pool:
        codes = (THEIRS, OURS)
        theirs, own = pool.map(lambda code: answers_of(python, code, release, wheels, programs), codes)
    ours = dict(own)
    different = fallbacks = 0
    for name, text, error, asked, impure in theirs:
        expected = printed(text, error, asked)
        answers = ours.get(name, [])
        found = told(result_of(answers, "", 0.0, None), answers, impure)
        fallbacks += len(expected.get("reasons", ()))
        keys = [key for key in expected if expected[key] != found.get(key)]
        if keys:
            different += 1
            for key in keys:
                both = f"{expected[key]!r:.300}, trtlint {found.get(key)!r:.300}"
                print(f"{release.version}: {name}: {key}: {both}")
    return len(theirs), fallbacks, different


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the differences and a line for each release, and return the number of programs that differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("python")
    parser.add_argument("wheels")
    parser.add_argument("--releases", nargs="*", default=[])
    parser.add_argument("--programs", type=Path)
    given = parser.parse_args(arguments)
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        programs = given.programs or Path(folder)
        if not any(programs.glob("*.pt2")):
            programs.mkdir(exist_ok=True)
            subprocess.run([given.python, "-c", EXPORT, str(HERE), str(programs)], check=True, timeout=1800)
        for release in torch_releases():
            named = {release.line, release.version} & set(given.releases)
            if given.releases and not named:
                continue
            if release.minor < OLDEST or not Path(given.wheels, release.version).is_dir():
                continue
            count, fallbacks, differ = compare(release, given.python, given.wheels, programs)
            total += differ
            print(f"{release.version}: {count} programs, {fallbacks} fallbacks, {differ} differ", flush=True)
    return total


if __name__ == "__main__":
    sys.exit(bool(main()))
