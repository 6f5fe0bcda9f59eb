"""Tests of ONNX Runtime provider options from Python, JSON and the command line."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from trtlint.buildcommand import BuildCommand, CommandError, command, providers, read_commands
from trtlint.buildcommand.providers import of_command_line, of_json, of_options, of_python
from trtlint.knowledge.providers import PROVIDERS, provider_options


def options(command: BuildCommand) -> dict[str, str | None]:
    """Return the options of a command, except its provider and model."""
    return {each.name: each.value for each in command.options if each.name not in ("provider", "model")}


def test_warnings_of_python_about_a_script_are_not_shown() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = of_python(r"p = ['TensorrtExecutionProvider', '\dExecutionProvider']")
    assert found.provider == "tensorrt"


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


@pytest.mark.parametrize(
    "text",
    [
        "x = (",
        "x = 1",
        "",
        "p = ['CUDAExecutionProvider']",
        "a.add_argument('--provider', choices=['TensorrtExecutionProvider', 'CPUExecutionProvider'])",
        "known = ['TensorrtExecutionProvider', 'CPUExecutionProvider']\na.add_argument('-p', choices=known)",
        "if p in ('TensorrtExecutionProvider', 'CUDAExecutionProvider'): pass",
        "P = Literal['TensorrtExecutionProvider', 'CPUExecutionProvider']",
        "run(['-p', 'NvTensorRTRTXExecutionProvider', '--device', 'gpu'])",
    ],
)
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
    """Return provider options inside nested lists or objects."""
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


ONE = "{'trt_fp16_enable': 1}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a provider and its options in a list or tuple of two
        (f"p = ['{TRT}', {ONE}]", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"p = ('{TRT}', {ONE}, 3)", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"p = ({ONE}, '{TRT}')", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"p = ('{TRT}', f())", [("tensorrt", 1, {})]),
        (f"\np = [\n'CPUExecutionProvider', ('{RTX}', {{}}),\n'{TRT}']",
         [("tensorrt", 4, {}), ("nv-tensorrt-rtx", 3, {})]),
        (f"p = '{TRT}'", []),
        (f"p = {{'{TRT}': {ONE}}}", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        ("config = {'trt_model': 'a.plan', 'nv_a': 1}", []),
        # the occurrence with more options counts
        (f"p = ['{TRT}']\nq = ('{TRT}', {ONE})", [("tensorrt", 2, {"trt_fp16_enable": "1"})]),
        (
            f"p = ('{TRT}', {ONE})\nq = ('{TRT}', {{'trt_dla_core': 2}})",
            [("tensorrt", 1, {"trt_fp16_enable": "1"})],
        ),
        # calls
        (f"S(providers=['other', '{TRT}'], provider_options=[{ONE}, {{'a': 2}}])",
         [("tensorrt", 1, {"a": "2"})]),
        (f"S(providers=['{TRT}', '{RTX}'], provider_options=[{ONE}])",
         [("tensorrt", 1, {"trt_fp16_enable": "1"}), ("nv-tensorrt-rtx", 1, {})]),
        (f"p = ('{TRT}',)\no = ({ONE},)\nS(providers=p, provider_options=o)",
         [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"S(providers=['{TRT}'], provider_options={ONE})", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"S(['{TRT}'], [{ONE}])", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"s.set_providers(['{TRT}'])", [("tensorrt", 1, {})]),
        (f"s.set_providers(['{TRT}'], [{ONE}], 3)", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"s.add_provider('{TRT}')", []),
        (f"k = '{TRT}'\ns.add_provider(k, {ONE})", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"s.add('{TRT}', {ONE})", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        (f"add_provider('{TRT}', {ONE})", [("tensorrt", 1, {"trt_fp16_enable": "1"})]),
        ("s.add_provider_for_devices(d, {'nv_a': 1, 'b': 2})",
         [("nv-tensorrt-rtx", 1, {"nv_a": "1", "b": "2"})]),
        ("s.add_provider_for_devices(d, {'b': 2})", []),
        ("s.add_provider_for_devices({'nv_a': 2})", []),
        ("s.add_provider_for_devices(d, f())", []),
        # dictionaries
        (f"p = ('{TRT}', {{1: 2, **x, 'a': 3, b: 4, 'c': d}})", [("tensorrt", 1, {"a": "3", "c": None})]),
        (f"p = ('{TRT}', dict(x, a=1, **y))", [("tensorrt", 1, {"a": "1"})]),
        (f"p = ('{TRT}', d.dict(a=1))", [("tensorrt", 1, {})]),
        (f"o = x.y = {ONE}\np = ('{TRT}', o)", [("tensorrt", 2, {"trt_fp16_enable": "1"})]),
    ],
)  # fmt: skip
def test_providers_in_python(text: str, expected: list[tuple[str, int, dict[str, str | None]]]) -> None:
    found = of_python(text, "s.py")
    assert [(each.provider, each.line, options(each)) for each in found] == expected
    assert all(each.source == "s.py" for each in found)


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("o.add_session_config_entry('ep.context_enable', '1')", {"ep.context_enable": "1"}),
        ("add_session_config_entry('ep.context_enable', 1)", {"ep.context_enable": "1"}),
        ("o.add_session_config_entry('session.x', '1')", {}),
        ("o.add_session_config_entry('ep.context_enable', x)", {}),
        ("o.add_session_config_entry('ep.context_enable', '1', '2')", {}),
        ("o.add_session_config_entry('ep.context_enable')", {}),
        ("o.other('ep.context_enable', '1')", {}),
    ],
)
def test_session_options_follow_those_of_the_provider(calls: str, expected: dict[str, str]) -> None:
    (found,) = of_python(f"{calls}\np = ('{TRT}', {ONE})")
    assert options(found) == {"trt_fp16_enable": "1", **expected}
    assert [option.name for option in found.options][:2] == ["provider", "trt_fp16_enable"]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("InferenceSession('a.onnx')", "a.onnx"),
        ("ort.InferenceSession('a.onnx', o)\nInferenceSession('a.onnx')", "a.onnx"),
        ("ort.InferenceSession('a.onnx')\nInferenceSession('b.onnx')", None),
        ("ort.InferenceSession(name)", None),
        ("ort.InferenceSession(b'a')", None),
        ("ort.InferenceSession()", None),
        ("Session('a.onnx')", None),
    ],
)
def test_the_model_of_a_script(calls: str, expected: str | None) -> None:
    (found,) = of_python(f"{calls}\np = ('{TRT}', {ONE})")
    assert found.model == expected


def test_the_text_of_a_command() -> None:
    (found,) = of_python(f"InferenceSession('a.onnx')\np = ('{TRT}', {{'a': 1, 'b': f(), 'c': None}})")
    assert found.text == "onnxruntime provider=tensorrt model=a.onnx a=1 b=... c="


@pytest.mark.parametrize(("count", "kept"), [(499, 499), (500, 499)])
def test_the_number_of_options_is_limited(count: int, kept: int) -> None:
    found = of_command_line("tensorrt", [f"o{number}=1" for number in range(count)])
    assert list(options(found)) == [f"o{number}" for number in range(kept)]


@pytest.mark.parametrize("word", ["a", "=1", "="])
def test_words_that_are_no_options(word: str) -> None:
    with pytest.raises(CommandError) as caught:
        of_command_line("tensorrt", [f"x=1 {word}"])
    assert str(caught.value) == (f"--ep-options {word!r}: write KEY=VALUE, such as trt_engine_cache_enable=1")


def test_the_options_of_a_program() -> None:
    found = of_options("tensorrt", {"a": 1, "b": [2], "c": None})
    assert (options(found), found.complete, found.place) == ({"a": "1", "b": None, "c": ""}, True, "")
    assert found.text == "onnxruntime provider=tensorrt a=1 b=... c="
    assert not of_options("tensorrt", {}).complete


@pytest.mark.parametrize(("source", "place"), [("", "the build command"), ("o.json", "o.json")])
def test_text_that_is_not_json(source: str, place: str) -> None:
    with pytest.raises(CommandError) as caught:
        of_json("{", source)
    assert str(caught.value).startswith(f"{place}: not JSON: Expecting property name")


def test_the_options_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider name is the first option."""
    given = {f"o{number}": "1" for number in range(3)}
    for most in (3, 4):
        monkeypatch.setattr(command, "_MOST_OPTIONS", most)
        (found,) = of_json(json.dumps({"TensorrtExecutionProvider": given}))
        assert list(options(found)) == [f"o{number}" for number in range(most - 1)]


