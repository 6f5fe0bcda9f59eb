"""Inputs as users have them."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.graphs import model_of
from trtlint.trials.feeds import FeedError, digest, fitted, random_feeds, read_feeds

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
    found = list(read_feeds(files, (), None, 2))
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
    found = list(read_feeds((), [str(file)], None, None))
    assert len(found) == 2
    assert np.array_equal(found[1][1]["x"], BATCH["x"])


def test_it_is_the_json_that_polygraphy_writes(tmp_path: Path) -> None:
    polygraphy = pytest.importorskip("polygraphy.json")
    file = str(tmp_path / "inputs.json")
    polygraphy.save_json([BATCH], file)
    ((_, batch),) = read_feeds((), [file], None, None)
    assert np.array_equal(batch["ids"], BATCH["ids"])


def test_a_script_yields_batches(tmp_path: Path) -> None:
    script = tmp_path / "loader.py"
    script.write_text(
        "import numpy as np\n"
        "def load_data():\n    yield {'x': np.zeros((1, 3))}\n"
        "def other():\n    for n in range(1, 100):\n        yield {'x': np.zeros((n, 3))}\n",
        encoding="ascii",
    )
    assert len(list(read_feeds((), (), str(script), None))) == 1
    assert [batch["x"].shape[0] for _, batch in read_feeds((), (), f"{script}:other", 3)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": None}, "no input 'x'"),
        ({"x": None, "image": np.ones(3)}, "no input 'x'; it has 'image', which the model does not take"),
        ({"x": np.ones((2, 4), np.float32)}, r"input 'x' is [2, 4], the model takes f32[N,3]"),
        ({"x": np.ones(3, np.float32)}, r"input 'x' is [3], the model takes f32[N,3]"),
        ({"ids": np.ones(2)}, "input 'ids' is float64, the model takes i64[N]"),
        ({"x": np.array([["a", "b", "c"]])}, "input 'x' is <U1, the model takes f32[N,3]"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, object], said: str) -> None:
    batch = {name: value for name, value in {**BATCH, **change}.items() if value is not None}
    with pytest.raises(FeedError) as error:
        fitted(INPUTS, batch, "b.npz")
    assert str(error.value).startswith("b.npz: ")
    assert said in str(error.value)


def test_wider_numbers_are_narrowed_to_what_the_model_takes() -> None:
    batch = fitted(INPUTS, {**BATCH, "x": np.ones((2, 3)), "ids": np.arange(2, dtype=np.int32)}, "b.npz")
    assert (batch["x"].dtype, batch["ids"].dtype) == (np.float32, np.int64)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.npz", b"", "not an .npz file of arrays"),
        ("a.npz", b"PK\x03\x04broken", "not an .npz file of arrays"),
        ("a.json", b"{", "not JSON"),
        ("a.json", b"[1]", "not a list of batches"),
        ("a.json", b'[{"x": {"array": "!"}}]', "no array as Polygraphy writes it"),
        ("a.json", b'[{"x": 3}]', "no array as Polygraphy writes it"),
        ("a.py", b"def load_data():\n    raise KeyError('disk')\n    yield {}\n", "KeyError: 'disk'"),
        ("a.py", b"x = 1\n", "it has no function 'load_data'"),
        ("a.py", b"def load_data():\n    yield 3\n", "yields int"),
        ("a.py", b"def (", "SyntaxError"),
    ],
)
def test_a_broken_file_is_named_with_the_reason(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    lists = [str(file)] if name.endswith(".json") else []
    files = [str(file)] if name.endswith(".npz") else []
    with pytest.raises(FeedError) as error:
        list(read_feeds(files, lists, str(file) if name.endswith(".py") else None, None))
    assert str(file) in str(error.value)
    assert said in str(error.value)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    file = archive(tmp_path / "a.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FeedError):
        list(read_feeds([file], (), None, None))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(FeedError, match=r"nowhere\.npz: No such file"):
        list(read_feeds(["nowhere.npz"], (), None, None))


def test_made_up_inputs_fit_and_are_the_same_again() -> None:
    first, second = random_feeds(INPUTS, 2), random_feeds(INPUTS, 2)
    assert first is not None
    assert second is not None
    assert digest(first) == digest(second)
    assert first[0]["x"].shape == (1, 3)
    assert not np.array_equal(first[0]["x"], first[1]["x"])
    assert set(np.unique(first[0]["ids"])) <= {0, 1}
    assert random_feeds(INPUTS, 1, attempt=100) is None
