"""Tests of provider options and commands in source code of C++ and C#."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.buildcommand import BuildCommand, CommandError, find_commands, read_commands
from trtlint.buildcommand.csource import commands_in_source
from trtlint.files.limits import limit_work

KEYS = 'std::vector<const char*> keys{"trt_fp16_enable", "trt_dla_core", "trt_engine_cache_path"};\n'


def read(text: str) -> tuple[BuildCommand, ...]:
    return commands_in_source(text, "a.cpp", find_commands)


def options(text: str) -> dict[str, str | None]:
    """Return the options of the only provider in a program."""
    (found,) = read(text)
    assert found.provider is not None
    assert not found.complete
    return {each.name: each.value for each in found.options if each.name != "provider"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a list of pairs
        ('Map o = {{"trt_fp16_enable", "1"}, {"device_id", "0"}};',
         {"trt_fp16_enable": "1", "device_id": "0"}),
        ('Map o{{"trt_fp16_enable", half ? "1" : "0"},};', {"trt_fp16_enable": None}),
        ('new Dictionary<string, string>() { { "trt_dla_core", "1" } }', {"trt_dla_core": "1"}),
        # two lists
        (KEYS + 'std::vector<const char*> values{"1", "0", path.c_str()};',
         {"trt_fp16_enable": "1", "trt_dla_core": "0", "trt_engine_cache_path": None}),
        (KEYS + 'const char* v[] = {"1"};',
         {"trt_fp16_enable": None, "trt_dla_core": None, "trt_engine_cache_path": None}),
        (KEYS, {"trt_fp16_enable": None, "trt_dla_core": None, "trt_engine_cache_path": None}),
        # items
        ('Map o; o["trt_fp16_enable"] = "1";', {"trt_fp16_enable": "1"}),
        ('Map o; if (x) o["trt_fp16_enable"] = "1";', {"trt_fp16_enable": None}),
        ('Map o; if (x) { o["trt_fp16_enable"] = "1"; }', {"trt_fp16_enable": None}),
        ('void f(Map& o) { o.emplace("trt_fp16_enable", "1"); }', {"trt_fp16_enable": "1"}),
        ('Map o; o["trt_dla_core"] = "0"; o["trt_dla_core"] = "1";', {"trt_dla_core": None}),
        ('Map o; o["trt_dla_core"] = "1"; assert(o["trt_dla_core"] == "1");', {"trt_dla_core": "1"}),
        ('f(new Dictionary<string, string> { ["device_id"] = "0", ["trt_dla_core"] = "1" });',
         {"device_id": "0", "trt_dla_core": "1"}),
        # pairs in the argument of a function
        ('Map o; o.insert({"trt_dla_core", "1"});', {"trt_dla_core": "1"}),
        ('Map o; if (x) { o.insert({"trt_dla_core", "1"}); }', {"trt_dla_core": None}),
        ('Options o; if (x) { o.Update({{"trt_dla_core", "1"}, {"device_id", "0"}}); }',
         {"trt_dla_core": None, "device_id": None}),
        # defaults and descriptions
        ('o.add_options()("trt_dla_core", "number of the core");', {"trt_dla_core": None}),
        ('auto half = o.get("trt_fp16_enable", false);', {"trt_fp16_enable": None}),
        # the fields of a structure
        ("OrtTensorRTProviderOptions o{}; o.trt_fp16_enable = true; // o.trt_dla_core = 1;",
         {"trt_fp16_enable": "1"}),
        ("OrtTensorRTProviderOptions o{}; o.trt_max_workspace_size = (size_t)2 * 1024 * 1024 * 1'024;",
         {"trt_max_workspace_size": str(2 << 30)}),
        ("OrtTensorRTProviderOptions o{}; o.trt_max_workspace_size = 1ULL << 30;",
         {"trt_max_workspace_size": str(1 << 30)}),
        ("OrtTensorRTProviderOptions o{}; o.trt_dla_core = 1; if (o.trt_dla_core == 2) g();",
         {"trt_dla_core": "1"}),
        pytest.param("OrtTensorRTProviderOptions o{}; o.trt_dla_core = " + "1" * 5000,
                     {"trt_dla_core": None}, id="a long number"),
        ("OrtTensorRTProviderOptions* o; o->trt_max_workspace_size = n + 1;",
         {"trt_max_workspace_size": None}),
        ("OrtTensorRTProviderOptions o{}; if (x) { o.trt_dla_enable = 1; }", {"trt_dla_enable": None}),
        # a provider without options
        ("options.AppendExecutionProvider_TensorRT(o);", {}),
        ("api.SessionOptionsAppendExecutionProvider_TensorRT_V2(options, o);", {}),
        ("OrtSessionOptionsAppendExecutionProvider_Tensorrt(options, 0);", {}),
        ("options = SessionOptions.MakeSessionOptionWithTensorrtProvider(0);", {}),
        ("options.addTensorrt(0);", {}),
    ],
)  # fmt: skip
def test_options_in_a_program(text: str, expected: dict[str, str | None]) -> None:
    assert options(text) == expected


def test_options_of_tensorrt_rtx() -> None:
    (found,) = read('/* a\n */\noptions["nv_dump_subgraphs"] = "1";')
    assert (found.provider, found.line, found.source) == ("nv-tensorrt-rtx", 3, "a.cpp")


@pytest.mark.parametrize(
    "text",
    [
        "config.trt_fp16_enable = 1;",
        'Map o = {{"device_id", "0"}};',
        '// {"trt_fp16_enable", "1"}',
        'std::cout << "usage: trtexec";',
        "",
    ],
)
def test_programs_without_options(text: str) -> None:
    assert read(text) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('system("trtexec --onnx=a.onnx --fp16");', "trtexec --onnx=a.onnx --fp16"),
        ('auto c = "trtexec --onnx=" + path + " --fp16";', "trtexec --onnx=... --fp16"),
        ('c << "trtexec --onnx=" << path << " --fp16";', "trtexec --onnx=... --fp16"),
        ('snprintf(b, n, "trtexec --onnx=%s --fp16", p);', "trtexec --onnx=... --fp16"),
        ('Run($"trtexec --onnx={model.Path} --fp16");', "trtexec --onnx=... --fp16"),
        ('x = "trtexec "\n    "--onnx=a.onnx";', "trtexec --onnx=a.onnx"),
    ],
)
def test_commands_in_a_program(text: str, expected: str) -> None:
    (found,) = read(f"int x;\n{text}\n")
    assert (found.text, found.line) == (expected, 2)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ('system("trtexec --onnx=a.onnx");', True),
        ('popen(("trtexec --onnx=" + path).c_str(), "r");', True),
        ('std::string c = "trtexec --onnx=a.onnx"; if (half) c += " --fp16";', False),
        ('builder.append("trtexec --onnx=").append(path);', False),
        ("s << '\"' << \"trtexec --onnx=a.onnx\" << '\"';", False),
    ],
)
def test_a_program_can_add_options_to_a_text(text: str, complete: bool) -> None:
    (found,) = read(text)
    assert found.complete == complete


def test_a_command_in_joined_texts_is_found_once() -> None:
    found = read('system("cd a && " "trtexec --onnx=a.onnx && " "trtexec --onnx=b.onnx");')
    assert [each.text for each in found] == ["trtexec --onnx=a.onnx", "trtexec --onnx=b.onnx"]


@pytest.mark.parametrize(
    "text", ["/*" * 100_000, '"' + '\\"' * 100_000, f'f("trtexec -{"%" + "0" * 100_000}")']
)
def test_open_comments_and_texts_take_linear_time(text: str) -> None:
    with limit_work(Path("a.cpp")):
        read(text)


def test_a_program_with_too_many_tokens() -> None:
    with pytest.raises(CommandError, match=r"^a\.cpp: more than 400,000 tokens"):
        read("x;" * 200_001)


def test_a_source_file(tmp_path: Path) -> None:
    path = tmp_path / "Session.CPP"
    path.write_text("options.AppendExecutionProvider_TensorRT(o);")
    (found,) = read_commands(str(path))
    assert found.provider == "tensorrt"
    path.write_text("int main() { return 'x'; }")
    with pytest.raises(CommandError, match="contains no trtexec"):
        read_commands(str(path))


@given(text=st.text('"{}()[]=;,*<trtexec_fp16enable-1.', max_size=200))
def test_no_program_is_too_strange(text: str) -> None:
    found = read(text + '{"trt_fp16_enable", "trt_dla_core"')
    assert all(each.line == 1 for each in found)
