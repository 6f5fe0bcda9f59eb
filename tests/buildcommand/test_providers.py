"""Provider options of ONNX Runtime from Python, JSON and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trtlint.buildcommand import BuildCommand, CommandError, read_commands
from trtlint.buildcommand.providers import of_command_line, of_json, of_python
from trtlint.knowledge.providers import PROVIDERS, provider_options


def options(command: BuildCommand) -> dict[str, str | None]:
    """The options of a command, its provider and model apart."""
    return {each.name: each.value for each in command.options if each.name not in ("provider", "model")}


def test_pairs_in_a_script() -> None:
    (found,) = of_python(
        "import onnxruntime as ort\n"
        "opts = {'trt_fp16_enable': True, 'trt_max_workspace_size': 2 * 1024**3,\n"
        "        'trt_engine_cache_path': where()}\n"
        "s = ort.InferenceSession('a/m.onnx', providers=[('TensorrtExecutionProvider', opts), 'CPU'])\n",
        "s.py",
    )
    assert found.provider == "tensorrt"
    assert found.model == "a/m.onnx"
    assert found.place == "s.py:4"
    assert options(found) == {
        "trt_fp16_enable": "True", "trt_max_workspace_size": str(2 << 30), "trt_engine_cache_path": None
    }  # fmt: skip
    cache = found.option("trt_engine_cache_path")
    assert cache is not None
    assert not cache.known
    assert found.switches == {"fp16": True}


@pytest.mark.parametrize(
    "text",
    [
        "s = S(m, providers=['NvTensorRTRTXExecutionProvider'], provider_options=[{'nv_dump_subgraphs': 1}])",
        "s.set_providers(['NvTensorRTRTXExecutionProvider'], [{'nv_dump_subgraphs': 1}])",
        "o.add_provider('NvTensorRTRTXExecutionProvider', {'nv_dump_subgraphs': '1'})",
        "o.add_provider_for_devices([device], {'nv_dump_subgraphs': '1'})",
        "o.add_provider('NvTensorRTRTXExecutionProvider', dict(nv_dump_subgraphs=1))",
    ],
)
def test_other_ways_to_name_a_provider(text: str) -> None:
    (found,) = of_python(text)
    assert found.provider == "nv-tensorrt-rtx"
    assert options(found) == {"nv_dump_subgraphs": "1"}


def test_a_provider_without_options() -> None:
    (found,) = of_python("p = ['TensorrtExecutionProvider', 'CUDAExecutionProvider']")
    assert options(found) == {}
    assert found.complete


@pytest.mark.parametrize("text", ["x = (", "x = 1", "", "p = ['CUDAExecutionProvider']"])
def test_scripts_without_a_provider(text: str) -> None:
    assert of_python(text) == ()


def test_json_in_its_forms() -> None:
    pair = '[["TensorrtExecutionProvider", {"trt_fp16_enable": "1"}], "CUDAExecutionProvider"]'
    keyed = '{"TensorrtExecutionProvider": {"trt_fp16_enable": "1"}}'
    lists = '{"providers": ["TensorrtExecutionProvider"], "provider_options": [{"trt_fp16_enable": "1"}]}'
    for text in (pair, keyed, lists):
        (found,) = of_json(text)
        assert options(found) == {"trt_fp16_enable": "1"}
    with pytest.raises(CommandError):
        of_json("{")


def test_deep_json_ends() -> None:
    assert of_json('{"a":' * 200 + '["TensorrtExecutionProvider", {}]' + "}" * 200) == ()


def test_files_are_read_as_build_commands(tmp_path: Path) -> None:
    script = tmp_path / "session.py"
    script.write_text("p = [('TensorrtExecutionProvider', {'trt_fp16_enable': 1})]")
    assert read_commands(str(script))[0].provider == "tensorrt"
    document = tmp_path / "providers.json"
    document.write_text('{"NvTensorRTRTXExecutionProvider": {}}')
    assert read_commands(str(document))[0].provider == "nv-tensorrt-rtx"


def test_options_of_the_command_line() -> None:
    found = of_command_line("tensorrt", ["trt_min_subgraph_size=5 trt_fp16_enable=1", "trt_dla_core=0"])
    assert options(found) == {"trt_min_subgraph_size": "5", "trt_fp16_enable": "1", "trt_dla_core": "0"}
    assert not of_command_line("tensorrt", []).complete
    with pytest.raises(CommandError, match="KEY=VALUE"):
        of_command_line("tensorrt", ["trt_fp16_enable"])


def test_triton_names_the_provider() -> None:
    text = 'optimization { execution_accelerators { gpu_execution_accelerator { name: "tensorrt" } } }'
    assert read_commands(text)[0].provider == "tensorrt"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_wrong_values_of_each_option_are_found(provider: str) -> None:
    known = provider_options(provider)
    wrong = {"bool": "maybe", "int": "x", "size": "-1", "level": "9", "shapes": "1x3"}
    right = {
        "bool": "1",
        "int": "-1",
        "size": "0",
        "level": "5",
        "shapes": "x:1x3,y:2",
        "text": "a",
        "path": "b",
    }
    for option in known.values():
        assert option.takes(right[option.kind]), option
        assert option.kind not in wrong or not option.takes(wrong[option.kind]), option


def test_large_and_deep_scripts_end() -> None:
    pair = "p = [('TensorrtExecutionProvider', {'trt_fp16_enable': 1})]\n"
    assert of_python(pair * 20_000) == ()
    assert of_python("(" * 5_000 + ")" * 5_000) == ()


def size(expression: str) -> tuple[str | None, bool]:
    """Return the value of an option that a script computes, and whether it is known."""
    (found,) = of_python(
        f"K = 3\np = [('TensorrtExecutionProvider', {{'trt_max_workspace_size': {expression}}})]"
    )
    option = found.option("trt_max_workspace_size")
    assert option is not None
    return option.value, option.known


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "7",
            "2 * 3",
            "2 ** 0",
            "5 << 0",
            "1 << 30",
            "2 ** 40",
            "2 << 3 * 2",
            "(2 * 3) ** 2",
            "2 ** 62",
            "1 << 62",
            "0 << 63",
        ),
        *(
            "(1 << 20) ** 3",
            "(1 << 20) << 1",
            "1 * 9223372036854775807",
            "9223372036854775808",
            "True",
            "2.5",
        ),
        " * ".join(["2"] * 12),
        "2 * (" * 11 + "2" + ")" * 11,
    ],
)
def test_numbers_that_a_script_computes(expression: str) -> None:
    assert size(expression) == (str(eval(expression)), True)


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "2 ** 63",
            "1 << 63",
            "0 << 64",
            "1 << 64",
            "0 * 2 ** 64",
            "((1 << 20) + 1) << 1",
            "(1 << 21) << 1",
        ),
        *("((1 << 20) * 2) << 1", "1 * 9223372036854775808", "2 ** -1", "-2", "2 * -1", "2 * 2.5", "6 / 2"),
        *("3 - 1", "2 * K", "2 * f()", "[1]", "7 if x else 6"),
        " * ".join(["2"] * 13),
        "2 * (" * 12 + "2" + ")" * 12,
    ],
)
def test_numbers_that_stay_unknown(expression: str) -> None:
    assert size(expression) == (None, False)


def test_constants_of_a_script() -> None:
    assert [size(each) for each in ("K", "None", "'text'")] == [("3", True), ("", True), ("text", True)]


def nested(levels: int, *, lists: bool) -> str:
    """Return options of a provider inside of some lists or objects."""
    inner = '{"TensorrtExecutionProvider": {"trt_fp16_enable": 1}}'
    return "[" * levels + inner + "]" * levels if lists else '{"a": ' * levels + inner + "}" * levels


@pytest.mark.parametrize("lists", [True, False])
def test_json_is_read_to_a_depth(lists: bool) -> None:
    (found,) = of_json(nested(50, lists=lists))
    assert options(found) == {"trt_fp16_enable": "1"}
    assert of_json(nested(51, lists=lists)) == ()


RTX, TRT = "NvTensorRTRTXExecutionProvider", "TensorrtExecutionProvider"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({TRT: {"a": 1, "b": None, "c": True, "d": [1], "e": "x" * 2001}}, [("tensorrt", "a b c d e")]),
        ({TRT: 1}, []),
        ({TRT: [TRT]}, [("tensorrt", "")]),
        ([TRT], [("tensorrt", "")]),
        ([TRT, RTX], [("tensorrt", ""), ("nv-tensorrt-rtx", "")]),
        ([TRT, {"a": 1}], [("tensorrt", "a")]),
        ([[TRT, {"a": 1}], RTX, "other"], [("tensorrt", "a"), ("nv-tensorrt-rtx", "")]),
        (["other", {TRT: {"a": 1}}], [("tensorrt", "a")]),
        ([TRT, {"a": 1}, 3], [("tensorrt", "")]),
        ([1, {"a": 1}], []),
        (
            {"providers": ["other", RTX, TRT], "provider_options": [{}, {"a": 1}, 2]},
            [("nv-tensorrt-rtx", "a"), ("tensorrt", "")],
        ),
        ({"providers": [TRT, RTX], "provider_options": [{"a": 1}]}, [("tensorrt", "a")]),
        ({"providers": [TRT], "provider_options": [{"a": 1}], "x": {RTX: {}}}, [("tensorrt", "a")]),
        ({"providers": [TRT]}, [("tensorrt", "")]),
        ({"providers": [TRT, 1], "provider_options": [{"a": 1}]}, [("tensorrt", "")]),
        ({"providers": TRT, "provider_options": [{TRT: {"a": 1}}]}, [("tensorrt", "a")]),
    ],
)
def test_providers_in_json(document: object, expected: list[tuple[str, str]]) -> None:
    found = of_json(json.dumps(document), "o.json")
    assert [(each.provider, " ".join(options(each))) for each in found] == expected
    assert {each.place for each in found} <= {"o.json:1"}


def test_values_in_json() -> None:
    (found,) = of_json(json.dumps({TRT: {"a": 1.5, "b": None, "c": True, "d": [1], "e": "x" * 2001}}))
    assert options(found) == {"a": "1.5", "b": "", "c": "True", "d": None, "e": "x" * 2000}
    assert [each.name for each in found.options if not each.known] == ["d"]
