"""Tests of tensor elements in external files, in the model file and in typed fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from tests.model.wirebytes import field, number, varint
from trtlint.model import tensors as module
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.model.payload import read_message
from trtlint.model.tensors import LEFT, LEFT_OUT, TensorStore


def external(name: str, dims: list[int], kind: int, **entries: str) -> TensorProto:
    tensor = TensorProto(name=name, dims=dims, data_type=kind, data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


@pytest.fixture
def store(tmp_path: Path) -> TensorStore:
    """Return the tensors of a model with the external file ``w.bin``, whose bytes are 0 to 99."""
    (tmp_path / "w.bin").write_bytes(bytes(range(100)))
    (tmp_path / "model.onnx").write_bytes(bytes(range(50)))
    return TensorStore(tmp_path / "model.onnx", (tmp_path / "model.onnx").stat())


DATA = np.arange(100, dtype=np.uint8)


@pytest.mark.parametrize(
    ("kind", "dims", "dtype", "offset"),
    [
        (TensorProto.FLOAT, [2, 3], np.dtype("<f4"), 4),
        (TensorProto.INT64, [], np.dtype("<i8"), 92),
        (TensorProto.BFLOAT16, [3], np.dtype(ml_dtypes.bfloat16), 0),
        (TensorProto.UINT8, [100], np.dtype("u1"), 0),
    ],
)
def test_external_elements(
    store: TensorStore, kind: int, dims: list[int], dtype: np.dtype[Any], offset: int
) -> None:
    size = int(np.prod(dims)) * dtype.itemsize
    for length in (None, size):
        entries = {} if length is None else {"length": str(length)}
        tensor = external("w", dims, kind, location="w.bin", offset=str(offset), **entries)
        found = store.array(tensor)
        assert found is not None
        assert (found.dtype, found.shape) == (dtype, tuple(dims))
        assert found.tobytes() == DATA[offset : offset + size].tobytes()
        assert store.place(tensor) == (store.path.parent / "w.bin", offset, size)
    assert (store.notes, store.locations, store.missing, store.misplaced) == ([], ("w.bin",), {}, {})


def test_external_elements_that_share_bytes(store: TensorStore) -> None:
    found = store.array(external("w", [3], TensorProto.UINT4, location="w.bin", offset="33", length="2"))
    assert found is not None
    assert found.tolist() == [1, 2, 2]


NOTE = (
    "external data 'w.bin' do not fit: tensor 'w' {} is stored as {} bytes at offset {}, "
    "but the file has 100 bytes"
)
EXCEEDS = "exceeds the external data file: w.bin has 100 bytes"


@pytest.mark.parametrize(
    ("dims", "entries", "note"),
    [
        ([25], {}, ""),
        ([24], {"offset": "4", "length": "96"}, ""),
        ([26], {}, NOTE.format("[26]", 100, 0)),
        ([25], {"offset": "1"}, NOTE.format("[25]", 99, 1)),
        ([25], {"length": "99"}, NOTE.format("[25]", 99, 0)),
        ([24], {"length": "100"}, NOTE.format("[24]", 100, 0)),
        ([0], {"offset": "101"}, NOTE.format("[0]", -1, 101)),
        ([0], {"offset": "100"}, ""),
    ],
)
def test_external_data_that_do_not_fit(
    store: TensorStore, dims: list[int], entries: dict[str, str], note: str
) -> None:
    tensor = external("w", dims, TensorProto.FLOAT, location="w.bin", **entries)
    assert (store.array(tensor) is None) is bool(note)
    assert (store.place(tensor) is None) is bool(note)
    store.check(tensor, tensor.name)
    assert store.notes == ([note] if note else [])
    assert store.misplaced == ({"w": EXCEEDS} if note else {})


def test_external_data_of_a_type_without_a_size(store: TensorStore) -> None:
    tensor = external("w", [2], TensorProto.STRING, location="w.bin")
    assert (store.array(tensor), store.place(tensor)) == (None, None)
    assert (store.notes, store.misplaced) == ([NOTE.format("[2]", 100, 0)], {})


def test_external_data_that_change_while_they_are_read(
    store: TensorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store.path.parent / "w.bin").write_bytes(b"short")
    monkeypatch.setattr(store, "file_of", lambda location: (store.path.parent / location, 100))
    assert store.array(external("w", [2], TensorProto.FLOAT, location="w.bin")) is None
    assert store.notes == ["external data 'w.bin' changed while the model was linted: values are unknown"]


def test_files_of_external_data(store: TensorStore) -> None:
    folder = store.path.parent
    (folder / "lfs.bin").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    (folder / "sub").mkdir()
    outside = folder.parent / f"{folder.name}-outside"
    outside.write_bytes(bytes(8))
    for name, location in (
        ("a", "gone"),
        ("b", "gone"),
        ("c", "lfs.bin"),
        ("d", "sub"),
        ("e", f"../{outside.name}"),
    ):
        store.check(external(name, [1], TensorProto.FLOAT, location=location), name)
    store.check(external("f", [1], TensorProto.FLOAT, location="w.bin", offset="x"), "f")
    store.check(external("g", [1], TensorProto.FLOAT, location=LEFT_OUT), "g")
    store.check(external("h", [1], TensorProto.FLOAT, location=LEFT), "h")
    store.check(TensorProto(name="i", dims=[1], data_type=1), "i")
    assert store.missing == {"gone": "a"}
    assert store.misplaced == {"e": "is outside the model's folder"}
    notes = store.notes
    assert notes[0] == "external data 'gone' are missing: values in them are unknown"
    assert notes[1].startswith(
        "values in external data 'lfs.bin' are unknown: 'lfs.bin' is a Git LFS pointer"
    )
    assert notes[2:] == [
        "external data 'sub' are not a file: values in them are unknown",
        f"external data '../{outside.name}' are outside the model's folder and were not read",
        "tensor 'f' has an invalid location of its external data",
        "the model is a skeleton (a copy without weights): values in its weights are unknown",
    ]
    assert store.locations == ("gone", "lfs.bin", "sub", f"../{outside.name}")


def test_the_number_of_notes_is_limited(store: TensorStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_NOTES", 3)
    for text in ("a", "b", "a", "b"):
        store.note(text)
    assert store.notes == ["a", "b"]
    for text in ("c", "d", "e"):
        store.note(text)
    assert store.notes == ["a", "b", "c", "trtlint omitted further notes about tensors"]


def test_tensors_without_their_elements(store: TensorStore) -> None:
    assert store.array(TensorProto(name="w", dims=[2, -1], data_type=1)) is None
    assert store.array(TensorProto(name="w", dims=[2, -1], data_type=7)) is None
    text = "the values of tensor 'w' are unknown: the stored data do not match the shape [2, -1]"
    assert store.notes == [f"{text} and element type {kind} of the tensor" for kind in (1, 7)]
    assert store.array(external("w", [-1], TensorProto.FLOAT, location="w.bin")) is None
    assert len(store.notes) == 2


@pytest.mark.parametrize(
    ("tensor", "values"),
    [
        (TensorProto(dims=[2], data_type=1, float_data=[1, 2]), [1, 2]),
        (TensorProto(dims=[3], data_type=1, float_data=[1, 2]), None),
        (TensorProto(dims=[2], data_type=1, raw_data=bytes(8)), [0, 0]),
        (TensorProto(dims=[2], data_type=1, raw_data=bytes(7)), None),
        (TensorProto(dims=[2], data_type=1, raw_data=bytes(9)), None),
        (TensorProto(dims=[2], data_type=22, int32_data=[0x21]), [1, 2]),
        (TensorProto(dims=[3], data_type=22, int32_data=[0x21]), None),
        (TensorProto(dims=[0], data_type=1), []),
        (TensorProto(dims=[2], data_type=0, raw_data=bytes(2)), None),
        (TensorProto(dims=[1], data_type=8, string_data=[b"a"], raw_data=b""), ["a"]),
        (TensorProto(dims=[1], data_type=8, string_data=[b"a"]), ["a"]),
        (TensorProto(dims=[1], data_type=13, uint64_data=[5]), [5]),
        (TensorProto(dims=[1], data_type=11, double_data=[5]), [5]),
        (TensorProto(dims=[1], data_type=7, int64_data=[5]), [5]),
    ],
)
def test_stored_elements(store: TensorStore, tensor: TensorProto, values: list[object] | None) -> None:
    found = store.array(tensor)
    assert (None if found is None else found.tolist()) == values


def test_the_model_file_of_a_store(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"12345")
    status = path.stat()
    store = TensorStore(path, status)
    assert (store.size, store.is_of(status), TensorStore(path).size) == (5, True, 0)
    with store.open() as file:
        assert file.read() == b"12345"
    with pytest.raises(ModelError, match="the file changed after it was read"), store.open():
        path.write_bytes(b"123456")
    assert not store.is_of(path.stat())
    with pytest.raises(ModelError, match="the file changed after it was read"), store.open():
        raise AssertionError("the file was opened")


def left(data: bytes, length: int | None, kind: int = 1, dims: int = 3) -> TensorProto:
    entries = {"location": LEFT, "offset": "2"}
    if length is not None:
        entries["length"] = str(length)
    return external("w", [dims], kind, **entries)


@pytest.mark.parametrize(
    ("payload", "kind", "begin"),
    [
        (field(9, bytes(range(12))), 1, 4),
        (number(2, 1) + field(4, bytes(12)), 1, 6),
        (field(4, bytes(12)), 6, None),
        (field(9, bytes(8)), 1, None),
        (field(9, bytes(16)), 1, None),
        (field(9, bytes(12)) + field(4, b""), 1, None),
        (field(9, bytes(2)), 22, None),
        (field(10, bytes(24)), 11, 4),
    ],
)
def test_the_place_of_elements_in_the_model_file(
    tmp_path: Path, payload: bytes, kind: int, begin: int | None
) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"ab" + payload + b"\xff\xff")
    store = TensorStore(path, path.stat())
    tensor = left(payload, len(payload), kind)
    size = len(payload) + 2 - begin if begin is not None else 0
    assert module.is_left(tensor)
    assert store.place(tensor) == (None if begin is None else (path, begin, size))
    link = tmp_path / "link.onnx"
    link.symlink_to(path)
    assert TensorStore(link, path.stat()).place(tensor) == store.place(tensor)
    path.write_bytes(b"ab" + payload)
    assert store.place(tensor) is None
    assert store.array(tensor) is None
    assert store.notes == ["the file changed while it was linted: values of its large tensors are unknown"]


@pytest.mark.parametrize(
    ("kind", "payload", "values"),
    [
        (TensorProto.FLOAT, field(9, np.array([1, 2], "<f4").tobytes()), [1, 2]),
        (TensorProto.FLOAT, field(4, np.array([1, 2], "<f4").tobytes()), [1, 2]),
        (TensorProto.FLOAT, b"".join(b"\x25" + np.array(x, "<f4").tobytes() for x in (1, 2)), [1, 2]),
        (TensorProto.DOUBLE, field(10, np.array([1, 2], "<f8").tobytes()), [1, 2]),
        (TensorProto.INT64, field(7, varint(2**64 - 1) + varint(300)), [-1, 300]),
        (TensorProto.INT64, number(7, 2**64 - 1) + number(7, 300), [-1, 300]),
        (TensorProto.UINT64, field(11, varint(2**64 - 1) + varint(300)), [2**64 - 1, 300]),
        (TensorProto.INT32, field(5, varint(2**64 - 1) + varint(300)), [-1, 300]),
        (TensorProto.UINT4, field(9, b"\x21"), [1, 2]),
        (TensorProto.STRING, field(6, b"a") + field(6, b"b"), ["a", "b"]),
        (TensorProto.COMPLEX64, field(4, np.array([1, 2, 3, 4], "<f4").tobytes()), [1 + 2j, 3 + 4j]),
    ],
)
def test_elements_of_a_serialized_tensor(kind: int, payload: bytes, values: list[object]) -> None:
    data = number(1, 2) + number(2, kind) + payload + field(8, b"w")
    decoded = onnx.TensorProto.FromString(data)
    tensor = TensorProto(dims=[2], data_type=kind)
    found = read_message(tensor, data)
    assert found.tolist() == values
    assert found.dtype == numpy_helper.to_array(decoded).dtype


@pytest.mark.parametrize(("data_type", "name"), [(6, "int32_data"), (7, "int64_data")])
@pytest.mark.parametrize(
    "mark", [b"\x01", b"\x81\x00", b"\x81\x80\x80\x80\x10"], ids=["short", "long", "more bits"]
)
def test_elements_of_a_message_come_from_no_other_file(
    data_type: int, name: str, mark: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ONNX's decoder opens the file that a tensor names, in the working directory."""
    monkeypatch.chdir(tmp_path)
    stored, other = np.arange(2000), np.arange(2000) + 7
    kind = np.int32 if data_type == 6 else np.int64
    Path("secret.bin").write_bytes(other.astype(kind).tobytes())
    tensor = onnx.TensorProto(name="w", dims=[2000], data_type=data_type)
    getattr(tensor, name).extend(map(int, stored))
    tensor.external_data.add(key="location", value="secret.bin")
    location = bytes([onnx.TensorProto.DATA_LOCATION_FIELD_NUMBER << 3]) + mark
    data = tensor.SerializeToString() + location
    assert onnx.TensorProto.FromString(data).data_location == onnx.TensorProto.EXTERNAL
    head = onnx.TensorProto(name="w", dims=[2000], data_type=data_type)
    assert np.array_equal(read_message(head, memoryview(data)), stored)

    model = onnx.parser.parse_model(
        '< ir_version: 8, opset_import: ["" : 17] > g (float[n] x) => (float[n] y) { y = Relu (x) }'
    )
    graph = model.graph.SerializeToString() + field(5, data)
    model.ClearField("graph")
    Path("folder").mkdir()
    whole = model.SerializeToString() + field(7, graph)
    Path("folder/m.onnx").write_bytes(whole)
    loaded = load(Path("folder/m.onnx"))
    (value,) = loaded.graph.values["w"]
    assert loaded.constants.payload(value) is None
    Path("folder/secret.bin").write_bytes((other + 1).astype(kind).tobytes())
    loaded = load(Path("folder/m.onnx"))
    (value,) = loaded.graph.values["w"]
    payload = loaded.constants.payload(value)
    assert payload is not None
    assert np.array_equal(payload, other + 1)
