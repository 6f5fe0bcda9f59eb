"""Tests of Torch-TensorRT calls in scripts, which trtlint never runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trtlint.buildcommand.pasted import is_call
from trtlint.engine.evidence.torch import text_evidence
from trtlint.facts.facts import Facts
from trtlint.facts.of_torch.torch_call import _bare_precision, _truncated_twice, _twice
from trtlint.facts.of_torch.torch_use import TorchUseFact
from trtlint.torch_tensorrt.calls import TorchCall, read_script, script_in
from trtlint.torch_tensorrt.syntax import PythonScriptError, too_deep
from trtlint.torch_tensorrt.values import UNKNOWN, QualifiedName

HALF = (QualifiedName("torch.half"),)


def only(text: str, source: str = "script.py") -> TorchCall:
    """Return the only call in a text."""
    (call,) = script_in(text, source)[0]
    return call


def values(call: TorchCall) -> dict[str, object]:
    """Return the values of the arguments."""
    return {each.name: each.value for each in call.arguments}


@pytest.mark.parametrize(
    "head",
    [
        "import torch, torch_tensorrt\nf = 1\nm = torch_tensorrt.compile",
        "import torch\nimport torch_tensorrt as trt\nm = trt.compile",
        "import torch\nfrom torch_tensorrt import compile as build\nm = build",
        "import torch, torch_tensorrt\nm = torch_tensorrt.dynamo.compile",
        "import torch\nfrom torch_tensorrt.dynamo import compile\nm = compile",
        "import torch\ndef main(net):\n  import torch_tensorrt\n  return torch_tensorrt.compile",
    ],
)
def test_a_call_is_found_whatever_its_name(head: str) -> None:
    call = only(f"{head}(net, inputs=[x], enabled_precisions={{torch.half}})")
    assert values(call)["enabled_precisions"] == HALF
    assert call.complete
    assert call.route == "compile"


@pytest.mark.parametrize(
    ("before", "argument"),
    [
        ("P = {torch.half}", "P"),
        ("P = set([torch.half])", "P"),
        ("A = torch.half\nP = [A]", "P"),
        ("if fast:\n  P = {torch.float}\nP = {torch.half}", "P"),
        ("if __name__ == '__main__':\n  P = {torch.half}", "P"),
    ],
)
def test_constants_are_followed(before: str, argument: str) -> None:
    call = only(f"import torch, torch_tensorrt as t\n{before}\nt.compile(n, enabled_precisions={argument})")
    assert values(call)["enabled_precisions"] == HALF


@pytest.mark.parametrize(
    "before",
    [
        "P = {torch.half}\nif fast:\n  P = {torch.float}",
        "for P in sets: pass",
        "from settings import P",
        "P = {torch.half}\nP.add(torch.int8)",
        "P = {torch.half}\nfill(P)",
        "P = parse()",
        "with f() as P: pass",
    ],
)
def test_what_the_file_does_not_settle_is_unknown(before: str) -> None:
    call = only(f"import torch, torch_tensorrt as t\n{before}\nt.compile(n, enabled_precisions=P)")
    value = values(call)["enabled_precisions"]
    assert value is UNKNOWN or value == QualifiedName("settings.P")


@pytest.mark.parametrize(
    "spec",
    [
        "s = {'ir': 'dynamo', 'min_block_size': 1}",
        "s = dict(ir='dynamo', min_block_size=1)",
        "s = {'ir': 'dynamo'}\ns['min_block_size'] = 1",
        "s = {}\ns.update(ir='dynamo')\ns.update({'min_block_size': 1})",
        "b = {'ir': 'dynamo', 'min_block_size': 7}\ns = {**b, 'min_block_size': 1}",
        "b = {'ir': 'dynamo'}\ns = b | {'min_block_size': 1}",
    ],
)
def test_dictionaries_are_followed(spec: str) -> None:
    call = only(f"import torch_tensorrt as t\n{spec}\nt.compile(n, **s)")
    assert call.complete
    assert call.ir == "dynamo"
    assert values(call)["min_block_size"] == 1


@pytest.mark.parametrize("spec", ["", "s = load()", "s = {'ir': 'dynamo'}\ns = {**s, **more}"])
def test_an_unknown_dictionary_leaves_the_call_open(spec: str) -> None:
    call = only(f"import torch_tensorrt as t\ndef f(s):\n  pass\n{spec}\nt.compile(n, **s)")
    assert not call.complete


def test_numbers_are_computed_within_bounds() -> None:
    text = (
        "import torch_tensorrt as t\nG = 1 << 30\nt.compile(n, workspace_size=20 * G, a=1 << (1 << 40), b=-1)"
    )
    found = values(only(text))
    assert found["workspace_size"] == 20 << 30
    assert found["a"] is UNKNOWN
    assert found["b"] == -1


def test_options_of_torch_compile() -> None:
    text = (
        "import torch\no = {'truncate_double': True}\ntorch.compile(m, backend='torch_tensorrt', options=o)"
    )
    call = only(text)
    assert (call.function, call.route, call.ir) == ("torch.compile", "options", "torch_compile")
    assert values(call) == {"truncate_double": True}
    assert script_in("import torch\ntorch.compile(m)", "s.py")[0] == ()
    assert script_in("import torch\ntorch.compile(m, backend='inductor')", "s.py")[0] == ()


def test_ir_decides_the_route() -> None:
    text = "import torch_tensorrt as t\nt.compile(m, {ir})"
    assert only(text.format(ir="ir='torch_compile'")).route == "options"
    assert only(text.format(ir="'dynamo'")).ir == "dynamo"
    assert only(text.format(ir="ir=choose()")).ir is None
    assert only(text.format(ir="inputs=[]")).ir == "default"


def test_a_scripted_module_is_seen() -> None:
    text = "import torch, torch_tensorrt as t\nm = torch.jit.trace(n, x).cuda()\nt.compile(m, inputs=[x])"
    assert only(text).scripted


def test_a_module_that_may_be_scripted() -> None:
    text = "import torch, torch_tensorrt as t\ndef f(m):\n  return t.compile(m, inputs=[x])\n"
    assert not only(text).scripted
    assert only(f"{text}f(torch.jit.script(net))").scripted
    own = text.replace("return ", "m = net()\n  return ")
    assert not only(f"{own}torch.jit.trace(f(net), x)").scripted


def test_the_front_end_for_windows() -> None:
    call = only("import torch_tensorrt as t\nt.cross_compile_for_windows(m, 'a.ep', inputs=[x])")
    assert (call.route, [each.name for each in call.arguments]) == (
        "windows",
        ["module", "file_path", "inputs"],
    )


def test_other_compilers_are_no_calls() -> None:
    assert script_in("import re\nre.compile('x')\ncompile('1', '', 'eval')", "s.py")[0] == ()
    assert script_in("import tensorrt as trt\ntrt.compile()", "s.py")[0] == ()


def test_a_pasted_call_needs_no_imports() -> None:
    assert is_call("torch_tensorrt.compile(m, ir='dynamo')")
    assert is_call("m = torch.compile(net, backend='torch_tensorrt')")
    assert not is_call("trtexec --onnx=compile.onnx")
    call = only("torchtrt.compile(m, ir='dynamo', enabled_precisions={torch.half})", "")
    assert values(call)["enabled_precisions"] == HALF


def test_the_lines_of_a_call(tmp_path: Path) -> None:
    file = tmp_path / "build.py"
    file.write_text("import torch_tensorrt\n\n\nx = torch_tensorrt.compile(\n    m,\n    debug=True,\n)\n")
    ((call,), *_) = read_script(file)
    assert call.line == 4
    debug = call.argument("debug")
    assert debug is not None
    assert debug.line == 6


def test_nothing_of_a_script_runs(tmp_path: Path) -> None:
    file, mark = tmp_path / "evil.py", tmp_path / "mark"
    file.write_text(f"open({str(mark)!r}, 'w')\nimport torch_tensorrt\ntorch_tensorrt.compile(m)\n")
    assert len(read_script(file)[0]) == 1
    assert not mark.exists()


@pytest.mark.parametrize(
    "text",
    [
        "def f(:",
        "x = '\0'",
        "(" * 300 + ")" * 300,
        "print 1",
    ],
)
def test_what_is_not_python_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(PythonScriptError, match=r"script\.py"):
        script_in(text, "script.py")[0]


@pytest.mark.parametrize(
    "text",
    [
        "import torch_tensorrt as t\n"
        + "\n".join(f"a{i + 1} = a{i}" for i in range(5000))
        + "\nt.compile(a5000)",
        "import torch_tensorrt as t\na = {**a}\nb = {**a, **b}\nt.compile(m, **b)",
        "import torch_tensorrt as t\nd = {'a': 1}\n" + "d = d | d\n" * 3000 + "t.compile(m, **d)",
        "import torch_tensorrt as t\n" + "t.compile(m)\n" * 2000,
        "import torch_tensorrt as t\nx = " + "-" * 3000 + "1\nt.compile(m, a=x)",
        "import torch_tensorrt as t\nt.compile(m, a=" + "-" * 500 + "1)",
        "import torch_tensorrt as t\nt.compile(m, a=b" + ".c" * 900 + ")",
        "import torch_tensorrt as t\nx = a" + ".b" * 3000 + "\nt.compile(m, a=x)",
    ],
)
def test_hostile_scripts_end(text: str) -> None:
    try:
        assert len(script_in(text, "script.py")[0]) <= 500
    except PythonScriptError as error:
        assert "script.py" in str(error)


MODULES = """\
import torch, torch_tensorrt
from torch import nn
import torchvision.models as models
class Net(nn.Module):
    pass
