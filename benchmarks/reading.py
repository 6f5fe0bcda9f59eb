"""Cost of 1 GB of weights in a model, compared with small weights, and with tools that read all weights."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from benchmarks.measure import PYTHON, TRTLINT, cost, report
from trtlint.model.wire import header

BLOCKS, HEADS, LENGTH = 24, 16, 128
LARGE, SMALL = 960, 64
"""Widths of the two models. The large model has a gigabyte of float32 weights."""

COMMANDS = {
    "trtlint": [*TRTLINT, "--trt", "10.7", "--no-cache"],
    "onnx.load": [*PYTHON, "-c", "import sys, onnx; onnx.load(sys.argv[1])"],
    "polygraphy inspect model": [
        *PYTHON,
        "-c",
        "import sys; from polygraphy.tools import main; sys.argv[1:1] = ['inspect', 'model']; main()",
    ],
}
"""Whole commands. The benchmark appends the path of a model."""

WORK = {
    "trtlint": (
        "from pathlib import Path; from trtlint import Target, lint",
        "lint(Path(sys.argv[1]), target=Target(version='10.7'))",
    ),
    "onnx.load": ("import onnx", "onnx.load(sys.argv[1])"),
    "polygraphy inspect model": (
        "import onnx; from polygraphy.tools import main; sys.argv[1:1] = ['inspect', 'model']",
        "main()",
    ),
}
"""The work of each command, without the start of Python and the imports."""

_TIMED = """
import contextlib, io, sys, time
{imports}
start = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    {work}
print(time.perf_counter() - start)
"""

# The kernel counts the memory of a process before exec. So a small process starts the command.
_PEAK = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ,
                       file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(child, 0)
assert os.waitstatus_to_exitcode(status) in (0, 1), status
print(usage.ru_maxrss)
"""

Weights = dict[str, list[int]]


def transformer(width: int) -> tuple[onnx.GraphProto, Weights]:
    """Return a pre-norm transformer at opset 17 without its weights, and the shapes of the weights."""
    nodes: list[onnx.NodeProto] = []
    weights: Weights = {}
    shape = [1, LENGTH, width]

    def node(op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op}_{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [name], name=f"/{name}", **attributes))
        return name

    def weight(*dims: int) -> str:
        name = f"w{len(weights)}"
        weights[name] = list(dims)
        return name

    def ints(*values: int) -> str:
        return node("Constant", value_ints=list(values))

    def linear(x: str, rows: int, columns: int) -> str:
        return node("Add", node("MatMul", x, weight(rows, columns)), weight(columns))

    def norm(x: str) -> str:
        return node("LayerNormalization", x, weight(width), weight(width), axis=-1)

    def head(x: str, perm: list[int]) -> str:
        split = node("Reshape", linear(x, width, width), ints(1, LENGTH, HEADS, width // HEADS))
        return node("Transpose", split, perm=perm)

    x = "x"
    for _ in range(BLOCKS):
        h = norm(x)
        scores = node("MatMul", head(h, [0, 2, 1, 3]), head(h, [0, 2, 3, 1]))
        scaled = node("Mul", scores, node("Constant", value_float=(width // HEADS) ** -0.5))
        attended = node("MatMul", node("Softmax", scaled, axis=-1), head(h, [0, 2, 1, 3]))
        merged = node("Reshape", node("Transpose", attended, perm=[0, 2, 1, 3]), ints(*shape))
        x = node("Add", x, linear(merged, width, width))
        x = node("Add", x, linear(node("Relu", linear(norm(x), width, 4 * width)), 4 * width, width))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", x)]
    return helper.make_graph(nodes, "transformer", ends[:1], ends[1:]), weights


def write(path: Path, width: int) -> None:
    """Write the model weight by weight, so that only one weight is in memory."""
    graph, weights = transformer(width)
    model = onnx.ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)])
    noise = os.urandom(1 << 20)

    def pieces() -> Iterator[tuple[bytes, int]]:
        """Yield the bytes before the elements of each weight, and the size of the elements in bytes."""
        for name, dims in weights.items():
            size = 4
            for dim in dims:
                size *= dim
            head = TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT).SerializeToString()
            head += header(TensorProto.RAW_DATA_FIELD_NUMBER, size)
            yield header(onnx.GraphProto.INITIALIZER_FIELD_NUMBER, len(head) + size) + head, size

    nodes = graph.SerializeToString()
    total = len(nodes) + sum(len(head) + size for head, size in pieces())
    with path.open("wb") as file:
        file.write(model.SerializeToString())
        file.write(header(onnx.ModelProto.GRAPH_FIELD_NUMBER, total) + nodes)
        for head, size in pieces():
            file.write(head)
            for start in range(0, size, len(noise)):
                file.write(noise[: size - start])


def peak(command: Sequence[str]) -> float:
    """Return the peak memory of a command in MB."""
    return float(_output([*PYTHON, "-S", "-c", _PEAK, *command])) / 1024


def work(tool: str, path: Path) -> float:
    """Return the seconds of the work in a fresh process, without its start."""
    imports, call = WORK[tool]
    return float(_output([*PYTHON, "-c", _TIMED.format(imports=imports, work=call), str(path)]).split()[-1])


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout


def main() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.onnx", Path(folder) / "small.onnx"
        write(large, LARGE)
        write(small, SMALL)
        sizes = [path.stat().st_size / 1e6 for path in (large, small)]
        print(f"reading a model of {sizes[0]:,.0f} MB, and the same graph with {sizes[1]:,.1f} MB")
        wholes: dict[str, float] = {}
        works: dict[str, float] = {}
        memory: dict[str, float] = {}
        cases = [("trtlint", small), *((tool, large) for tool in COMMANDS)]
        print(f"  {'':<36}  whole command     work alone    peak memory")
        for tool, path in cases:
            name = f"{tool}, {path.stem}"
            command = [*COMMANDS[tool], str(path)]
            memory[name] = peak(command)
            wholes[name] = cost(command).seconds
            works[name] = min(work(tool, path) for _ in range(5))
            print(f"  {name:<36} {wholes[name]:12.2f} s {works[name]:12.2f} s {memory[name]:11.0f} MB")
    ours, tiny = "trtlint, large", "trtlint, small"
    return all(
        [
            report("trtlint, 1 GB of weights / small weights", wholes[ours] / wholes[tiny], 1.3),
            *(
                report(f"trtlint / {tool}, start-up apart", works[ours] / works[f"{tool}, large"], 0.2)
                for tool in COMMANDS
                if tool != "trtlint"
            ),
            report("peak memory of trtlint", memory[ours], 150, " MB"),
        ]
    )


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
