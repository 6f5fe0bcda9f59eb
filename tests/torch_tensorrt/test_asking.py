"""Tests that an impossible Torch-TensorRT dry run gives a message, never a finding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from trtlint.engine.evidence.torch import TorchProgramEvidence
from trtlint.facts.facts import Facts
from trtlint.facts.of_torch.torch_operator import TorchOperatorFact
from trtlint.process.spawn import Limits
from trtlint.torch_tensorrt._dryrun import _whole, logged_errors, raised_at
from trtlint.torch_tensorrt._stand_in import remove_checks
from trtlint.torch_tensorrt.asking import UNTRUSTED, TorchRequest, ask
from trtlint.torch_tensorrt.program import Program
from trtlint.torch_tensorrt.result import result_of

PYTHON = os.environ.get("TRTLINT_TORCH_PYTHON", "")
WHEELS = os.environ.get("TRTLINT_TORCH_WHEELS", "")
"""A Python with torch and the TensorRT-RTX wheels, and a folder with an unpacked wheel per release."""
needs_torch = pytest.mark.skipif(not PYTHON or not WHEELS, reason="needs torch and Torch-TensorRT's wheels")

RESNET = """
import sys, torch
nn = torch.nn
class Block(nn.Module):
    def __init__(self, i, m, s):
        super().__init__()
        o = 4 * m
        def conv(a, b, k, s=1):
            return nn.Sequential(nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b))
        self.a, self.b, self.c = conv(i, m, 1), conv(m, m, 3, s), conv(m, o, 1)
        self.d = conv(i, o, 1, s) if s != 1 or i != o else nn.Identity()
    def forward(self, x):
        y = torch.relu(self.b(torch.relu(self.a(x))))
        return torch.relu(self.c(y) + self.d(x))
class ResNet(nn.Module):
    def __init__(self, w=8):
        super().__init__()
        self.stem, self.bn = nn.Conv2d(3, w, 7, 2, 3, bias=False), nn.BatchNorm2d(w)
        blocks, i = [], w
        for n, (k, s) in enumerate(((3, 1), (4, 2), (6, 2), (3, 2))):
            for j in range(k):
                blocks.append(Block(i, w << n, s if j == 0 else 1))
                i = 4 * (w << n)
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(i, 10)
    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.bn(self.stem(x))), 3, 2, 1)
        return self.fc(self.blocks(x).mean((2, 3)))
class Small(nn.Module):
    def forward(self, x):
        for _ in range(6):
            x = torch.relu(x + 1)
        x = torch.cumprod(x, 1)
        for _ in range(6):
            x = torch.relu(x + 1)
        return x
class Casts(nn.Module):
    def forward(self, x):
        x = torch.relu(x + x).float()
        x = torch.relu(x * x).half()
        return torch.relu(x - 1)