class Own(Net):
    pass
class Other:
    pass
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("m = nn.Linear(8, 8)\nm.eval()", True),
        ("m = models.resnet18(pretrained=True).eval().to('cuda')", True),
        ("m = Own()\nm = m.half()", True),
        ("m = Other()", False),
        ("m = nn.Parameter(x)", False),
        ("m = nn.functional.relu(x)", False),
        ("m = models.get_weight('a')", False),
        ("m = torch.export.export(Net(), (x,))", False),
        ("m = Net().export()", False),
        ("m = nn.Linear(8, 8)\nm = exported(m)", False),
        ("m = nn.Linear(8, 8)\nif x:\n    m = exported(m)", False),
        ("m, n = load()", False),
        ("m = m", False),
    ],
)
def test_a_module_that_was_not_exported(text: str, expected: bool) -> None:
    text = f"{MODULES}{text}\n"
    (call,) = script_in(f"{text}torch_tensorrt.dynamo.compile(m, [x])\n", "build.py")[0]
    assert call.unexported is expected
    (call,) = script_in(f"{text}torch_tensorrt.compile(m, inputs=[x])\n", "build.py")[0]
    assert not call.unexported


def problems(text: str, release: str) -> list[str]:
    """Return the problems of calls around the compiler."""
    evidence = text_evidence(f"import torch, torch_tensorrt\n{text}", "script.py", release)
    facts = Facts(None, evidence=(evidence,))
    return [fact.problem for fact in facts.of("torch_use") if isinstance(fact, TorchUseFact)]


