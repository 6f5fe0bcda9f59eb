"""Tests of rewritten models: only the changed parts differ."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtlint.model import writer
from trtlint.model.datafile import copy_stretch
from trtlint.model.errors import ModelError
from trtlint.model.reader import decode, read
from trtlint.model.tensors import LEFT
from trtlint.model.writer import write

LARGE = np.arange(4096, dtype=np.float32).reshape(64, 64)


def model() -> onnx.ModelProto:
    """Return a model with large tensors at every possible place, and with unusual fields."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 64]) for name in "xy")
    body = helper.make_graph(
        [helper.make_node("Add", ["x", "inner"], ["sum"])],
        "body",
        [],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, [64, 64])],
        [numpy_helper.from_array(LARGE + 1, "inner")],
    )
    constant = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(LARGE + 2, "c"))
    choice = helper.make_node("If", ["flag"], ["s"], then_branch=body, else_branch=body)
    call = helper.make_node("Twice", ["s"], ["t"], domain="own")
    graph = helper.make_graph(
        [
            constant,
            choice,
            call,
            helper.make_node("MatMul", ["t", "w"], ["m"]),
            helper.make_node("Add", ["m", "c"], ["y"]),
        ],
        "main",
        [x, helper.make_tensor_value_info("flag", TensorProto.BOOL, [])],
        [y],
        [numpy_helper.from_array(LARGE, "w")],
        doc_string="d" * 100_000,
    )
    twice = helper.make_function(
        "own",
        "Twice",
        ["a"],
        ["b"],
        [
            helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(LARGE + 3, "k")),
            helper.make_node("Add", ["a", "k"], ["b"]),
        ],
        [helper.make_opsetid("", 17)],
    )
    proto = helper.make_model(
        graph, functions=[twice], opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    )
    proto.graph.node[1].doc_string = "n" * 70_000
    training = proto.training_info.add()
    training.algorithm.name = "algorithm"
    training.algorithm.initializer.append(numpy_helper.from_array(LARGE + 4, "rate"))
    return proto


def saved(folder: Path) -> Path:
    path = folder / "model.onnx"
    # A field that no version of the format knows.
    path.write_bytes(model().SerializeToString() + b"\xfa\x3e\x03abc")
    return path


def test_what_is_not_changed_is_as_it_was(tmp_path: Path) -> None:
    path, out = saved(tmp_path), tmp_path / "out.onnx"
    raw = read(path, whole=True)
    assert len(raw.data) < path.stat().st_size - 4 * LARGE.nbytes
    write(decode(raw.data), raw.tensors, out)
    before, after = (onnx.ModelProto.FromString(file.read_bytes()) for file in (path, out))
    assert after.SerializeToString(deterministic=True) == before.SerializeToString(deterministic=True)
    assert b"\xfa\x3e\x03abc" in out.read_bytes()


def test_a_tensor_may_get_another_name(tmp_path: Path) -> None:
    path, out = saved(tmp_path), tmp_path / "out.onnx"
    raw = read(path, whole=True)
    proto = decode(raw.data)
    proto.graph.initializer[0].name = "weight"
    write(proto, raw.tensors, out)
    tensor = onnx.load(out).graph.initializer[0]
    assert tensor.name == "weight"
    np.testing.assert_array_equal(numpy_helper.to_array(tensor), LARGE)


@pytest.mark.parametrize("size", [20_000, None], ids=["shorter", "as long"])
def test_a_source_that_changed_is_noticed_and_nothing_is_left(tmp_path: Path, size: int | None) -> None:
    path, out = saved(tmp_path), tmp_path / "out.onnx"
    raw = read(path, whole=True)
    path.write_bytes(path.read_bytes()[:size])
    os.utime(path, ns=(0, 0))
    with pytest.raises(ModelError, match="the file changed after it was read"):
        write(decode(raw.data), raw.tensors, out)
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("place", [{}, {"offset": "0", "length": "1000000"}, {"offset": "x", "length": "3"}])
def test_a_file_whose_tensors_claim_to_be_left_out_is_refused(tmp_path: Path, place: dict[str, str]) -> None:
    path = saved(tmp_path)
    proto = model()
    tensor = proto.graph.initializer.add(name="claims", dims=[2], data_type=TensorProto.FLOAT)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in ({"location": LEFT} | place).items():
        tensor.external_data.add(key=key, value=value)
    path.write_bytes(proto.SerializeToString())
    raw = read(path, whole=True)
    with pytest.raises(ModelError, match="'claims' has external data, but the model does not name the file"):
        write(decode(raw.data), raw.tensors, tmp_path / "out.onnx")


