"""Tests of the search for build commands in Python scripts.

The scripts are short forms of public scripts, such as
https://github.com/nvidia-holoscan/holohub/blob/main/utilities/generate_trt_engine.py and
https://github.com/NVIDIA/Model-Optimizer/blob/main/examples/torch_onnx/torch_quant_to_onnx.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.buildcommand import BuildCommand, CommandError, find_commands, read_commands
from trtlint.buildcommand.python import commands_in_python


def found_in(text: str) -> tuple[BuildCommand, ...]:
    found = commands_in_python(text, "build.py", find_commands)
    assert found is not None
    return found


def only(text: str) -> BuildCommand:
    (found,) = found_in(text)
    return found


class TestLists:
    def test_a_list_of_words(self) -> None:
        found = only(
            "import subprocess\n"
            'subprocess.run(["trtexec", f"--onnx={path}", "--shapes=x:1x3", "--fp16"], check=True)\n'
        )
        assert found.text == "trtexec --onnx=... --shapes=x:1x3 --fp16"
        assert (found.place, found.complete) == ("build.py:2", True)

    @pytest.mark.parametrize(
        "program",
        [
            "trtexec",
            "str(trtexec)",
            "self.trtexec",
            "trtexec_path",
            "args.trtexec",
            'shutil.which("trtexec")',
            'ROOT / "bin" / "trtexec.exe"',
            'str(ROOT / "trtexec")',
            'os.fspath(Path("/opt/bin/trtexec"))',
            'f"{root}/bin/trtexec"',
            r'r"C:\TensorRT\bin\trtexec.exe"',
        ],
    )
    def test_ways_to_name_the_program(self, program: str) -> None:
        assert only(f'cmd = [{program}, "--onnx=a.onnx"]').text == "trtexec --onnx=a.onnx"

    def test_the_value_of_a_name(self) -> None:
        found = only(
            'TRT = "/opt/trtexec"\nMODEL = "a.onnx"\ncmd = [TRT, "--onnx=" + MODEL, f"--workspace={size}"]'
        )
        assert found.text == "trtexec --onnx=a.onnx --workspace=..."

    @pytest.mark.parametrize(
        "element", ["*extra", "fp16_flag", "arguments[0]", 'f"--{name}"', '"--fp16" if half else "--int8"']
    )
    def test_a_computed_word_may_be_any_option(self, element: str) -> None:
        assert not only(f'cmd = ["trtexec", "--onnx=a.onnx", {element}]').complete

    def test_words_that_always_follow_are_added(self) -> None:
        found = only(
            "def build(path):\n"
            '    cmd: list[str] = ["trtexec", "--onnx=a.onnx"]\n'
            '    cmd.append("--fp16")\n'
            '    cmd += ["--workspace=4096"]\n'
            '    cmd.extend(("--verbose",))\n'
            "    run(cmd)\n"
        )
        assert found.text == "trtexec --onnx=a.onnx --fp16 --workspace=4096 --verbose"
        assert found.complete

    def test_words_of_a_condition_are_unknown(self) -> None:
        found = only('cmd = ["trtexec", "--onnx=a.onnx"]\nif half:\n    cmd.append("--fp16")\n')
        assert (found.text, found.complete) == ("trtexec --onnx=a.onnx", False)

    @pytest.mark.parametrize(
        ("change", "text", "complete"),
        [
            ('cmd.remove("--fp16")', "trtexec --onnx=a.onnx", True),
            ('if not half:\n    cmd.remove("--fp16")', "trtexec --onnx=a.onnx", False),
            ("cmd.remove(flag)", "trtexec --onnx=a.onnx --fp16", False),
            ('half and cmd.append("--int8")', "trtexec --onnx=a.onnx --fp16", False),
            ('cmd += ["--int8"] + extra', "trtexec --onnx=a.onnx --fp16 --int8", False),
            ('cmd = cmd + ["--int8"]', "trtexec --onnx=a.onnx --fp16 --int8", True),
            ('cmd = cmd + ["--int8"] + ["--best"]', "trtexec --onnx=a.onnx --fp16 --int8 --best", True),
            ('cmd = ["nice", *cmd, "--int8"]', "trtexec --onnx=a.onnx --fp16", False),
        ],
    )
    def test_changes_of_a_list(self, change: str, text: str, complete: bool) -> None:
        found = only(f'cmd = ["trtexec", "--onnx=a.onnx", "--fp16"]\n{change}\n')
        assert (found.text, found.complete) == (text, complete)

    def test_a_list_that_begins_with_the_program(self) -> None:
        found = only('cmd = ["trtexec"]\ncmd.append("--onnx=a.onnx")\ncmd.append("--fp16")\n')
        assert (found.text, found.complete) == ("trtexec --onnx=a.onnx --fp16", True)

    @pytest.mark.parametrize(
        ("words", "complete"),
        [
            ('["trtexec", "--onnx=a.onnx"] + ["--fp16"]', True),
            ('["trtexec"] + ["--onnx=a.onnx", "--fp16"]', True),
            ('["sudo"] + ["trtexec", "--onnx=a.onnx", "--fp16"] + extra', False),
            ('prefix + ["trtexec", "--onnx=a.onnx", "--fp16"]', True),
        ],
    )
    def test_a_sum_of_lists(self, words: str, complete: bool) -> None:
        found = only(f"subprocess.run({words})")
        assert (found.text, found.complete) == ("trtexec --onnx=a.onnx --fp16", complete)

    def test_a_list_of_another_name_does_not_grow(self) -> None:
        found = found_in(
            'cmd = ["trtexec", "--onnx=a.onnx"]\nrun(cmd)\n'
            'cmd = ["trtexec", "--onnx=b.onnx"]\ncmd.append("--fp16")\nlog.append("--int8")\n'
        )
        assert [each.text for each in found] == ["trtexec --onnx=a.onnx", "trtexec --onnx=b.onnx --fp16"]


class TestTexts:
    @pytest.mark.parametrize(
        "text",
        [
            'os.system(f"trtexec --onnx={path} --fp16")',
            'os.system("trtexec --onnx=" + path + " --fp16")',
            'os.system("trtexec --onnx=%s --fp16" % path)',
            'os.system("trtexec --onnx={} --fp16".format(path))',
            'os.system(f"{trtexec} --onnx={path} --fp16")',
            'os.system(f"""trtexec \\\\\n  --onnx=\'{path}\' \\\\\n  --fp16""")',
            'run(["bash", "-c", f"/opt/bin/trtexec --onnx={path} --fp16"])',
            'steps = [{"command": f"trtexec --onnx={path} --fp16"}]',
        ],
    )
    def test_ways_to_write_a_command_line(self, text: str) -> None:
        assert only(text).text == "trtexec --onnx=... --fp16"

    @pytest.mark.parametrize(
        ("change", "complete"),
        [
            ('cmd += " --onnx=a.onnx"\ncmd += " --fp16"', True),
            ('cmd = cmd + " --onnx=a.onnx" + " --fp16"', True),
            ('cmd += " --onnx=a.onnx --fp16"\ncmd = f"{cmd} {more}"', False),
        ],
    )
    def test_a_text_that_begins_with_the_program(self, change: str, complete: bool) -> None:
        found = only(f'cmd = "/opt/bin/trtexec"\n{change}\nos.system(cmd)')
        assert (found.text, found.complete) == ("trtexec --onnx=a.onnx --fp16", complete)

    def test_a_text_that_grows(self) -> None:
        found = only(
            'cmd = "trtexec --onnx=a.onnx"\ncmd += " --verbose"\nif half:\n    cmd = cmd + " --fp16"\n'
        )
        assert (found.text, found.complete) == ("trtexec --onnx=a.onnx --verbose", False)

    @pytest.mark.parametrize(
        "script",
        [
            'flags = "--fp16"\nif small:\n    flags += " --int8"\n{}',
            'flags = "--fp16"\nfor flags in all_flags:\n    {}',
            'def build(flags="--int8"):\n    {}\nflags = "--fp16"',
            'if small:\n    flags = "--int8"\nelse:\n    flags = "--fp16"\n{}',
        ],
    )
    def test_a_name_with_several_values_is_unknown(self, script: str) -> None:
        found = only(script.format('os.system("trtexec --onnx=a.onnx " + flags)'))
        assert (found.text, found.complete) == ("trtexec --onnx=a.onnx", False)

    def test_a_long_sum(self) -> None:
        options = [f"--opt{number}=" for number in range(20)]
        found = only('os.system("trtexec" ' + "".join(f'+ " {each}" + value ' for each in options) + ")")
        assert [option.name for option in found.options] == [each[:-1] for each in options]

    @pytest.mark.parametrize("value", ["{0} + {0}", "f'{{{0}}}{{{0}}}'"])
    def test_a_text_that_doubles_is_computed(self, value: str) -> None:
        doubled = "".join(f"a{level} = {value.format(f'a{level - 1}')}\n" for level in range(1, 60))
        found = only(f"a0 = 'x'\n{doubled}os.system('trtexec --onnx=' + a59 + ' --fp16')")
        assert found.text == "trtexec --onnx=... --fp16"

    def test_a_long_chain_of_conditions(self) -> None:
        chain = "".join("elif other:\n    pass\n" for _ in range(1500))
        assert only(f'if first:\n    pass\n{chain}\nrun(["trtexec", "--fp16"])').line == 3004

    @pytest.mark.parametrize(
        "text",
        [
            '"""Usage: trtexec --onnx=a.onnx --fp16"""',
            "# trtexec --onnx=a.onnx --fp16",
            'parser.add_argument("--trt", help="use trtexec --fp16 for the build")',
            'print("Run: trtexec --onnx=a.onnx --fp16")',
            'logger.info(f"trtexec --onnx={path}")',
            'raise RuntimeError("trtexec --onnx=a.onnx failed")',
            'parser.add_argument("--args", help="Use trtexec for benchmarking.\\n'
            '--args \\"--fp16 --workspace=4096\\"")',
            'NAMES = ("model.onnx", "trtexec", "result.json")',
            'run(["cp", "--force", "/usr/src/tensorrt/bin/trtexec"])',
        ],
    )
    def test_texts_that_run_nothing(self, text: str) -> None:
        assert found_in(text) == ()

    @given(st.text(max_size=200))
    def test_no_text_is_too_strange(self, text: str) -> None:
        commands_in_python(text, "", find_commands)


def test_a_python_file_as_a_build(tmp_path: Path) -> None:
    script = tmp_path / "build.py"
    script.write_text('# builds the engine\nrun(["trtexec", "--onnx=a.onnx", "--workspace=4096"])\n')
    (found,) = read_commands(str(script))
    assert (found.line, found.text) == (2, "trtexec --onnx=a.onnx --workspace=4096")


def test_a_script_that_is_not_python_is_read_as_text(tmp_path: Path) -> None:
    script = tmp_path / "build.py"
    script.write_text("trtexec --onnx=a.onnx \\\n  --fp16\n")
    (found,) = read_commands(str(script))
    assert found.text == "trtexec --onnx=a.onnx --fp16"


def test_a_script_that_only_describes_a_command(tmp_path: Path) -> None:
    script = tmp_path / "build.py"
    script.write_text('print("trtexec for benchmarking, with --fp16")\n')
    with pytest.raises(CommandError, match="contains no trtexec"):
        read_commands(str(script))