SPECS = "s = [torch_tensorrt.Input(min_shape=[1], opt_shape=[2], max_shape=[3])]\n"
GRAPH = "m = torch_tensorrt.compile(net, ir='dynamo', inputs=[x])\n"
SCRIPTED = "m = torch_tensorrt.compile(net, ir='ts', inputs=[x])\n"


@pytest.mark.parametrize(
    ("text", "release", "problem"),
    [
        (f"{SCRIPTED}torch_tensorrt.save(m, 'f', output_format='torchscript')", "2.8", "torchscript"),
        (f"{SCRIPTED}torch_tensorrt.save(m, 'f', output_format='torchscript')", "2.14", ""),
        (f"{SCRIPTED}torch_tensorrt.save(m, 'f')", "2.7", "torchscript"),
        ("m = torch.jit.load('m.ts')\ntorch_tensorrt.save(m, 'f')", "2.9", "torchscript"),
        (f"{GRAPH}torch_tensorrt.save(m, 'f')", "2.9", ""),
        (f"{GRAPH}torch_tensorrt.save(m, 'f')", "2.10", "no inputs"),
        (f"{GRAPH}torch_tensorrt.save(m, 'f', retrace=True)", "2.9", "no inputs"),
        (f"{GRAPH}torch_tensorrt.save(m, 'f', retrace=flag)", "2.10", ""),
        (f"{GRAPH}torch_tensorrt.save(m, 'f', **more)", "2.10", ""),
        (f"{GRAPH}torch_tensorrt.save(m, 'f', kwarg_inputs=k)", "2.10", ""),
        (f"{GRAPH}torch_tensorrt.save(m, 'f', inputs=[y])", "2.10", ""),
        (f"{GRAPH}y = torch.randn(2, 3).cuda()\ntorch_tensorrt.save(m, 'f', inputs=y)", "2.10", "tensor"),
        (f"{GRAPH}{SPECS}torch_tensorrt.save(m, 'f', inputs=s)", "2.9", ""),
        (f"{GRAPH}{SPECS}torch_tensorrt.save(m, 'f', arg_inputs=s)", "2.9", "specs"),
        (f"{GRAPH}{SPECS}torch_tensorrt.save(m, 'f', inputs=s)", "2.10", "specs"),
        (f"{GRAPH}{SPECS}torch_tensorrt.save(m, 'f', inputs=s)", "2.11", ""),
        (f"{GRAPH}torch_tensorrt.save(m, 'f', inputs=[x], arg_inputs=[x])", "2.13", "twice"),
        (f"{GRAPH}torch_tensorrt.save(m, 'f', inputs=[x], output_format='aot_inductor')", "2.7", "format"),
        (f"{GRAPH}torch_tensorrt.save(m, 'f', inputs=[x], output_format='aot_inductor')", "2.8", ""),
        ("m = torch.compile(net, backend='tensorrt')\ntorch_tensorrt.save(m, 'f')", "2.9", "module"),
        ("m = torch.nn.Linear(2, 2)\ntorch_tensorrt.save(m, 'f')", "2.9", "module"),
        ("m = load()\ntorch_tensorrt.save(m, 'f')", "2.13", ""),
        (f"{GRAPH}torch.jit.save(m, 'f')", "2.7", "graph"),
        (f"{SCRIPTED}torch.jit.save(m, 'f')", "2.7", ""),
        (f"{GRAPH}torch.jit.save(torch.jit.trace(m, x), 'f')", "2.7", ""),
        ("torch.jit.save(m, 'f')", "2.7", ""),
        ("p = torch.export.export(net, [x])", "2.13", "arguments"),
        ("y = torch.ones(3)\np = torch.export.export(net, y)", "2.13", "arguments"),
        ("y = [x]\np = torch.export.export(net, tuple(y))", "2.13", ""),
        ("p = torch.export.export(net, (x,))", "2.13", ""),
        ("p = torch.export.export(net, inputs)", "2.13", ""),
    ],
)
def test_calls_around_the_compiler(text: str, release: str, problem: str) -> None:
    assert problems(text, release) == [problem]


