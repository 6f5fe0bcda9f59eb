"""Tests of the file reader: kept fields, skipped fields and invalid files."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.model.wirebytes import IDENTITY, field, model, number, varint
from trtlint.model.errors import ModelError
from trtlint.model.load import load
from trtlint.model.reader import KEPT, RawModel, decode, read, read_structure
from trtlint.model.tensors import TensorStore
from trtlint.model.wire import fields

LINUX = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
GOOD = IDENTITY.SerializeToString()


def write(folder: Path, data: bytes | onnx.ModelProto) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(data if isinstance(data, bytes) else data.SerializeToString())
    return path


def error(folder: Path, data: bytes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        load(write(folder, data))
    assert "\n" not in caught.value.message
    return caught.value


def with_initializer(*tensors: TensorProto) -> onnx.ModelProto:
    proto = onnx.ModelProto()
    proto.CopyFrom(IDENTITY)
    proto.graph.initializer.extend(tensors)
    return proto


def stored(raw: RawModel, index: int = 0) -> TensorProto:
    return decode(raw.data).graph.initializer[index]


# ---- kept and skipped fields


def test_structure_is_what_onnx_reads(exported: Path) -> None:
    paths = sorted(exported.glob("*.onnx"))[::25]
    assert paths
    for path in paths:
        expected, raw = onnx.load(path), read(path)
        assert len(raw.data) <= path.stat().st_size
        for tensor, ours in zip(expected.graph.initializer, decode(raw.data).graph.initializer, strict=True):
            read_here = raw.tensors.array(ours)
            assert read_here is not None
            assert np.array_equal(read_here, numpy_helper.to_array(tensor), equal_nan=True)
            assert ours.name == tensor.name
            assert ours.dims == tensor.dims
            if len(tensor.raw_data) <= KEPT:
                assert ours == tensor
        del expected.graph.initializer[:]
        ours_without = onnx.ModelProto()
        ours_without.CopyFrom(decode(raw.data))
        del ours_without.graph.initializer[:]
        for one, two in zip(ours_without.graph.node, expected.graph.node, strict=True):
            if one.op_type != "Constant":
                assert one == two


DTYPES = [
    np.float32, np.float64, np.float16, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64,
    np.uint32, np.uint64, np.bool_, np.complex64, np.complex128, ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4,
    ml_dtypes.float4_e2m1fn,
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("size", [3, 20_001])
def test_raw_data_of_every_type(tmp_path: Path, dtype: type, size: int) -> None:
    values: np.ndarray[Any, Any] = (np.arange(size) % 7).astype(dtype)
    tensor = numpy_helper.from_array(values, "w")
    raw = read(write(tmp_path, with_initializer(tensor)))
    array = raw.tensors.array(stored(raw))
    assert array is not None
    assert array.dtype == values.dtype
    assert np.array_equal(array, values)
    assert len(raw.data) < 2 * KEPT


@pytest.mark.parametrize("size", [3, 6001])
@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (TensorProto.FLOAT, [1.5, -2.0, 3e38]),
        (TensorProto.DOUBLE, [1.5, -2.0, 1e300]),
        (TensorProto.INT64, [-1, 2**62, 0]),
        (TensorProto.UINT64, [1, 2**64 - 1, 0]),
        (TensorProto.INT32, [-1, 2**31 - 1, 7]),
        (TensorProto.INT8, [-1, 127, 0]),
        (TensorProto.BOOL, [True, False, True]),
        (TensorProto.FLOAT16, [1.5, -2.0, 65504.0]),
        (TensorProto.BFLOAT16, [1.5, -2.0, 256.0]),
    ],
)
def test_typed_fields(tmp_path: Path, data_type: int, values: list[float], size: int) -> None:
    full = (values * size)[:size]
    tensor = helper.make_tensor("w", data_type, [size], full)
    assert not tensor.HasField("raw_data")
    raw = read(write(tmp_path, with_initializer(tensor)))
    array = raw.tensors.array(stored(raw))
    assert array is not None
    assert array.tolist() == numpy_helper.to_array(tensor).tolist()
    assert len(raw.data) < 2 * KEPT


def test_strings_and_unpacked_numbers(tmp_path: Path) -> None:
    strings = numpy_helper.from_array(np.array(["word"] * 500, object), "s")
    unpacked = number(1, 400) + number(2, TensorProto.INT32) + field(8, b"u")
    unpacked += b"".join(number(5, value) for value in range(400))
    data = with_initializer(strings).SerializeToString()
    data += field(7, field(5, unpacked))
    raw = read(write(tmp_path, data))
    words = raw.tensors.array(stored(raw, 0))
    assert words is not None
    assert set(words.tolist()) <= {"word", b"word"}
    numbers = raw.tensors.array(stored(raw, 1))
    assert numbers is not None
    assert numbers.tolist() == list(range(400))


def test_large_tensors_in_nodes_bodies_and_functions(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.arange(5000, dtype=np.float32), "w")
    constant = helper.make_node("Constant", [], ["c"], value=weight)
    body = helper.make_graph([constant], "b", [], [helper.make_tensor_value_info("c", 1, [5000])])
    branch = helper.make_node("If", ["p"], ["z"], then_branch=body, else_branch=body)
    call = helper.make_node("F", [], ["q"], domain="local")
    function = helper.make_function("local", "F", [], ["c"], [constant], [helper.make_opsetid("", 17)])
    graph = helper.make_graph(
        [branch, call],
        "g",
        [helper.make_tensor_value_info("p", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("z", 1, [5000]), helper.make_tensor_value_info("q", 1, [5000])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=8)
    path = write(tmp_path, proto)
    assert len(read(path).data) < 4 * KEPT
    loaded = load(path)
    constants = list(loaded.graph.by_op("Constant"))
    assert len(constants) == 3
    for node in constants:
        array = loaded.tensors.array(node.attribute("value"))
        assert array is not None
        assert array[-1] == 4999
        assert node.output.type_text == "f32[5000]"


def test_sparse_and_long_texts_are_left_out(tmp_path: Path) -> None:
    values = numpy_helper.from_array(np.ones(5000, np.float32), "sparse")
    indices = numpy_helper.from_array(np.arange(5000, dtype=np.int64), "i")
    proto = with_initializer()
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [9000]))
    proto.doc_string = "x" * 100_000
    proto.graph.node[0].attribute.append(helper.make_attribute("engine", b"e" * 200_000))
    proto.training_info.add().algorithm.CopyFrom(proto.graph)
    raw = read(write(tmp_path, proto))
    assert len(raw.data) < 2 * KEPT
    assert decode(raw.data).doc_string == ""
    assert not decode(raw.data).training_info


@pytest.mark.slow
@LINUX
def test_a_file_of_more_than_two_gigabytes(tmp_path: Path) -> None:
    """The payload is a hole in the file, so it uses neither disk nor memory."""
    size = 2_200_000_000 // 4 * 4
    head = number(1, size // 4) + number(2, TensorProto.FLOAT) + field(8, b"w")
    tensor_size = len(head) + len(varint(9 << 3 | 2)) + len(varint(size)) + size
    before = head + varint(9 << 3 | 2) + varint(size)
    wrapped = varint(5 << 3 | 2) + varint(tensor_size)
    graph = IDENTITY.graph.SerializeToString()
    start = number(1, 8) + field(8, number(2, 17)) + varint(7 << 3 | 2)
    behind = field(5, numpy_helper.from_array(np.full(3000, 7, np.float32), "v").SerializeToString())
    start += varint(len(graph) + len(wrapped) + tensor_size + len(behind)) + graph + wrapped + before
    path = tmp_path / "big.onnx"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(len(start) + size)
        file.seek(0, os.SEEK_END)
        file.write(behind)
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from trtlint.model.load import load\n"
        "model = load(Path(sys.argv[1]))\n"
        "value = model.graph.values['w'][0]\n"
        "assert value.type_text == f'f32[{sys.argv[2]}]', value.type_text\n"
        "array = model.tensors.array(model.graph.values['v'][0].initializer)\n"
        "assert (array == 7).all()\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, path, str(size // 4)], check=True, capture_output=True, text=True
    )
    assert int(out.stdout) < 250_000  # kilobytes


# ---- tensors that cannot be read


@pytest.mark.slow
@given(
    dims=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 4), max_size=5),
    data_type=st.integers(0, 40),
    raw=st.none() | st.binary(max_size=64) | st.just(bytes(4096)),
    ints=st.lists(st.integers(-(2**31), 2**31 - 1), max_size=6),
)
@settings(max_examples=150, deadline=None)
def test_values_that_do_not_fit_their_shape(
    tmp_path_factory: pytest.TempPathFactory,
    dims: list[int],
    data_type: int,
    raw: bytes | None,
    ints: list[int],
) -> None:
    tensor = TensorProto(name="w", dims=dims, data_type=data_type, raw_data=raw, int32_data=ints)
    model_ = read(write(tmp_path_factory.mktemp("t"), with_initializer(tensor)))
    array = model_.tensors.array(stored(model_))
    if array is None:
        assert "do not match the" in model_.tensors.notes[0]
    else:
        assert list(array.shape) == dims


def test_elements_that_protobuf_cannot_decode(tmp_path: Path) -> None:
    size = 2000
    cut_off = field(5, b"\x01" * (size - 1) + b"\x80")  # int32_data
    tensor = TensorProto(name="w", dims=[size], data_type=TensorProto.FLOAT16).SerializeToString() + cut_off
    model_ = read(write(tmp_path, number(1, 8) + field(8, b"\x10\x11") + field(7, field(5, tensor))))
    assert model_.tensors.array(stored(model_)) is None
    assert model_.tensors.notes == [
        "the values of tensor 'w' are unknown: the stored data do not match the shape [2000] and element "
        "type 10 of the tensor"
    ]


def external(name: str, **entries: str) -> TensorProto:
    tensor = TensorProto(
        name=name, dims=[300], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL
    )
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def test_external_data(tmp_path: Path) -> None:
    values = np.arange(400, dtype=np.float32)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(values.tobytes())
    proto = with_initializer(
        external("a", location="sub/w.bin", offset="400", length="1200"),
        external("b", location="./sub/../sub/w.bin"),
        external("c", location="sub/w.bin", offset="404", length="1200"),
        external("d", location="sub/w.bin", offset="-4"),
        external("e", location="sub/w.bin", length="4"),
        external("f", location="gone.bin"),
        external("g", location="gone.bin", offset="1200"),
    )
    loaded = load(write(tmp_path, proto))
    arrays = [loaded.tensors.array(loaded.graph.values[name][0].initializer) for name in "abcdefg"]  # type: ignore[arg-type]
    assert arrays[0] is not None
    assert arrays[0].tolist() == values[100:].tolist()
    assert arrays[1] is not None
    assert arrays[1][0] == 0
    assert arrays[2:] == [None] * 5
    notes = "\n".join(loaded.notes)
    assert notes.count("'gone.bin' are missing") == 1
    assert "tensor 'c'" in notes
    assert "tensor 'd'" in notes
    assert "tensor 'e'" in notes


def test_external_data_stay_in_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "secret.bin"
    outside.write_bytes(bytes(1200))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "link.bin").symlink_to(outside)
    os.mkfifo(folder / "pipe.bin")
    locations = [str(outside), "../secret.bin", "link.bin", "pipe.bin", ".", "a\0b"]
    proto = with_initializer(*(external(f"w{i}", location=name) for i, name in enumerate(locations)))
    raw = read(write(folder, proto))
    for index in range(len(locations)):
        assert raw.tensors.array(stored(raw, index)) is None
    notes = "\n".join(raw.tensors.notes)
    assert notes.count("outside the model's folder") == 4
    assert "'pipe.bin' are not a file" in notes


def test_a_download_cache_may_keep_files_side_by_side(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots"
    blobs.mkdir()
    snapshot.mkdir()
    (blobs / "1").write_bytes(with_initializer(external("w", location="model.data")).SerializeToString())
    (blobs / "2").write_bytes(bytes(1200))
    (snapshot / "model.onnx").symlink_to(blobs / "1")
    (snapshot / "model.data").symlink_to(blobs / "2")
    raw = read(snapshot / "model.onnx")
    array = raw.tensors.array(stored(raw))
    assert array is not None
    assert array.size == 300


def test_a_file_that_changes_meanwhile(tmp_path: Path) -> None:
    path = write(tmp_path, with_initializer(numpy_helper.from_array(np.ones(5000, np.float32), "w")))
    raw = read(path)
    path.write_bytes(b"short")
    assert raw.tensors.array(stored(raw)) is None
    assert "changed" in raw.tensors.notes[0]


# ---- files that are no model

FOREIGN = {
    "empty": (b"", "empty"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
    "zip": (b"PK\x03\x04rest", "zip archive"),
    "pickle": (b"\x80\x02}q\x00.", "pickle"),
    "gzip": (gzip.compress(GOOD), "gzip"),
    "plan": (b"ftrt" + bytes(60), "TensorRT engine"),
    "old plan": (b"ptrt" + bytes(60), "TensorRT engine"),
    "rtx plan": (b"vtrt" + bytes(60), "TensorRT-RTX engine"),
    "ort": (b"\x18\0\0\0ORTM" + bytes(60), "flatbuffer"),
    "html": (b"<!DOCTYPE html><html><body>Not found", "HTML page"),
    "json": (b'{"irVersion": "8"}', "JSON"),
    "textproto": (b"ir_version: 8\ngraph {\n}\n", "protobuf text"),
    "onnx text": (b'<ir_version: 8, opset_import: ["": 17]>\ng () => () {}', "text"),
    "prose": ("Grüße, this is no model".encode(), "text"),
    "tensor": (numpy_helper.from_array(np.ones(3, np.float32), "input_0").SerializeToString(), "not an ONNX"),
    "graph": (IDENTITY.graph.SerializeToString(), "not an ONNX"),
    "zeros": (bytes(100), "a protobuf field has the number 0"),
    "no graph": (number(1, 8) + field(8, number(2, 17)), "no graph"),
    "no ir_version": (field(7, b"") + field(8, number(2, 17)), "no ir_version"),
    "no opset": (number(1, 8) + field(7, b""), "no opset_import"),
    "group": (number(1, 8) + bytes([7 << 3 | 3]), "wire type 3"),
    "endless number": (b"\x08" + b"\xff" * 20, "has more than ten bytes"),
    "number cut off": (b"\x08\xff", "cut off"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_that_are_no_model(tmp_path: Path, name: str) -> None:
    data, expected = FOREIGN[name]
    assert expected in error(tmp_path, data).message


@pytest.mark.parametrize("cut", range(1, len(GOOD)))
def test_a_model_cut_off_anywhere(tmp_path: Path, cut: int) -> None:
    message = error(tmp_path, GOOD[:cut]).message
    assert any(word in message for word in ("truncated", "cut off", "no graph", "text"))


def test_a_truncated_model_says_where(tmp_path: Path) -> None:
    caught = error(tmp_path, GOOD[:-20])
    assert caught.message.startswith("truncated")
    assert caught.message.endswith("bytes are missing")
    assert caught.offset == len(GOOD) - 20


def test_a_length_beyond_its_message(tmp_path: Path) -> None:
    node = varint(1 << 3 | 2) + varint(1 << 40) + b"x" * 5000
    head = number(1, 8) + field(8, number(2, 17))
    caught = error(tmp_path, head + field(7, field(1, node)) + number(5, 1))
    assert caught.message.startswith("the file is damaged")
    assert caught.offset is not None
    assert caught.offset > len(head)


def test_graphs_nested_too_deep(tmp_path: Path) -> None:
    graph = b"x" * 5000
    for _ in range(400):
        graph = field(1, field(5, field(6, graph)))
    data = number(1, 8) + field(8, number(2, 17)) + field(7, graph)
    assert "too deep" in error(tmp_path, data).message
    graph = b""
    for _ in range(60):
        graph = field(1, field(5, number(20, 5) + field(6, graph)))
    data = number(1, 8) + field(8, number(2, 17)) + field(7, graph)
    assert "protobuf cannot decode it" in error(tmp_path, data).message


def test_more_parts_than_any_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trtlint.model.reader._MOST_FIELDS", 1000)
    head = number(1, 8) + field(8, number(2, 17))
    assert "more than 1,000 protobuf fields" in error(tmp_path, head + field(7, field(1, b"") * 5000)).message
    unpacked = field(5, number(1, 1) * 5000)
    assert "more than 1,000 protobuf fields" in error(tmp_path, head + field(7, unpacked)).message


def test_special_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    locked = write(tmp_path, GOOD)
    locked.chmod(0)
    cases = {
        tmp_path: "directory",
        tmp_path / "fifo": "not a regular file",
        Path("/dev/zero"): "not a regular file",
        tmp_path / "gone": "No such file",
        Path("a\0b"): "invalid file name",
    }
    if os.geteuid() != 0:
        cases[locked] = "Permission denied"
    for path, expected in cases.items():
        with pytest.raises(ModelError, match=expected):
            read(path)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    data = model(
        "g (float[N] xxxxx) => (float[N] y) { wwwww = Relu(xxxxx) y = Relu(wwwww) }"
    ).SerializeToString()
    data = (
        data.replace(b"xxxxx", b"xx\xb5\xcfx").replace(b"wwwww", b"ww\xff\xfew").replace(b"Relu", b"Re\xffu")
    )
    graph = load(write(tmp_path, data)).graph
    assert [node.op for node in graph.nodes] == ["Re\\xffu", "Re\\xffu"]
    assert graph.inputs[0].name == "xx\\xb5\\xcfx"
    assert all(isinstance(name, str) for name in graph.values)


@pytest.mark.slow
@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_fields_of_any_bytes(data: bytes) -> None:
    """The fields cover the bytes without gaps, or an error has an offset within them."""
    end = 0
    try:
        for _, _, at, begin, stop in fields(data, 0, len(data)):
            assert at == end
            assert at < begin <= stop <= len(data)
            end = stop
    except ModelError as caught:
        assert caught.offset is not None
        assert 0 <= caught.offset <= len(data)
    else:
        assert end == len(data)


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = write(tmp_path_factory.mktemp("any"), data)
    try:
        decode(read(path).data)
    except ModelError as caught:
        assert caught.message


@pytest.mark.slow
@LINUX
def test_memory_does_not_depend_on_weights(tmp_path: Path) -> None:
    weights = [numpy_helper.from_array(np.ones(4_000_000, np.float32), f"w{i}") for i in range(6)]
    path = write(tmp_path, with_initializer(*weights))
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "import networkx, onnx\n"
        "peak = lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "before = peak()\n"
        "from trtlint.model.load import load\n"
        "load(Path(sys.argv[1]))\n"
        "print(before, peak())\n"
    )
    out = subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True, text=True)
    before, peak = map(int, out.stdout.split())
    assert peak - before < 30_000  # kilobytes; the weights are 96 MB


# ---- the structure of a model, field by field

HEAD = number(1, 8) + field(8, number(2, 17))


def structure(data: bytes, *, whole: bool = False) -> RawModel:
    return read_structure(data, TensorStore(Path("m")), whole=whole)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (number(1, 2) + field(7, b""), ""),
        (
            number(1, 3) + field(7, b""),
            "not an ONNX model, or the file is cut off: it has no opset_import",
        ),
        (
            number(1, 200) + field(7, b""),
            "not an ONNX model, or the file is cut off: it has no opset_import",
        ),
        (number(1, 200) + field(7, b"") + field(8, b""), ""),
        (HEAD + b"\x3d" + bytes(4), "not an ONNX model: it contains no graph"),
        (HEAD + number(7, 0), "not an ONNX model: it contains no graph"),
        (field(1, b"") + field(7, b"") + field(8, b""), "not an ONNX model: it has no ir_version"),
        (HEAD + b"\x3d" + bytes(4) + field(7, b""), ""),
    ],
)
def test_the_fields_that_a_model_needs(data: bytes, message: str) -> None:
    if message:
        with pytest.raises(ModelError) as caught:
            structure(data)
        assert caught.value.message == message
    else:
        assert structure(data).data == data


def test_domains_and_functions() -> None:
    imports = [
        field(8, field(1, name.encode()) + number(2, 1)) for name in ("", "own", "ai.onnx", "a.b", "own")
    ]
    found = structure(number(1, 8) + b"".join(imports) + field(8, b"\xff") + field(7, b""))
    assert (found.domains, found.has_functions) == ({"own", "a.b"}, False)
    name = field(1, b"d" * 2000) + number(2, 1)
    found = structure(HEAD + field(8, name) + field(7, b"") + field(25, b""))
    assert (found.domains, found.has_functions) == (frozenset(), True)


def test_declared_types_of_the_main_graph_are_set_aside() -> None:
    first, second = field(13, b"one"), field(13, b"x" * 3000)
    node, name = field(1, field(4, b"Relu")), field(2, b"main")
    graph = first + node + second + first + name
    found = structure(HEAD + field(7, graph))
    assert (found.data, found.declared) == (HEAD + field(7, node + name), field(7, first + second + first))
    found = structure(HEAD + field(7, graph), whole=True)
    assert (found.data, found.declared) == (HEAD + field(7, graph), field(7, b""))
    large = node * 1000
    found = structure(HEAD + field(7, first + large + number(13, 1)))
    assert (found.data, found.declared) == (HEAD + field(7, large + number(13, 1)), field(7, first))


@pytest.mark.parametrize("whole", [True, False])
def test_long_texts_and_training_are_left_out(whole: bool) -> None:
    kept, dropped = b"d" * 65536, b"d" * 65537
    training = field(20, field(1, b"x" * 2000))
    node = field(1, field(5, field(4, kept) + field(9, dropped) + field(13, dropped) + field(1, dropped)))
    for data, short in (
        (field(6, kept), field(6, kept)),
        (field(6, dropped), b""),
        (training, b""),
        (field(20, b""), field(20, b"")),
        (field(5, dropped), field(5, dropped)),
    ):
        found = structure(HEAD + data + field(7, node), whole=whole)
        left = field(1, field(5, field(4, kept) + field(1, dropped)))
        assert found.data == HEAD + (data if whole else short) + field(7, node if whole else left)


def tensor_fields(payload: bytes, *, name: bytes = b"w", location: bytes = b"") -> bytes:
    return number(1, len(payload) // 4) + number(2, 1) + location + field(9, payload) + field(8, name)


@pytest.mark.parametrize("whole", [True, False])
def test_the_elements_of_large_tensors_are_left_in_the_file(whole: bool) -> None:
    small, large = tensor_fields(bytes(1024)), tensor_fields(bytes(1028))
    before = field(5, small) + field(1, b"")
    data = HEAD + field(7, before + field(5, large) + field(2, b"main"))
    found = structure(data, whole=whole)
    graph = decode(found.data).graph
    assert graph.initializer[0].SerializeToString() == onnx.TensorProto.FromString(small).SerializeToString()
    place = {entry.key: entry.value for entry in graph.initializer[1].external_data}
    assert place == {"location": "\0", "offset": str(data.index(large)), "length": str(len(large))}
    expected = onnx.TensorProto(dims=[257], data_type=1, name="w", data_location=TensorProto.EXTERNAL)
    expected.external_data.extend(graph.initializer[1].external_data)
    assert graph.initializer[1] == expected
    assert graph.name == "main"


@pytest.mark.parametrize(("location", "external"), [(1, True), (0, False)])
def test_external_tensors_keep_their_place(location: int, external: bool) -> None:
    """The reader removes superfluous elements."""
    stored = tensor_fields(bytes(2000), location=number(14, location)) + field(13, field(1, b"location"))
    graph = field(5, stored) + field(2, b"main")
    (tensor,) = decode(structure(HEAD + field(7, graph)).data).graph.initializer
    assert tensor.data_location == TensorProto.EXTERNAL
    assert len(tensor.raw_data) == 0
    assert [entry.key for entry in tensor.external_data] == (
        ["location"] if external else ["location", "location", "offset", "length"]
    )


@pytest.mark.parametrize("whole", [True, False])
def test_long_texts_of_tensors(whole: bool) -> None:
    def stored(text: bytes) -> TensorProto:
        data = tensor_fields(bytes(2000)) + field(12, text)
        return decode(structure(HEAD + field(7, field(5, data)), whole=whole).data).graph.initializer[0]

    assert len(stored(b"d" * 65536).doc_string) == 65536
    assert len(stored(b"d" * 65537).doc_string) == (65537 if whole else 0)


@pytest.mark.parametrize(("most", "accepted"), [(6, True), (5, False)])
@pytest.mark.parametrize("large", [True, False])
def test_the_number_of_fields_is_limited(
    monkeypatch: pytest.MonkeyPatch, most: int, accepted: bool, large: bool
) -> None:
    """Each case has three fields of a graph, or of a graph and its tensor, then those of the model."""
    monkeypatch.setattr("trtlint.model.reader._MOST_FIELDS", most)
    graph = field(5, field(9, bytes(2000)) + number(2, 1)) if large else field(2, b"") * 3
    data = field(7, graph) + HEAD
    if accepted:
        structure(data)
    else:
        with pytest.raises(ModelError) as caught:
            structure(data)
        assert caught.value.message == "the model has more than 5 protobuf fields; simplify the graph"
        assert caught.value.offset == len(data) - len(field(8, number(2, 17)))


@pytest.mark.parametrize("change", ["", "size", "time"])
def test_a_file_that_changed(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, GOOD)

    def read_and_change(*args: Any, **options: Any) -> RawModel:
        if change == "size":
            path.write_bytes(GOOD + b"more")
        elif change == "time":
            os.utime(path, ns=(1, 1))
        return read_structure(*args, **options)

    monkeypatch.setattr("trtlint.model.reader.read_structure", read_and_change)
    with pytest.raises(ModelError, match="changed while it was read") if change else nullcontext():
        read(path)


def test_the_number_of_fields_of_one_message_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = number(2, 1) * 4 + field(9, bytes(2000))
    for graph in (field(2, b"") * 5, field(5, tensor)):
        monkeypatch.setattr("trtlint.model.reader._MOST_FIELDS", 5)
        structure(HEAD + field(7, graph))
        monkeypatch.setattr("trtlint.model.reader._MOST_FIELDS", 4)
        with pytest.raises(ModelError, match="more than 4 protobuf fields") as caught:
            structure(HEAD + field(7, graph))
        data = HEAD + field(7, graph)
        assert caught.value.offset == len(data) - (2 if graph[0] == 18 else len(field(9, bytes(2000))))


def test_the_size_of_the_structure_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = field(1, b"x" * 90)
    data = HEAD + field(7, graph)
    monkeypatch.setattr("trtlint.model.reader._MOST_BYTES", len(data))
    assert structure(data).data == data
    monkeypatch.setattr("trtlint.model.reader._MOST_BYTES", len(data) - 1)
    with pytest.raises(ModelError, match="the model exceeds 1 GB, not counting its tensors"):
        structure(data)
    monkeypatch.setattr("trtlint.model.reader._MOST_BYTES", len(graph) - 1)
    with pytest.raises(ModelError, match="the graph exceeds 1 GB") as caught:
        structure(data)
    assert caught.value.offset == len(data) - len(graph)


@pytest.mark.parametrize(("size", "kept"), [(1023, True), (1024, True), (1025, False)])
def test_short_training_information_is_kept(size: int, kept: bool) -> None:
    training = field(20, b"x" * size)
    assert structure(HEAD + training + field(7, b"")).data == HEAD + (training if kept else b"") + field(
        7, b""
    )