torch.export.save(torch.export.export(Casts(), (torch.randn(2, 8).half(),)), "casts.pt2")
torch.export.save(torch.export.export(ResNet().eval(), (torch.randn(1, 3, 64, 64),)), "resnet.pt2")
batch = {0: torch.export.Dim("b", min=1, max=8)}
torch.export.save(torch.export.export(Small(), (torch.randn(2, 8),), dynamic_shapes=(batch,)), "small.pt2")
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a narrow ResNet-50 and a program with an operator that falls back."""
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([PYTHON, "-c", RESNET], cwd=folder, check=True, timeout=300)
    return folder


def request_(release: str, *, build: bool = False) -> TorchRequest:
    """Return a request for a release."""
    return TorchRequest(release, 89, PYTHON, f"{WHEELS}/{release}", build=build, trusted=True)


def test_no_program_is_loaded_without_consent(tmp_path: Path) -> None:
    assert ask(tmp_path / "m.pt2", TorchRequest("2.13.0", 89)).unasked == UNTRUSTED


def test_a_python_without_the_wheel(tmp_path: Path) -> None:
    run = ask(tmp_path / "m.pt2", TorchRequest("2.13.0", 89, trusted=True, limits=Limits(60.0)))
    assert run.unasked == "the package torch-tensorrt is not installed in this Python"
    assert run.engines is None


def test_a_wheel_of_another_release(tmp_path: Path) -> None:
    package = tmp_path / "torch_tensorrt"
    package.mkdir()
    (package / "_version.py").write_text('__version__ = "2.9.0"\n')
    run = ask(tmp_path / "m.pt2", TorchRequest("2.13.0", 89, wheel=str(tmp_path), trusted=True))
    assert run.unasked == "torch-tensorrt 2.9.0 is installed, not 2.13.0"


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    run = ask(tmp_path / "m.pt2", TorchRequest("2.13.0", 89, str(tmp_path / "python"), trusted=True))
    assert "cannot be run" in run.unasked


def test_a_release_that_was_not_tested(tmp_path: Path) -> None:
    assert "cannot run" in ask(tmp_path / "m.pt2", TorchRequest("2.5.0", 89, trusted=True)).unasked


def test_a_process_that_crashes_is_no_answer() -> None:
    run = result_of([{"stage": "load"}, {"stage": "network"}], "crashed (SIGSEGV)", 1.0, None)
    assert run.unasked == "at the stage 'network' of the dry run, the process crashed (SIGSEGV)"


def fallback(name: str, op: str, kind: str) -> dict[str, Any]:
    """Return a node that runs in PyTorch."""
    return {"name": name, "op": op, "module": "", "trace": "", "type": "", "reason": {"kind": kind, "by": ""}}


def test_a_program_without_engines_runs_in_pytorch_as_a_whole() -> None:
    run = result_of(
        [{"stage": "partition", "operators": 7, "fallbacks": []}, {"supported": 3}, {"stage": "done"}],
        "", 1.0, None,
    )  # fmt: skip
    assert (run.engines, run.torch_nodes) == (0, 7)


def test_what_takes_a_result_of_another_operator_is_no_finding_of_its_own() -> None:
    fallbacks = [
        fallback("kthvalue", "aten.kthvalue.default", "none"),
        fallback("getitem", "getitem", "validator"),
        fallback("mul", "aten.mul.Tensor", "complex"),
    ]
    run = result_of(
        [{"operators": 9, "fallbacks": fallbacks}, {"engines": 2}, {"stage": "done"}], "", 1.0, None
    )
    program = Program("m.pt2", "2.13.0", "2.13.0", (), run)
    facts = Facts(None, evidence=(TorchProgramEvidence(program),))
    found = [fact for fact in facts.of("torch_operator") if isinstance(fact, TorchOperatorFact)]
    assert [(fact.name, fact.reason) for fact in found] == [
        ("kthvalue", "no converter"),
        ("mul", "the operator computes with complex numbers"),
    ]


class Graph:
    """A fake graph whose nodes have only targets."""

    def __init__(self, *targets: str) -> None:
        self.nodes = [SimpleNamespace(target=target) for target in targets]

    def erase_node(self, node: SimpleNamespace) -> None:
        """Remove a node."""
        self.nodes.remove(node)


def test_checks_of_newer_torch_are_removed() -> None:
    targets = ["aten.add.Tensor", "aten._assert_tensor_metadata.default", "aten._to_copy.default"]
    compiled: list[bool] = []
    module = SimpleNamespace(graph=Graph(*targets), recompile=lambda: compiled.append(True))
    assert remove_checks(module) is module
    assert [node.target for node in module.graph.nodes] == [targets[0], targets[2]]
    remove_checks(module)
    assert compiled == [True]


def test_nothing_of_torch_is_imported_here() -> None:
    code = "import trtlint.cli, trtlint.examples.blocks, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


@pytest.mark.slow
def test_a_lint_of_a_model_imports_nothing_for_torch(tmp_path: Path) -> None:
    """Neither torch nor the modules for Torch-TensorRT programs and scripts are imported."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "net", value[:1], value[1:])
    onnx.save(helper.make_model(graph), tmp_path / "net.onnx")
    code = (
        "import sys; from trtlint.cli import run;"
        "run(['net.onnx', '--trt', '10.7', '--isolated', '--no-cache']);"
        "print(*(m for m in sys.modules if m.startswith(('torch', 'tensorrt', 'trtlint.torch_tensorrt'))))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == ""


@needs_torch
@pytest.mark.parametrize(
    ("release", "tensors", "scales"),
    [
        ("2.6.1", 0, 0),
        ("2.7.0", 53, 0),
        ("2.8.0", 0, 53),
        ("2.9.0", 0, 53),
        ("2.12.1", 0, 53),
        ("2.14.0", 0, 53),
    ],
)
def test_weights_reach_tensorrt_as_tensors_in_2_7_only(
    programs: Path, release: str, tensors: int, scales: int
) -> None:
    """ResNet-50 has 53 such convolutions: https://github.com/pytorch/TensorRT/issues/3561."""
    run = ask(programs / "resnet.pt2", request_(release))
    assert (run.unasked, run.error, run.engines) == ("", "", 1)
    assert (run.convolutions, run.tensor_weights) == (53, tensors)
    assert run.layers.get("SCALE", 0) == scales


@needs_torch
def test_an_operator_that_falls_back(programs: Path) -> None:
    run = ask(programs / "small.pt2", request_("2.13.0", build=True))
    assert run.unasked == ""
    assert [(each.op, each.reason) for each in run.fallbacks] == [("aten.cumprod.default", "no converter")]
    assert (run.engines, run.built) == (2, 2)


def test_the_log_shows_why_the_builder_rejects_a_network() -> None:
    first = "ITensor::getDimensions: Error Code 4: API Usage Error (input is BFloat16 but kernel is Float)"
    log = "\n".join(
        [
            "Loading the module",
            first,
            "Error Code 1: Cuda Runtime (CUDA driver version is insufficient for CUDA runtime version)",
            "ITensor::getDimensions: Error Code 4: (Output shape can not be computed for node a.)",
            first,
            "[11/23/2026-10:00:00] [TRT] [E] IBuilder::buildSerializedNetwork: no engine",
        ]
    )
    assert logged_errors(log.encode()) == [first, "[E] IBuilder::buildSerializedNetwork: no engine"]


def test_an_error_names_the_operator_and_the_function_of_torch_tensorrt(tmp_path: Path) -> None:
    folder = tmp_path / "torch_tensorrt"
    folder.mkdir()
    (folder / "registry.py").write_text(
        "class Node:\n    op, target = 'call_function', 'aten.sort.default'\n\n"
        "def sort_validator(node):\n    return ()[1]\n\n"
        "def contains():\n    return sort_validator(Node())\n",
        encoding="utf-8",
    )
    found: dict[str, Any] = {}
    exec(compile((folder / "registry.py").read_text("utf-8"), str(folder / "registry.py"), "exec"), found)
    with pytest.raises(IndexError) as raised:
        found["contains"]()
    assert raised_at(raised.value) == " (aten.sort.default in sort_validator)"
    assert raised_at(ValueError("raised elsewhere")) == ""


def test_an_unbounded_size_gets_a_range() -> None:
    class Infinity:
        def __int__(self) -> int:
            raise AttributeError("'Infinity' object has no attribute '_mpf_'")

    assert _whole(Infinity(), 64) == 64