@pytest.mark.parametrize(("depth", "found"), [(3, 1), (2, 0)])
def test_the_depth_of_json_is_limited(monkeypatch: pytest.MonkeyPatch, depth: int, found: int) -> None:
    monkeypatch.setattr(providers, "_DEEPEST", depth)
    text = '{"a": {"b": {"c": {"TensorrtExecutionProvider": {}}}}}'
    assert len(of_json(text)) == found


@pytest.mark.parametrize("text", ["{", "[" * 100_000])
def test_text_that_is_no_json(text: str) -> None:
    for source, name in (("f.json", "f.json"), ("", "the build command")):
        with pytest.raises(CommandError) as caught:
            of_json(text, source)
        assert str(caught.value).startswith(f"{name}: not JSON: ")
        assert len(str(caught.value)) <= len(f"{name}: not JSON: ") + 200


def options_of(text: str) -> tuple[dict[str, str | None], bool]:
    """Return the options of the only provider in a script, and whether they are complete."""
    (found,) = of_python(text)
    return {each.name: each.value for each in found.options[1:]}, found.complete


CACHE = "'trt_engine_cache_enable': True"


@pytest.mark.parametrize(
    ("text", "options", "complete"),
    [
        (f"o = {{{CACHE}}}\nS(providers=[('{TRT}', o)])", {"trt_engine_cache_enable": "True"}, True),
        (f"o: dict = {{{CACHE}}}\nS(providers=[('{TRT}', o)])", {"trt_engine_cache_enable": "True"}, True),
        (
            f"o = {{}}\no['trt_engine_cache_enable'] = True\nS(providers=[('{TRT}', o)])",
            {"trt_engine_cache_enable": "True"},
            True,
        ),
        (
            f"o = {{}}\nif new:\n  o['trt_engine_cache_enable'] = True\nS(providers=[('{TRT}', o)])",
            {"trt_engine_cache_enable": None},
            True,
        ),
        (
            f"def f():\n  o = {{{CACHE}}}\n  o['device_id'] = gpu\n  return ('{TRT}', o)",
            {"trt_engine_cache_enable": "True", "device_id": None},
            True,
        ),
        (
            f"o = {{}}\nif new:\n  o['trt_engine_cache_enable']: bool = True\nS(providers=[('{TRT}', o)])",
            {"trt_engine_cache_enable": None},
            True,
        ),
        (
            f"o = {{}}\no.update({{{CACHE}}})\nS(providers=[('{TRT}', o)])",
            {"trt_engine_cache_enable": "True"},
            True,
        ),
        (f"o = {{}}\no.update(device_id=1)\nS(providers=[('{TRT}', o)])", {"device_id": "1"}, True),
        (f"o = {{}}\no.setdefault('device_id', 1)\nS(providers=[('{TRT}', o)])", {"device_id": None}, True),
        *[
            (
                f"o = {{{CACHE}}}\n{change}\nS(providers=[('{TRT}', o)])",
                {"trt_engine_cache_enable": None},
                True,
            )
            for change in ("o.pop('trt_engine_cache_enable')", "del o['trt_engine_cache_enable']")
        ],
        *[
            (
                f"o = {{{CACHE}}}\n{change}\nS(providers=[('{TRT}', o)])",
                {"trt_engine_cache_enable": "True"},
                False,
            )
            for change in (
                "o.update(others)",
                "o.update(**others)",
                "o |= others",
                "o[key] = 1",
                "for key in others:\n  o[key] = 1",
                "if small:\n  o = {}",
            )
        ],
        (
            f"cached = True\nif small:\n  cached = False\n"
            f"S(providers=[('{TRT}', {{'trt_engine_cache_enable': cached}})])",
            {"trt_engine_cache_enable": None},
            True,
        ),
        (f"S(providers=[('{TRT}', options())])", {}, False),
        (f"S(providers=[('{TRT}', {{{CACHE}}} if cached else {{}})])",
         {"trt_engine_cache_enable": "True"}, False),
        (f"S(providers=[('{TRT}', {{**base, {CACHE}}})])", {"trt_engine_cache_enable": "True"}, False),
        (f"S(providers=['{TRT}'], provider_options=options)", {}, False),
        (f"providers = ['{TRT}', 'CUDA']\nprovider_options = [{{{CACHE}}}, {{}}]\n",
         {"trt_engine_cache_enable": "True"}, False),
        (f"if provider == '{TRT}':\n  o = {{{CACHE}}}\n  all_.append(o)",
         {"trt_engine_cache_enable": "True"}, False),
        (f"S(providers=['{TRT}', 'CPUExecutionProvider'])", {}, True),
        (f"S(providers=['{TRT}', '{TRT}'])", {}, True),
    ],
)  # fmt: skip
def test_options_that_a_script_sets_in_other_places(
    text: str, options: dict[str, str | None], complete: bool
) -> None:
    """The texts are short forms of public scripts, such as src/scene_detect.py of VSGAN-tensorrt-docker."""
    assert options_of(text) == (options, complete)
