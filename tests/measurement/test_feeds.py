"""Tests of input files from users."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.graphs import model_of
from trtlint.measurement import feeds
from trtlint.measurement.feeds import digest, fitted, given_feeds, random_feeds, read_feeds
from trtlint.measurement.inputs import Inputs, InputsError

MODEL = """
< ir_version: 8, opset_import: ["" : 17] >
m (float[N,3] x, int64[N] ids, bool flag) => (float[N,3] y) { y = Neg (x) }
"""
INPUTS = model_of(MODEL).graph.inputs
BATCH: dict[str, np.ndarray[Any, Any]] = {
    "x": np.ones((2, 3), np.float32),
    "ids": np.arange(2),
    "flag": np.array(True),
}


def archive(path: Path, **arrays: object) -> str:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return str(path)


def encoded(array: np.ndarray[Any, Any]) -> dict[str, str]:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return {"array": base64.b64encode(stream.getvalue()).decode(), "polygraphy_class": "ndarray"}


def test_an_archive_is_a_batch(tmp_path: Path) -> None:
    files = [archive(tmp_path / f"{index}.npz", **BATCH) for index in range(3)]
    found = list(read_feeds(Inputs(tuple(files[:2]))))
    assert [file for file, _ in found] == files[:2]
    batch = fitted(INPUTS, found[0][1], files[0])
    assert {name: array.dtype for name, array in batch.items()} == {
        "x": np.float32,
        "ids": np.int64,
        "flag": np.bool_,
    }


def test_the_json_of_polygraphy_is_a_list_of_batches(tmp_path: Path) -> None:
    file = tmp_path / "inputs.json"
    batches = [{name: encoded(array) for name, array in BATCH.items()}] * 2
    file.write_text(json.dumps(batches), encoding="ascii")
    found = list(read_feeds(Inputs(lists=(str(file),))))
    assert len(found) == 2
    assert np.array_equal(found[1][1]["x"], BATCH["x"])


def test_it_is_the_json_that_polygraphy_writes(tmp_path: Path) -> None:
    polygraphy = pytest.importorskip("polygraphy.json")
    file = str(tmp_path / "inputs.json")
    polygraphy.save_json([BATCH], file)
    ((_, batch),) = read_feeds(Inputs(lists=(file,)))
    assert np.array_equal(batch["ids"], BATCH["ids"])


def test_a_script_yields_batches(tmp_path: Path) -> None:
    script = tmp_path / "loader.py"
    script.write_text(
        "import numpy as np\n"
        "def load_data():\n    yield {'x': np.zeros((1, 3))}\n"
        "def other():\n    for n in range(1, 100):\n        yield {'x': np.zeros((n, 3))}\n",
        encoding="ascii",
    )
    assert len(list(read_feeds(Inputs(script=str(script))))) == 1
    batches = islice(read_feeds(Inputs(script=f"{script}:other")), 3)
    assert [batch["x"].shape[0] for _, batch in batches] == [1, 2, 3]


@pytest.mark.parametrize("name", ["gone.py", "no_python", "folder.py"])
def test_a_script_must_be_a_python_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "no_python").write_text("def load_data():\n    yield {}\n", encoding="ascii")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(InputsError, match="not a Python file"):
        list(read_feeds(Inputs(script=str(tmp_path / name))))


def test_a_script_imports_what_lies_beside_it_and_nothing_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "beside_the_loader.py").write_text("SIZE = 2\n", encoding="ascii")
    (tmp_path / "in_the_current_folder.py").write_text("", encoding="ascii")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "mine" / "loader.py"
    text = "import numpy as np\nimport {}\ndef load_data():\n    yield {{'x': np.zeros((1, 3))}}\n"
    script.write_text(text.format("beside_the_loader"), encoding="ascii")
    before = list(sys.path)
    assert len(list(read_feeds(Inputs(script=str(script))))) == 1
    assert sys.path == before
    script.write_text(text.format("in_the_current_folder"), encoding="ascii")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(tmp_path))])
    with pytest.raises(InputsError, match="No module named 'in_the_current_folder'"):
        list(read_feeds(Inputs(script=str(script))))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": None}, "no input 'x'"),
        ({"x": None, "image": np.ones(3)}, "no input 'x'; the file has arrays that are not inputs: 'image'"),
        (
            {"x": np.ones((2, 4), np.float32)},
            r"input 'x' has the shape [2, 4], but the model expects f32[N,3]",
        ),
        ({"x": np.ones(3, np.float32)}, r"input 'x' has the shape [3], but the model expects f32[N,3]"),
        ({"ids": np.ones(2)}, "input 'ids' has the type float64, but the model expects i64[N]"),
        ({"x": np.array([["a", "b", "c"]])}, "input 'x' has the type <U1, but the model expects f32[N,3]"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, object], said: str) -> None:
    batch = {name: value for name, value in {**BATCH, **change}.items() if value is not None}
    with pytest.raises(InputsError) as error:
        fitted(INPUTS, batch, "b.npz")
    assert str(error.value).startswith("b.npz: ")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("name", "array", "text"),
    [
        ("x", np.full((2, 3), 0.1), "values of input 'x' were rounded from float64 to float32"),
        ("x", np.full((2, 3), 2**24 + 1), "values of input 'x' were rounded from int64 to float32"),
        ("x", np.full((2, 3), 0.5), ""),
        ("x", np.full((2, 3), np.nan), ""),
        ("x", np.full((2, 3), 255, np.uint8), ""),
        ("ids", np.arange(2, dtype=np.uint64), ""),
    ],
)
def test_rounded_values_are_noted(name: str, array: Any, text: str, tmp_path: Path) -> None:
    files = tuple(archive(tmp_path / f"{index}.npz", **BATCH | {name: array}) for index in range(2))
    notes: list[str] = []
    given_feeds(INPUTS, Inputs(files), None, notes.append)
    assert notes == [text] * (2 if text else 0)


def test_half_precision_inputs_are_rounded(tmp_path: Path) -> None:
    inputs = model_of(MODEL.replace("float[N,3]", "float16[N,3]")).graph.inputs
    notes: list[str] = []
    for number in (0.5, 0.1):
        file = archive(tmp_path / f"{number}.npz", **BATCH | {"x": np.full((2, 3), number, np.float32)})
        given_feeds(inputs, Inputs((file,)), None, notes.append)
    assert notes == ["values of input 'x' were rounded from float32 to float16"]


@pytest.mark.parametrize(
    ("name", "array", "text"),
    [
        (
            "ids",
            np.full(2, 2**63, np.uint64),
            "'ids' has the number 9.22337e.18, which is out of range for int64",
        ),
        ("x", np.full((2, 3), 1e300), "'x' has the number 1e.300, which is out of range for float32"),
    ],
)
def test_values_that_the_type_cannot_hold_are_refused(
    name: str, array: Any, text: str, tmp_path: Path
) -> None:
    file = archive(tmp_path / "a.npz", **BATCH | {name: array})
    with pytest.raises(InputsError, match=text):
        given_feeds(INPUTS, Inputs((file,)))


def test_the_limit_of_batches_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_BATCHES", 2)
    file = archive(tmp_path / "a.npz", **BATCH)
    note = "only the first 2 batches of inputs were used; --batches changes this limit"
    for count, most, expected in [(2, None, []), (3, None, [note]), (3, 2, [])]:
        notes: list[str] = []
        assert len(given_feeds(INPUTS, Inputs((file,) * count), most, notes.append)) == 2
        assert notes == expected


def test_wider_numbers_are_narrowed_to_what_the_model_takes() -> None:
    batch = fitted(INPUTS, {**BATCH, "x": np.ones((2, 3)), "ids": np.arange(2, dtype=np.int32)}, "b.npz")
    assert (batch["x"].dtype, batch["ids"].dtype) == (np.float32, np.int64)


@pytest.mark.parametrize(
    ("type_", "numbers", "said"),
    [
        ("float16", np.array([1.0, -70000.0]), "the number -70000, which is out of range for float16"),
        ("float", np.array([1.0, 1e39]), "the number 1e+39, which is out of range for float32"),
        ("int32", np.array([1, 2**40]), "which is out of range for int32"),
        ("float16", np.array([65519.0, np.inf]), ""),
        ("float16", np.array([1, 2], np.int8), ""),
        ("int32", np.array([1, -2]), ""),
    ],
)
def test_numbers_beyond_the_type_of_the_input(type_: str, numbers: np.ndarray, said: str) -> None:
    text = (
        f"""< ir_version: 8, opset_import: ["" : 17] > g ({type_}[2] x) => ({type_}[2] y) {{ y = Abs (x) }}"""
    )
    inputs = model_of(text).graph.inputs
    if not said:
        assert fitted(inputs, {"x": numbers}, "b.npz")["x"][0] == numbers.astype(np.float16)[0]
        return
    with pytest.raises(InputsError, match=re.escape(said)):
        fitted(inputs, {"x": numbers}, "b.npz")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.npz", b"", "not an .npz file of arrays"),
        ("a.npz", b"PK\x03\x04broken", "not an .npz file of arrays"),
        ("a.json", b"{", "not JSON"),
        ("a.json", b"[1]", "not a list of batches"),
        ("a.json", b'[{"x": {"array": "!"}}]', "not a Polygraphy-encoded array"),
        ("a.json", b'[{"x": 3}]', "not a Polygraphy-encoded array"),
        ("a.py", b"def load_data():\n    raise KeyError('disk')\n    yield {}\n", "KeyError: 'disk'"),
        ("a.py", b"x = 1\n", "no function 'load_data'"),
        ("a.py", b"def load_data():\n    yield 3\n", "yields int"),
        ("a.py", b"def (", "SyntaxError"),
        ("a.py", b"import sys\nsys.exit(0)\n", "SystemExit: 0"),
    ],
)
def test_a_broken_file_is_named_with_the_reason(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    given = {
        ".json": Inputs(lists=(str(file),)),
        ".npz": Inputs((str(file),)),
        ".py": Inputs(script=str(file)),
    }
    with pytest.raises(InputsError) as error:
        list(read_feeds(given[file.suffix]))
    assert str(file) in str(error.value)
    assert said in str(error.value)


def test_one_array_without_a_name_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(2))
    with pytest.raises(
        InputsError, match=r"x\.npy: the array in this file has no name; save the array with np\.savez"
    ):
        list(read_feeds(Inputs((str(tmp_path / "x.npy"),))))


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    file = archive(tmp_path / "a.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputsError):
        list(read_feeds(Inputs((file,))))


def declared(shape: str, kind: str = "<f4") -> bytes:
    """Return an ``.npy`` file whose header claims more data than the file contains."""
    head = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + b"0" * 100


def test_objects_in_an_archive_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    np.savez(file, x=np.zeros(2, np.float32), y=np.array([{}, 3], dtype=object))
    with pytest.raises(InputsError, match=r"a\.npz: array 'y' holds Python objects; save an array"):
        list(read_feeds(Inputs((str(file),))))


@pytest.mark.parametrize(
    ("member", "flags"),
    [
        (declared(f"({1 << 60},)"), 0),
        (declared(f"({1 << 40}, {1 << 40})"), 0),
        (declared("(-5,)"), 0),
        (declared("(3,)", "V2147483647"), 0),
        (declared("(" * 60), 0),
        (declared("(25,)"), 1),  # encrypted
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(member: bytes, flags: int, tmp_path: Path) -> None:
    file, list_ = tmp_path / "a.npz", tmp_path / "a.json"
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("x.npy", member)
    data = bytearray(file.read_bytes())
    data[6] |= flags
    data[data.find(b"PK\x01\x02") + 8] |= flags
    file.write_bytes(data)
    with pytest.raises(InputsError, match=r"a\.npz: not an \.npz file of arrays$"):
        list(read_feeds(Inputs((str(file),))))
    if not flags:
        list_.write_text(json.dumps([{"x": {"array": base64.b64encode(member).decode()}}]), encoding="ascii")
        with pytest.raises(InputsError, match=r"input 'x' is not a Polygraphy-encoded array$"):
            list(read_feeds(Inputs(lists=(str(list_),))))


def test_no_more_is_unpacked_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpacked(*_: object, **__: object) -> None:
        raise AssertionError

    file = str(tmp_path / "a.npz")
    np.savez_compressed(file, x=np.zeros(1 << 20))
    assert Path(file).stat().st_size < 1 << 14
    monkeypatch.setattr(feeds, "_MOST_BYTES", 1 << 22)
    monkeypatch.setattr(np.lib.format, "read_array", unpacked)
    with pytest.raises(InputsError, match="more than 0 GB of arrays"):
        list(read_feeds(Inputs((file,))))


def test_batches_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = (archive(tmp_path / "a.npz", **BATCH),) * 3
    assert len(given_feeds(INPUTS, Inputs(files))) == 3
    held = sum(array.nbytes for array in BATCH.values())
    monkeypatch.setattr(feeds, "read_feeds", lambda *_: [("a.npz", BATCH)] * 3)
    monkeypatch.setattr(feeds, "_MOST_BYTES", 3 * held)
    assert len(given_feeds(INPUTS, Inputs(files))) == 3
    monkeypatch.setattr(feeds, "_MOST_BYTES", 3 * held - 1)
    with pytest.raises(InputsError, match=r"more than 0 GB of inputs: give fewer batches"):
        given_feeds(INPUTS, Inputs(files))
    monkeypatch.undo()
    assert feeds._MOST_BYTES == 2 << 30
    monkeypatch.setattr(feeds, "_MOST_BYTES", 1 << 10)  # of an archive, headers count
    with pytest.raises(InputsError, match=r"GB of inputs: give fewer batches"):
        given_feeds(INPUTS, Inputs(files * 20))


def test_values_of_json_are_bounded_before_they_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decoded(*_: object) -> None:
        raise AssertionError

    file = tmp_path / "a.json"
    file.write_bytes(b"[" + b"[]," * 10_000 + b"[]]")
    monkeypatch.setattr(feeds, "_MOST_VALUES", 20_000)
    monkeypatch.setattr(json, "loads", decoded)
    with pytest.raises(InputsError, match="more than 20,000 JSON values, not counting the array data"):
        list(read_feeds(Inputs(lists=(str(file),))))


def test_files_without_a_batch_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("[]", encoding="ascii")
    with pytest.raises(InputsError, match=r"a\.json: no batch of inputs$"):
        given_feeds(INPUTS, Inputs(lists=(str(file),)))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputsError, match=r"nowhere\.npz: No such file"):
        list(read_feeds(Inputs(("nowhere.npz",))))


def test_made_up_inputs_fit_and_are_the_same_again() -> None:
    first, second = random_feeds(INPUTS, 2), random_feeds(INPUTS, 2)
    assert first is not None
    assert second is not None
    assert digest(first) == digest(second)
    assert first[0]["x"].shape == (1, 3)
    assert not np.array_equal(first[0]["x"], first[1]["x"])
    assert set(np.unique(first[0]["ids"])) <= {0, 1}
    assert random_feeds(INPUTS, 1, attempt=100) is None


@pytest.mark.parametrize(("size", "fits"), [(2 << 30, True), ((2 << 30) + 1, False)])
def test_the_size_in_the_header_of_an_archive_is_limited(tmp_path: Path, size: int, fits: bool) -> None:
    file = archive(tmp_path / "a.npz", x=np.ones(2))
    data = bytearray(Path(file).read_bytes())
    place = data.find(b"PK\x01\x02") + 24
    data[place : place + 4] = size.to_bytes(4, "little")
    Path(file).write_bytes(data)
    if fits:
        ((name, batch),) = read_feeds(Inputs((file,)))
        assert (name, batch["x"].tolist()) == (file, [1.0, 1.0])
    else:
        with pytest.raises(InputsError, match=r"a\.npz: more than 2 GB of arrays$"):
            list(read_feeds(Inputs((file,))))