def many(folder: Path) -> Path:
    """Return a model with adjacent large and small tensors, which needs many copy steps."""
    path = folder / "model.onnx"
    tensors = [numpy_helper.from_array(LARGE[: 1 + 63 * (k % 3 < 2)] + k, f"w{k}") for k in range(12)]
    nodes = [helper.make_node("MatMul", [f"y{k - 1}" if k else "x", f"w{k}"], [f"y{k}"]) for k in range(12)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y11")]
    graph = helper.make_graph(nodes, "main", ends[:1], ends[1:], tensors)
    onnx.save(helper.make_model(graph, producer_name="test"), path)
    return path


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return the copied ranges of the source."""
    copied: list[tuple[int, int]] = []

    def copy(source: BinaryIO, target: BinaryIO, start: int, stop: int) -> None:
        copied.append((start, stop))
        copy_stretch(source, target, start, stop)

    monkeypatch.setattr(writer, "copy_stretch", copy)
    return copied


def test_tensors_side_by_side_are_one_stretch(tmp_path: Path, steps: list[tuple[int, int]]) -> None:
    path, out = many(tmp_path), tmp_path / "out.onnx"
    raw = read(path, whole=True)
    changed = decode(raw.data)
    changed.graph.node[3].doc_string = "another length" * 1000
    changed.graph.initializer.append(numpy_helper.from_array(np.float32(3), "new"))
    write(changed, raw.tensors, out)
    ((start, stop),) = steps
    assert stop - start > 7 * LARGE.nbytes
    after = onnx.load(out)
    assert [tensor.name for tensor in after.graph.initializer] == [*(f"w{k}" for k in range(12)), "new"]


def renamed(proto: onnx.ModelProto) -> None:
    proto.graph.initializer[4].name = "other"


def dropped(proto: onnx.ModelProto) -> None:
    del proto.graph.initializer[5]


def added_first(proto: onnx.ModelProto) -> None:
    proto.graph.initializer.insert(0, numpy_helper.from_array(np.float32(3), "new"))


def all_dropped(proto: onnx.ModelProto) -> None:
    del proto.graph.initializer[:]


def another_head(proto: onnx.ModelProto) -> None:
    proto.producer_name = "a name of another length"


def emptied_head(proto: onnx.ModelProto) -> None:
    del proto.graph.initializer[:]
    proto.ClearField("producer_name")


@pytest.mark.parametrize("change", [renamed, dropped, added_first, all_dropped, another_head, emptied_head])
def test_what_is_changed_is_all_that_changes(
    tmp_path: Path, change: Callable[[onnx.ModelProto], None]
) -> None:
    path, out = many(tmp_path), tmp_path / "out.onnx"
    raw = read(path, whole=True)
    proto = decode(raw.data)
    change(proto)
    write(proto, raw.tensors, out)
    expected = onnx.load(path)
    change(expected)
    assert onnx.load(out).SerializeToString(deterministic=True) == expected.SerializeToString(
        deterministic=True
    )


def test_a_write_that_fails_leaves_nothing_and_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path, out = many(tmp_path), tmp_path / "out.onnx"
    out.write_bytes(b"old")
    raw = read(path, whole=True)
    monkeypatch.setattr(writer, "copy_stretch", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write(decode(raw.data), raw.tensors, out)
    assert caught.value.filename == str(out)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model.onnx", "out.onnx"]
    assert out.read_bytes() == b"old"


def test_a_source_that_changes_while_it_is_copied_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = many(tmp_path), tmp_path / "out.onnx"
    raw = read(path, whole=True)

    def copy(source: BinaryIO, target: BinaryIO, start: int, stop: int) -> None:
        copy_stretch(source, target, start, stop)
        os.utime(path, ns=(0, 0))

    monkeypatch.setattr(writer, "copy_stretch", copy)
    with pytest.raises(ModelError, match="the file changed after it was read"):
        write(decode(raw.data), raw.tensors, out)
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs posix_fallocate")
@pytest.mark.parametrize(("number", "fails"), [(errno.ENOSPC, True), (errno.EOPNOTSUPP, False)])
def test_space_is_reserved_before_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, fails: bool
) -> None:
    def reserve(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", reserve)
    with (tmp_path / "out").open("wb") as file:
        if fails:
            with pytest.raises(OSError, match="No space left"):
                writer._reserve(file, 10)
        else:
            writer._reserve(file, 10)