@pytest.mark.parametrize(
    "text",
    [
        "k = dict(**k)\nk.update(k)\nm = m.cuda()\ntorch_tensorrt.save(m, 'f', **k)",
        "a0 = x\n" + "".join(f"a{i + 1} = a{i}\n" for i in range(300)) + "torch.export.export(net, a300)",
        "m = torch.nn.Linear(1, 1)" + ".cuda()" * 100 + "\ntorch_tensorrt.save(m, 'f')",
        "i = i\ntorch_tensorrt.save(i, 'f', inputs=i, arg_inputs=i)",
        "torch_tensorrt.save(*m, **k)",
        "torch_tensorrt.save()",
    ],
)
def test_hostile_calls_around_the_compiler(text: str) -> None:
    assert problems(text, "2.10") == [""]


def test_exports_of_quantized_modules() -> None:
    head = "import torch\nfrom modelopt.torch.quantization.utils import export_torch_mode\n"
    for call, strict, sure in (
        ("torch.export.export(m, (x,))", None, True),
        ("torch.export.export(m, (x,), strict=False)", False, True),
        ("torch.export.export(m, (x,), strict=flag)", None, False),
    ):
        (use,) = script_in(f"{head}program = {call}\n", "a.py")[1]
        assert (use.quantized, use.private, use.strict, use.sure) == (True, False, strict, sure)
    (use,) = script_in(f"{head}from torch.export._trace import _export\np = _export(m, (x,))\n", "a.py")[1]
    assert (use.quantized, use.private) == (True, True)
    (use,) = script_in("import torch\np = torch.export.export(m, (x,))\n", "a.py")[1]
    assert not use.quantized


