"""Tests of exported programs read from their JSON alone, within limits."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from trtlint.torch_tensorrt.arguments import OperatorArgument
from trtlint.torch_tensorrt.program import Program, ProgramError, ProgramNode, read_program

TRACE = 'File "/home/me/net/model.py", line 12, in forward\n    return torch.cumprod(x, 1)'


def node(target: str, name: str, module: str = "head") -> dict[str, Any]:
    """Return an operator in torch's format."""
    stack = f"L__self__,,net.Net;L__self___{module},{module},net.Head"
    return {
        "target": f"torch.ops.{target}",
        "inputs": [],
        "outputs": [{"as_tensor": {"name": name}}],
        "metadata": {"stack_trace": TRACE, "nn_module_stack": stack},
        "name": name,
    }


def document(*nodes: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a program with these operators."""
    sizes = [{"as_expr": {"expr_str": "s77"}}, {"as_int": 8}]
    values = {each["name"]: {"dtype": 7, "sizes": sizes} for each in nodes}
    graph = {"inputs": [], "outputs": [], "nodes": list(nodes), "tensor_values": values}
    return {
        "graph_module": {"graph": graph},
        "range_constraints": {"s77": {"min_val": 1, "max_val": 8}},
        "torch_version": "2.13.0",
    }


def write(file: Path, content: object, name: str = "model/models/model.json") -> Path:
    """Write a program."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        archive.writestr(name, data)
    return file


def test_operators_with_module_source_and_type(tmp_path: Path) -> None:
    file = write(tmp_path / "m.pt2", document(node("aten.cumprod.default", "cumprod")))
    program = read_program(file, "2.13.0")
    (only,) = program.nodes
    assert (only.op, only.name, only.module) == ("aten.cumprod.default", "cumprod", "head")
    assert only.trace == TRACE
    assert only.type == "float32[?, 8]"
    assert program.torch == "2.13.0"


def test_the_layout_of_older_releases(tmp_path: Path) -> None:
    content = document(node("aten.relu.default", "relu"))
    file = write(tmp_path / "m.pt2", content, "serialized_exported_program.json")
    assert [each.op for each in read_program(file, "2.6.1").nodes] == ["aten.relu.default"]


class Mark:
    """An object that writes a file when it is unpickled."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return open, (self.file, "w")


def test_no_pickle_is_loaded_and_no_path_is_followed(tmp_path: Path) -> None:
    file, mark = tmp_path / "m.pt2", tmp_path / "mark"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("m/models/model.json", json.dumps(document(node("aten.relu.default", "relu"))))
        for name in (
            "m/data/constants/c.pt",
            "m/data/sample_inputs/model.pt",
            "../../../climbs.pt",
            "/etc/x",
        ):
            archive.writestr(name, pickle.dumps(Mark(str(mark))))
    before = sorted(tmp_path.iterdir())
    assert len(read_program(file, "2.13.0").nodes) == 1
    assert not mark.exists()
    assert sorted(tmp_path.iterdir()) == before


def test_a_zip_bomb_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.torch_tensorrt.program._MOST_BYTES", 1 << 20)
    file = write(tmp_path / "m.pt2", b" " * (4 << 20))
    assert file.stat().st_size < 100_000
    with pytest.raises(ProgramError, match="more than 1 MiB"):
        read_program(file, "2.13.0")


@pytest.mark.slow
def test_ten_thousand_operators(tmp_path: Path) -> None:
    file = write(tmp_path / "m.pt2", document(*(node("aten.relu.default", f"r{i}") for i in range(10_000))))
    assert len(read_program(file, "2.13.0").nodes) == 10_000


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b"null", b'{"graph_module": 1}', b"[" * 100_000, b"\xff\xfe", b"1" * 10_000],
)
def test_damaged_programs_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ProgramError, match=r"m\.pt2"):
        read_program(write(tmp_path / "m.pt2", content), "2.13.0")


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"no zip", pickle.dumps({})])
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "m.pt2"
    file.write_bytes(data)
    with pytest.raises(ProgramError, match=r"m\.pt2"):
        read_program(file, "2.13.0")


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    file = write(tmp_path / "m.pt2", document(node("aten.relu.default", "relu")), "m\u00e9/models/model.json")
    file.write_bytes(file.read_bytes().replace("\u00e9".encode(), b"\xff\xff"))
    with pytest.raises(ProgramError, match="not an exported program"):
        read_program(file, "2.13.0")


def test_other_zips_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="not an exported program"):
        read_program(write(tmp_path / "m.pt2", {}, "data.pkl"), "2.13.0")


def test_an_operator_that_is_damaged(tmp_path: Path) -> None:
    broken = document(node("aten.relu.default", "relu"))
    broken["graph_module"]["graph"]["nodes"] = [{"name": "x"}]
    with pytest.raises(ProgramError, match="damaged"):
        read_program(write(tmp_path / "m.pt2", broken), "2.13.0")


def test_nodes_with_and_without_data(tmp_path: Path) -> None:
    types = {
        "x": {"dtype": 7, "sizes": [{"as_int": size} for size in range(18)]},
        "y": {"dtype": 5, "sizes": []},
    }
    nodes = [
        {"target": "torch.ops.aten.a.default", "outputs": [{"as_tensor": {"name": "x"}}]},
        {"target": "_operator.getitem", "name": "own",
         "outputs": [{"as_tensors": [{"name": "y"}, {"name": "x"}]}]},
        {"target": "c", "outputs": [{"as_int": 1}, {"as_tensor": {"name": "y"}}], "metadata": None},
        {"target": "d", "outputs": None,
         "metadata": {"nn_module_stack": "a,b,c;d", "stack_trace": "t" * 8001}},
        {"target": "e" * 1001, "metadata": {"nn_module_stack": f"a,b;c,{'m' * 1001},d"}, "name": "n" * 1001},
        {"target": "f", "outputs": [{"as_tensor": {"name": "z"}}], "inputs": [{"arg": {"as_int": 1}}]},
    ]  # fmt: skip
    graph = {"nodes": nodes, "tensor_values": types}
    file = write(tmp_path / "m.pt2", {"graph_module": {"graph": graph}, "torch_version": "2" * 41})
    sizes = ", ".join(map(str, range(16)))
    assert read_program(file, "2.13.0") == Program(
        str(file), "2.13.0", "2" * 40,
        (
            ProgramNode("x", "aten.a.default", "", "", f"float32[{sizes}]"),
            ProgramNode("own", "getitem", "", "", "int64[]"),
            ProgramNode("y", "c", "", "", "int64[]"),
            ProgramNode("d", "d", "", "t" * 8000, ""),
            ProgramNode("n" * 1000, "e" * 1000, "m" * 1000, "", ""),
            ProgramNode("z", "f", "", "", "", (OperatorArgument("", 1),)),
        ),
    )  # fmt: skip


def test_the_first_graph_of_an_archive_is_read(tmp_path: Path) -> None:
    file = tmp_path / "m.pt2"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("m/xmodels/model.json", "[]")
        for name, op in (("models/model.json", "first"), ("m/models/model.json", "second")):
            archive.writestr(name, json.dumps(document(node(op, "n"))))
    assert [each.op for each in read_program(file, "2.13.0").nodes] == ["first"]


@pytest.mark.parametrize(
    ("limit", "fits", "too_small", "words"),
    [
        ("_MOST_NODES", 2, 1, "more than 1 operators"),
        ("_MOST_ENTRIES", 1, 0, "more than 0 entries"),
        ("_MOST_BYTES", 2 << 20, (2 << 20) - 1, "the graph of the program has more than 1 MiB"),
    ],
)
def test_limits_of_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, fits: int, too_small: int, words: str
) -> None:
    content = json.dumps(document(node("aten.a.default", "a"), node("aten.b.default", "b"))).encode()
    file = write(tmp_path / "m.pt2", content.ljust(2 << 20))
    monkeypatch.setattr(f"trtlint.torch_tensorrt.program.{limit}", fits)
    assert len(read_program(file, "2.13.0").nodes) == 2
    monkeypatch.setattr(f"trtlint.torch_tensorrt.program.{limit}", too_small)
    with pytest.raises(ProgramError) as error:
        read_program(file, "2.13.0")
    assert str(error.value) == f"{file}: {words}"
