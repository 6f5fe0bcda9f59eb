"""End-to-end tests of ``trtlint convert``."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import pytest

import trtlint
from tests import schemas
from tests.conversion.models import MASKED, PRODUCTS, saved
from trtlint.cli import run
from trtlint.conversion import writing
from trtlint.files import lfs
from trtlint.files.replace import replacing

pytest.importorskip("onnxruntime")

FAR = """
< ir_version: 8, opset_import: ["" : 17] >
g (float[4,8] x) => (float[4,8] y) < float far = {2000} > { d = Sub(x, far) y = MatMul(d, w) }
"""
"""A subtraction that needs more digits of the input than FP16 has."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a model and input batches."""
    monkeypatch.chdir(tmp_path)
    saved(PRODUCTS, Path("m.onnx"))
    numbers = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    np.savez("small.npz", x=numbers)
    np.savez("large.npz", x=numbers * 3e4)
    return tmp_path


def data(*arguments: str, code: int) -> dict[str, Any]:
    """Return the JSON of a conversion after a check against its schema."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(["convert", *arguments, "--format", "json"]) == code
    found: dict[str, Any] = json.loads(out.getvalue())
    jsonschema.validate(found, schemas.load("trtlint.convert/1"))
    return found


@pytest.mark.slow
@pytest.mark.isolated
def test_a_conversion_is_proven_on_the_inputs_that_are_given() -> None:
    found = data("m.onnx", "--to", "fp16", "--inputs", "small.npz", "--trt", "11.4", code=0)
    assert (found["verdict"], found["share"], found["output"]) == ("proven", 1.0, "m.fp16.onnx")
    shapes = " ".join(f"--{which}Shapes=x:Nx8" for which in ("min", "opt", "max"))
    assert found["command"] == f"trtexec --onnx=m.fp16.onnx {shapes}"
    assert found["notes"][-1].endswith("lint it with: trtlint m.fp16.onnx --trt 11.4")
    assert onnx.load("m.fp16.onnx").graph.initializer[0].data_type == onnx.TensorProto.FLOAT16
    assert found["size"][1] == Path("m.fp16.onnx").stat().st_size


def test_products_that_leave_the_range_are_scaled() -> None:
    inputs = ["--inputs", "small.npz", "--inputs", "large.npz"]
    found = data("m.onnx", "--to", "fp16", *inputs, code=0)
    assert found["share"] == 1
    assert "scales the operands" in found["rewrites"][0]
    assert {"its values are outside the range of the 16-bit type"} & {
        kept["reason"] for kept in found["kept"]
    }
    assert found["error"] < 1e-2


def test_made_up_inputs_prove_nothing() -> None:
    found = data("m.onnx", "--to", "fp16", code=1)
    assert {proof["name"]: proof["verdict"] for proof in found["proofs"]}["rehearsal"] == "unproven"
    assert Path("m.fp16.onnx").exists()


@pytest.mark.slow
def test_a_conversion_that_fails_a_proof_is_not_written() -> None:
    layers = "--layerPrecisions=*:fp16 --precisionConstraints=obey"
    build = f"trtexec --onnx=m.onnx --fp16 {layers}"
    found = data("m.onnx", "--to", "fp16", "--inputs", "large.npz", "--build", build, code=3)
    assert found["verdict"] == "failed"
    assert not Path("m.fp16.onnx").exists()


@pytest.mark.parametrize("least", [2000, 70000])
def test_inputs_that_need_fp32_fail_the_proof(least: int) -> None:
    saved(FAR, Path("far.onnx"))
    numbers = np.linspace(least, least + 1, 32, dtype=np.float32).reshape(4, 8)
    np.savez("far.npz", x=numbers)
    arguments = ["far.onnx", "--to", "fp16", "--inputs", "far.npz"]
    found = data(*arguments, "--io", "fp16", code=3)
    assert found["proofs"][-1]["verdict"] == "failed"
    assert found["advice"].endswith("trtlint convert far.onnx --to fp16 --io fp32")
    assert not Path("far.fp16.onnx").exists()
    data(*arguments, code=0)


def test_numbers_that_only_noise_makes_large_do_not_hide_an_error() -> None:
    text = """< ir_version: 8, opset_import: ["" : 17] > g (float[2,2] x) => (float[2,2] y)
    < float[2,2] w = {1e-8, 0, 0, 1} > { y = MatMul(x, w) }"""
    saved(text, Path("dead.onnx"), None)
    np.savez("dead.npz", x=np.array([[0.5, 0], [0.1, 0]], np.float32))
    found = data("dead.onnx", "--to", "fp16", "--inputs", "dead.npz", code=0)
    assert [kept["op"] for kept in found["kept"]] == ["MatMul"]


def test_a_dry_run_writes_nothing() -> None:
    assert data("m.onnx", "--to", "fp16", "--dry-run", "--no-measure", code=1)["output"] == ""
    assert not Path("m.fp16.onnx").exists()


def test_the_difference_shows_the_casts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", "m.onnx", "--to", "fp16", "--no-measure", "--diff"]) == 1
    said = capsys.readouterr().out
    assert "+x/fp16" in said.replace('"', "").replace(" ", "")
    assert "all operators" not in said


def test_the_page_shows_types_and_ranges() -> None:
    arguments = ["m.onnx", "--to", "fp16", "--inputs", "small.npz", "--inputs", "large.npz"]
    assert run(["convert", *arguments, "--html", "page.html", "--dry-run"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Operators in FP32" in page
    assert "the line marks the largest value of FP16" in page
    assert "<script" not in page


def test_a_second_conversion_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run(["convert", "m.onnx", "--to", "fp16", "--no-measure"])
    assert run(["convert", "m.fp16.onnx", "--to", "fp16"]) == 0
    assert "nothing to convert" in capsys.readouterr().out
    assert not Path("m.fp16.fp16.onnx").exists()


def test_a_model_in_fp16_is_for_measure_and_fix(capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        """< ir_version: 8, opset_import: ["" : 17] > g (float16[4] x) => (float16[4] y) { y = Relu (x) }"""
    )
    onnx.save(onnx.parser.parse_model(text), "half.onnx")
    assert run(["convert", "half.onnx", "--to", "fp16", "--no-measure"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "nothing to convert: " in out
    assert "for a model that already has 16-bit types, use trtlint measure and trtlint fix" in out


def test_types_of_layers_come_from_the_build_command() -> None:
    Path("build.sh").write_text(
        "trtexec --onnx=m.onnx --fp16 --layerPrecisions=first:fp32 --precisionConstraints=obey\n"
    )
    found = data("m.onnx", "--to", "fp16", "--build", "build.sh", "--no-measure", code=1)
    assert {kept["node"]: kept["reason"] for kept in found["kept"]}["first"] == "--layerPrecisions first:fp32"


def test_a_network_script_sets_types_on_a_stand_in() -> None:
    pytest.importorskip("tensorrt_rtx_bindings")
    Path("hook.py").write_text(
        "import tensorrt as trt\n"
        "def postprocess(network, config):\n"
        "    config.set_flag(trt.BuilderFlag.FP16)\n"
        "    for layer in network:\n"
        "        if layer.type == trt.LayerType.SOFTMAX:\n"
        "            layer.precision = trt.float32\n"
    )
    saved(MASKED, Path("a.onnx"), None)
    found = data("a.onnx", "--to", "fp16", "--network-script", "hook.py", "--no-measure", code=1)
    assert [kept["op"] for kept in found["kept"]] == ["Softmax"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["m.onnx"], 2, "Missing option '--to'"),
        (["m.onnx", "--to", "fp16", "--io", "bf16"], 2, "use fp32 or fp16"),
        (["m.onnx", "--to", "fp16", "--trt", "8.6"], 2, "TensorRT 8.6 has no strongly typed networks"),
        (["m.onnx", "--to", "bf16", "--gpu", "T4"], 2, "this GPU does not compute in BF16"),
        (["m.onnx", "--to", "fp16", "--keep", "nowhere"], 2, "no operator has this"),
        (["m.onnx", "--to", "fp16", "--inputs", "nowhere.npz"], 2, "nowhere.npz"),
        (["m.onnx", "--to", "fp16", "-o", "m.onnx"], 2, "is the model itself"),
        (["m.onnx", "--to", "fp16", "-o", "nowhere/m.onnx"], 2, "folder nowhere does not exist; create"),
        (["nowhere.onnx", "--to", "fp16"], 3, "nowhere.onnx"),
        (["small.npz", "--to", "fp16"], 3, "not an ONNX model"),
        (["m.onnx", "--to", "fp16", "--network-script", "nowhere.py"], 2, "there is no such file"),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["convert", *arguments]) == code
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_python_converts_a_file_and_a_model_in_memory() -> None:
    found = trtlint.convert("m.onnx", to="fp16", inputs=["small.npz"], trt="11.4")
    assert (found.verdict, found.output) == ("proven", "m.fp16.onnx")
    found = trtlint.convert(onnx.load("m.onnx"), to="bf16", out="b.onnx", measure=False)
    assert (found.verdict, os.path.exists("b.onnx")) == ("unproven", True)  # noqa: PTH110
    with pytest.raises(trtlint.SettingError, match="name the output file"):
        trtlint.convert(onnx.load("m.onnx"), to="fp16")
    assert callable(trtlint.convert)


def test_a_model_with_an_integer_output_is_proven() -> None:
    text = PRODUCTS.replace("float[N,8] y", "int64[N,1] y").replace("y = Relu(c)", "y = ArgMax<axis = 1>(c)")
    saved(text, Path("i.onnx"))
    found = data("i.onnx", "--to", "fp16", "--inputs", "small.npz", code=0)
    assert found["share"] == 1.0
    (rehearsal,) = [proof for proof in found["proofs"] if proof["name"] == "rehearsal"]
    assert "; y has an integer type, so trtlint compares the tensor c, from which ArgMax" in rehearsal["text"]


@pytest.mark.slow
def test_several_models_are_written_to_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(PRODUCTS, Path("n.onnx"))
    Path("out").mkdir()
    words = ["convert", "m.onnx", "n.onnx", "--to", "fp16", "-o", "out", "--inputs", "small.npz"]
    assert run([*words, "--output", "json:all.json", "--output", "html:all.html"]) == 0
    assert sorted(file.name for file in Path("out").iterdir()) == ["m.fp16.onnx", "n.fp16.onnx"]
    out = capsys.readouterr().out
    assert "m.onnx" in out
    assert "n.onnx" in out
    document = json.loads(Path("all.json").read_text("utf-8"))
    assert [each["path"] for each in document["models"]] == ["m.onnx", "n.onnx"]
    assert document["errors"] == []
    for each in (document, *document["models"]):
        jsonschema.validate(each, schemas.load("trtlint.convert/1"))
    page = Path("all.html").read_text("utf-8")
    assert "2 models in FP16" in page
    assert page.count("<h1") == 1


def test_files_that_a_failed_conversion_keeps(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save = functools.partial(onnx.save, save_as_external_data=True, size_threshold=0)
    for name in ("in", "out"):
        (folder / name).mkdir()
    save(onnx.load("m.onnx"), "in/a.onnx", location="a.bin")
    save(onnx.load("m.onnx"), "out/b.onnx", location="a.fp16.onnx.data")
    kept = Path("out/a.fp16.onnx.data").read_bytes()
    # The new data would replace the data of another model of this command.
    data("in/a.onnx", "out/b.onnx", "--to", "fp16", "--no-measure", "-o", "out", code=3)
    assert Path("out/a.fp16.onnx.data").read_bytes() == kept
    # The data are written, but the model is not.

    def full(path: Path, *arguments: Any) -> Any:
        if path.suffix == ".onnx":
            raise OSError(errno.ENOSPC, "No space left on device")
        return replacing(path, *arguments)

    monkeypatch.setattr(writing, "replacing", full)
    data("in/a.onnx", "--to", "fp16", "--no-measure", "-o", "out", code=3)
    assert Path("out/a.fp16.onnx.data").read_bytes() == kept
    assert "No space left on device" in capsys.readouterr().err


def test_each_bad_model_is_one_error_and_the_others_are_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models, out = folder / "in", folder / "out"
    models.mkdir()
    out.mkdir()
    save = functools.partial(onnx.save, save_as_external_data=True, size_threshold=0)
    save(onnx.load("m.onnx"), models / "a.onnx", location="gone.bin")
    (models / "gone.bin").unlink()
    (models / "broken.onnx").write_bytes(b"\x08\x08\x3a\xff")
    (models / "pointer.onnx").write_bytes(lfs.FIRST_LINE + b"v1\noid sha256:" + b"a" * 64 + b"\nsize 9\n")
    save(onnx.load("m.onnx"), models / "z.onnx", location="z.bin")
    found = data("in", "--to", "fp16", "--no-measure", "-o", "out", code=3)
    assert [each["output"] for each in found["models"]] == ["out/z.fp16.onnx"]
    names = ["a.onnx", "broken.onnx", "pointer.onnx"]
    assert [Path(error["path"]).name for error in found["errors"]] == names
    assert sorted(file.name for file in out.iterdir()) == ["z.fp16.onnx", "z.fp16.onnx.data"]
    printed = capsys.readouterr().err
    for error in found["errors"]:
        assert printed.count(f"error: {error['path']}: {error['message']}") == 1
    onnx.checker.check_model(out / "z.fp16.onnx")


@pytest.mark.parametrize("more", [[], ["gone.onnx"]])
def test_models_that_cannot_be_read_give_a_document_too(folder: Path, more: list[str]) -> None:
    Path("broken.onnx").write_bytes(b"\x08\x08\x3a\xff")
    found = data("broken.onnx", *more, "--to", "fp16", "--no-measure", code=3)
    assert found["models"] == []
    assert [error["path"] for error in found["errors"]] == ["broken.onnx", *more]


def test_a_folder_is_converted_without_earlier_results(folder: Path) -> None:
    saved(PRODUCTS, Path("n.onnx"))
    for _ in range(2):
        assert run(["convert", ".", "--to", "fp16", "--inputs", "small.npz"]) == 0
    assert sorted(file.name for file in folder.glob("*.onnx")) == [
        "m.fp16.onnx",
        "m.onnx",
        "n.fp16.onnx",
        "n.onnx",
    ]


@pytest.mark.parametrize("command", [["convert", "--to", "fp16"], ["fix"]])
def test_several_models_need_a_folder(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    saved(PRODUCTS, Path("n.onnx"))
    assert run([*command, "m.onnx", "n.onnx", "-o", "out"]) == 2
    assert (
        "-o: 2 models are given, so -o must name a folder, but out does not exist" in capsys.readouterr().err
    )


def test_models_of_one_name_are_not_written_to_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b", "out"):
        Path(name).mkdir()
    for name in ("a", "b"):
        saved(PRODUCTS, Path(name, "m.onnx"))
    assert run(["convert", "a/m.onnx", "b/m.onnx", "--to", "fp16", "-o", "out", "--no-measure"]) == 2
    assert "2 outputs would be written to this file" in capsys.readouterr().err


def test_a_model_that_cannot_be_converted_costs_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.onnx").write_bytes(b"\x08")
    words = ["convert", "broken.onnx", "m.onnx", "--to", "fp16", "--inputs", "small.npz"]
    assert run(words) == 3
    assert "broken.onnx" in capsys.readouterr().err
    assert Path("m.fp16.onnx").exists()


def test_inputs_that_do_not_fit_one_model_cost_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    saved(PRODUCTS.replace("x", "other"), Path("n.onnx"))
    assert run(["convert", "m.onnx", "n.onnx", "--to", "fp16", "--inputs", "small.npz"]) == 3
    printed = capsys.readouterr()
    assert "n.onnx: " in printed.err
    assert "m.fp16.onnx" in printed.out
    assert Path("m.fp16.onnx").exists()
    assert not Path("n.fp16.onnx").exists()


def test_an_error_while_writing_names_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, *args: Any) -> Any:
        if path.name == "out.onnx":
            raise OSError(28, "No space left on device", str(path))
        return replacing(path, *args)

    monkeypatch.setattr("trtlint.conversion.writing.replacing", full)
    assert run(["convert", "m.onnx", "--to", "fp16", "--inputs", "small.npz", "-o", "out.onnx"]) == 3
    assert "error: out.onnx: cannot be written: No space left on device\n" in "".join(capsys.readouterr())


def test_an_error_while_reading_names_the_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error", "m.onnx")

    monkeypatch.setattr("trtlint.conversion.writing.replacing", gone)
    assert run(["convert", "m.onnx", "--to", "fp16", "--inputs", "small.npz", "-o", "out.onnx"]) == 3
    assert "error: m.onnx: Input/output error\n" in "".join(capsys.readouterr())


def test_external_data_of_a_model_that_is_not_converted_are_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    proto = onnx.load("m.onnx")
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 9
    onnx.save(proto, "n.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    data = Path("w.bin").read_bytes()
    options = ["--to", "fp16", "--inputs", "small.npz", "--output", "json:w.bin"]
    assert run(["convert", "n.onnx", "m.onnx", *options]) != 0
    assert "w.bin is read in this run" in capsys.readouterr().err
    assert Path("w.bin").read_bytes() == data