@pytest.mark.parametrize(
    "block", ["with pytest.raises(ValueError):", "with self.assertRaises(ValueError), torch.no_grad():"]
)
def test_calls_that_are_expected_to_fail_are_not_read(block: str) -> None:
    text = f"import pytest, torch, torch_tensorrt\n{block}\n  torch_tensorrt.compile(a)\n"
    text += "torch_tensorrt.compile(b)\n"
    assert only(text).line == 4


def test_other_context_managers_expect_no_error() -> None:
    text = "import torch, torch_tensorrt\nwith torch.no_grad():\n  torch_tensorrt.compile(a)\n"
    assert only(text).line == 3


@pytest.mark.parametrize(
    ("module", "scripted"),
    [("net", True), ("torch.nn.Linear(2, 2)", False), ("torch.nn.ReLU().eval()", False)],
)
def test_arguments_of_torchscript_show_the_front_end(module: str, scripted: bool) -> None:
    call = only(f"import torch, torch_tensorrt\ntorch_tensorrt.compile({module}, inputs=[x], calibrator=c)")
    assert call.scripted is scripted
    assert call.ir == "default"


def test_a_saved_module_is_joined_to_its_compilation() -> None:
    _, uses, _ = script_in(
        "import torch, torch_tensorrt\n"
        "a = torch_tensorrt.compile(m, ir='dynamo', inputs=[x])\n"
        "b = load()\n"
        "torch_tensorrt.save(a, 'a.pt2')\n"
        "torch_tensorrt.save(b, 'b.pt2')\n",
        "script.py",
    )
    assert [use.compiled for use in uses] == [2, 0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"x = {'(' * 200}1{')' * 200}", "script.py: line 2 has more than 150 nested brackets; assign the"),
        pytest.param(
            f"x = {'+'.join(['1'] * 20_000)}",
            "probably in line 2; split the expression into several",
            marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 parses such a sum"),
        ),
        ("x = (", "script.py: line 2 is not valid Python: '(' was never closed"),
    ],
    ids=["brackets", "sum", "syntax"],
)
def test_a_script_that_python_cannot_parse(line: str, said: str) -> None:
    with pytest.raises(PythonScriptError) as caught:
        script_in(f"import torch_tensorrt\n{line}\n", "script.py")[0]
    assert said in str(caught.value)


def test_a_script_that_is_too_deep_without_a_long_line() -> None:
    said = "script.py: the script is nested too deeply for Python; split long expressions and chains of elif"
    assert str(too_deep("elif x: pass\n" * 20_000, "script.py")) == said
    assert str(too_deep("", "script.py")) == said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", False),
        ("inputs=[1]", False),
        ("arg_inputs=[1]", False),
        ("inputs=[1], arg_inputs=[1]", True),
        ("inputs=None, arg_inputs=[1]", False),
        ("inputs=[1], arg_inputs=None", False),
        ("inputs=None, arg_inputs=None", False),
        ("inputs=None, **more", False),
        ("inputs=[1], **more", None),
        ("inputs=[1], arg_inputs=[1], **more", True),
        ("inputs=given, arg_inputs=[1]", None),
        ("inputs=[1], arg_inputs=given", None),
        ("inputs=[1], arg_inputs=nothing", False),
    ],
)
def test_inputs_that_are_given_twice(arguments: str, expected: bool | None) -> None:
    call = only(f"import torch_tensorrt\nnothing = None\ntorch_tensorrt.dynamo.compile(p, {arguments})\n")
    assert _twice(call) is expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", False),
        ("truncate_double=True", False),
        ("truncate_long_and_double=True", False),
        ("truncate_long_and_double=True, truncate_double=True", True),
        ("truncate_long_and_double=True, truncate_double=False", False),
        ("truncate_long_and_double=True, truncate_double=given", None),
    ],
)
def test_an_option_that_is_given_under_both_names(arguments: str, expected: bool | None) -> None:
    text = f"import torch_tensorrt\ntorch_tensorrt.dynamo.compile(p, {arguments})\n"
    assert _truncated_twice(only(text)) is expected


@pytest.mark.parametrize(
    ("text", "function", "route", "ir"),
    [
        ("torch_tensorrt.MutableTorchTensorRTModule(net, min_block_size=1)", "Mutable", "mutable", "dynamo"),
        ("torch_tensorrt.dynamo.MutableTorchTensorRTModule(net)", "Mutable", "mutable", "dynamo"),
        ("torch_tensorrt.convert_method_to_trt_engine(net, inputs=[x])", "convert", "convert", "default"),
        ("torch_tensorrt.convert_method_to_trt_engine(net, ir='dynamo')", "convert", "convert", "dynamo"),
        ("torch_tensorrt.ts.compile(net, inputs=[x])", "ts.compile", "compile", "ts"),
        ("torch_tensorrt.ts.convert_method_to_trt_engine(net, 'forward')", "ts.convert", "convert", "ts"),
    ],
)
def test_further_functions_that_compile(text: str, function: str, route: str, ir: str) -> None:
    call = only(f"import torch_tensorrt\nmodel = {text}")
    assert call.function.removeprefix("torch_tensorrt.").startswith(function)
    assert (call.route, call.ir) == (route, ir)
    assert is_call(text)


@pytest.mark.parametrize(
    "line",
    [
        'torch_tensorrt, _ = optional_import("torch_tensorrt", "1.4.0")',
        'torch_tensorrt = importlib.import_module("torch_tensorrt")',
        'torch_tensorrt = pytest.importorskip("torch_tensorrt")',
    ],
)
def test_a_module_that_a_function_imports(line: str) -> None:
    # https://github.com/Project-MONAI/MONAI/blob/dev/monai/networks/utils.py
    assert only(f"{line}\nm = torch_tensorrt.compile(net, ir='dynamo')").ir == "dynamo"
    assert script_in("x = load('torch_tensorrt')\nm = x.compile(net)", "script.py")[0] == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("torch_tensorrt.compile(net, **config)", "this file does not contain all arguments"),
        ("torch_tensorrt.compile(net, ir=name)", "the argument ir is not a literal"),
        ("torch_tensorrt.ts.compile(net)", "not of the TorchScript and FX front ends"),
    ],
)
def test_the_reason_why_a_call_was_not_checked(text: str, reason: str) -> None:
    (note,) = text_evidence(f"import torch_tensorrt\nm = {text}", "script.py", "2.13").notes
    assert reason in note


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("torch.half", "float16"),
        ("torch_tensorrt.dtype.f32", "float32"),
        ("{torch.half}", ""),
        ("precision", ""),
        ("None", ""),
    ],
)
def test_a_precision_outside_of_a_set(value: str, expected: str) -> None:
    call = only(f"import torch, torch_tensorrt\nm = torch_tensorrt.compile(net, enabled_precisions={value})")
    assert _bare_precision(call) == expected
