"""Tests of calls around the compiler, with their argument kinds."""

from __future__ import annotations

from typing import Any

import pytest

from trtlint.torch_tensorrt.calls import script_in
from trtlint.torch_tensorrt.uses import TorchUse

HEAD = "import torch, torch_tensorrt\n"


def uses(text: str) -> tuple[TorchUse, ...]:
    """Return the calls around the compiler in a script."""
    return script_in(f"{HEAD}{text}\n", "s.py")[1]


def last(text: str) -> TorchUse:
    """Return the last call around the compiler."""
    return uses(text)[-1]


def save(**changes: Any) -> TorchUse:
    """Return a plain call of ``torch_tensorrt.save``."""
    given = {
        "function": "torch_tensorrt.save", "product": "", "format": "", "retrace": None, "sure": True,
        "inputs": "none", "arg_inputs": "none", "threads": False, "quantized": False, "private": False,
        "strict": None, "compiled": 0, "others": False, "dynamic": False, "source": "s.py", "line": 2,
    } | changes  # fmt: skip
    return TorchUse(**given)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("torch_tensorrt.save(m, 'f')", {}),
        ("torch_tensorrt.save()", {}),
        ("torch_tensorrt.save(*m)", {"sure": False}),
        ("torch_tensorrt.save(m, **f)", {"sure": False}),
        ("torch_tensorrt.save(m, retrace=False)", {"retrace": False}),
        ("torch_tensorrt.save(m, retrace=1)", {"sure": False}),
        ("torch_tensorrt.save(m, strict=True)", {"strict": True}),
        ("torch_tensorrt.save(m, strict=x, retrace=True)", {"sure": False, "retrace": True}),
        ("torch_tensorrt.save(m, output_format='a')", {"format": "a"}),
        ("torch_tensorrt.save(m, output_format=f)", {"format": None}),
        ("torch_tensorrt.save(m, kwarg_inputs={})", {"others": True}),
        ("torch_tensorrt.save(m, dynamic_shapes={})", {"others": True}),
        ("import threading\ntorch_tensorrt.save(m)", {"threads": True, "line": 3}),
        (
            "from concurrent.futures import ThreadPoolExecutor\ntorch_tensorrt.save(m)",
            {"threads": True, "line": 3},
        ),
        ("import torch_tensorrt._compile as c\nc.save(m)", {"line": 3}),
        (
            "torch_tensorrt.runtime.enable_cudagraphs(m)",
            {"function": "torch_tensorrt.runtime.enable_cudagraphs"},
        ),
        (
            "torch_tensorrt.runtime.set_cudagraphs_mode(True)",
            {"function": "torch_tensorrt.runtime.set_cudagraphs_mode"},
        ),
        (
            "torch_tensorrt.runtime.weight_streaming(m)",
            {"function": "torch_tensorrt.runtime.weight_streaming"},
        ),
        (
            "torch.export.export(m, [x])",
            {"function": "torch.export.export", "inputs": "list"},
        ),
        (
            "torch.export._trace._export(m, args=[x])",
            {"function": "torch.export.export", "inputs": "list",
             "private": True},
        ),
    ],
)  # fmt: skip
def test_a_call_has_all_its_parts(text: str, changes: dict[str, Any]) -> None:
    assert uses(text) == (save(**changes),)


@pytest.mark.parametrize("text", ["torch_tensorrt.load('f')", "save(m)", "torch.save(m)", "m.save(f)"])
def test_other_calls(text: str) -> None:
    assert uses(text) == ()


@pytest.mark.parametrize("script", ["torch.export.export(m, (x,))", "torch_tensorrt.save(m)"])
def test_calls_in_order_of_their_lines(script: str) -> None:
    assert [each.line for each in uses(f"def f():\n  {script}\n{script}\n{script}")] == [3, 4, 5]


def saved(text: str) -> TorchUse:
    """Return the use that saves the module ``m`` of a script."""
    return last(f"{text}\ntorch_tensorrt.save(m, 'f')")


@pytest.mark.parametrize(
    ("text", "product", "compiled"),
    [
        ("m = torch.jit.trace(n, x)", "torchscript", 0),
        ("m = torch.jit.freeze(n)", "torchscript", 0),
        ("m = torch_tensorrt.ts.compile(n)", "torchscript", 0),
        ("m = torch_tensorrt.dynamo.compile(n, [x])", "graph", 2),
        ("m = torch_tensorrt.dynamo._compiler.compile(n, [x])", "graph", 2),
        ("m = torch.export.export(n, (x,))", "program", 0),
        ("m = torch.compile(n)", "module", 0),
        ("m = torch_tensorrt.compile(n, ir='ts')", "torchscript", 2),
        ("m = torch_tensorrt.compile(n, ir='torchscript')", "torchscript", 2),
        ("m = torch_tensorrt.compile(n, ir='torch_compile')", "module", 2),
        ("m = torch_tensorrt._compile.compile(n, ir='torch.compile')", "module", 2),
        ("m = torch_tensorrt.compile(n, ir='dynamo')", "graph", 2),
        ("m = torch_tensorrt.compile(torch.nn.ReLU())", "graph", 2),
        ("m = torch_tensorrt.compile(n, ir='fx')", "", 2),
        ("m = torch_tensorrt.compile(n, ir=i)", "", 2),
        ("m = torch_tensorrt.compile(torch.jit.script(n))", "", 2),
        ("m = torch_tensorrt.compile(torch.jit.script(n), ir='dynamo')", "graph", 2),
        ("m = torch.nn.ReLU()", "module", 0),
        ("m = load()", "", 0),
        ("m = 3", "", 0),
        ("", "", 0),
        ("k = torch.nn.ReLU()\nl = k\nm = l", "module", 0),
        ("if a:\n  m = torch.nn.ReLU()", "", 0),
        ("m, n = f()", "", 0),
        ("m = torch_tensorrt.dynamo.compile(n, [x])\nassert run(m)", "graph", 2),
        ("class N(torch.nn.Module): pass\nassert check(N)\nm = N()", "module", 0),
        ("class N(torch.nn.Module): pass\nN = wrap(N)\nm = N()", "", 0),
    ],
)
def test_kinds_of_saved_values(text: str, product: str, compiled: int) -> None:
    found = saved(text)
    assert (found.product, found.compiled) == (product, compiled)


def test_the_compiled_module_of_cuda_graphs() -> None:
    text = "m = torch_tensorrt.dynamo.compile(n, [x])\ntorch_tensorrt.runtime.enable_cudagraphs({})"
    assert [last(text.format(each)).compiled for each in ("m", "compiled_module=m", "mode=m")] == [2, 2, 0]


RANGE = "torch_tensorrt.Input(min_shape=(1,), opt_shape=(2,), max_shape=(3,))"


@pytest.mark.parametrize(
    ("text", "dynamic"),
    [
        ("m = torch.export.export(n, (x,), dynamic_shapes={0: d})", True),
        ("m = torch.export.export(n, (x,), dynamic_shapes=None)", False),
        ("m = torch.export.export(n, (x,), dynamic_shapes=False)", True),
        ("m = torch.export.export(n, (x,))", False),
        (f"m = torch_tensorrt.compile(n, ir='dynamo', inputs=[x, {RANGE}])", True),
        (f"m = torch_tensorrt.compile(n, ir='dynamo', arg_inputs=({RANGE},))", True),
        (f"m = torch_tensorrt.compile(n, ir='dynamo', other=[{RANGE}])", False),
        (f"m = torch_tensorrt.dynamo.compile(n, [{RANGE}])", True),
        (f"i = {RANGE}\nj = [i]\nm = torch_tensorrt.dynamo.compile(n, j)", True),
        (f"m = torch_tensorrt.dynamo.compile(n, {{{RANGE}}})", False),
        (f"m = torch_tensorrt.dynamo.compile(torch_tensorrt.dynamo.trace(n, [{RANGE}]))", True),
        (f"p = torch_tensorrt.dynamo.trace(n, [{RANGE}])\n"
         "m = torch_tensorrt.dynamo.compile(exported_program=p)", True),
        (f"m = torch_tensorrt._compile.compile(n, inputs=[{RANGE}])", True),
        (f"m = torch_tensorrt.dynamo._compiler.compile(n, [{RANGE}])", True),
        (f"from torch_tensorrt.dynamo import _compiler as c\nm = c.compile(n, [{RANGE}])", True),
        (f"m = torch_tensorrt.dynamo.compile(torch_tensorrt.dynamo._tracer.trace(n, [{RANGE}]))", True),
        (f"m = torch_tensorrt.compile(n, inputs=[{RANGE.replace('Input', '_Input.Input')}])", True),
        (f"m = load([{RANGE}])", False),
        ("m = torch_tensorrt.dynamo.compile(n, [torch_tensorrt.Input(min_shape=(1,), max_shape=(1,))])",
         False),
        ("m = torch_tensorrt.dynamo.compile(n, [torch_tensorrt.Input(min_shape=(1,))])", False),
        ("m = torch_tensorrt.dynamo.compile(n, [torch_tensorrt.Input(max_shape=(1,))])", False),
        ("m = torch_tensorrt.dynamo.compile(n, [torch_tensorrt.Input(min_shape=(1,), max_shape=s)])", False),
        ("m = torch_tensorrt.dynamo.compile(n, [torch_tensorrt.Input(min_shape=s, max_shape=(1,))])", False),
        # The 101st item of a list is not read.
        (f"m = torch_tensorrt.dynamo.compile(n, [{'x, ' * 99}{RANGE}])", True),
        (f"m = torch_tensorrt.dynamo.compile(n, [{'x, ' * 100}{RANGE}])", False),
        (f"m = torch_tensorrt.dynamo.compile({'x, ' * 99}{RANGE})", True),
        (f"m = torch_tensorrt.dynamo.compile({'x, ' * 100}{RANGE})", False),
        # Lists are followed to a depth.
        (f"m = torch_tensorrt.dynamo.compile(n, [[[[{RANGE}]]]])", True),
        (f"m = torch_tensorrt.dynamo.compile(n, [[[[[{RANGE}]]]]])", False),
        ("m = 3", False),
    ],
)  # fmt: skip
def test_dynamic_sizes_of_a_saved_program(text: str, dynamic: bool) -> None:
    assert saved(text).dynamic is dynamic


def test_the_search_for_dynamic_sizes_has_a_limit() -> None:
    lists = [f"a0 = [{'x, ' * 100}]", *(f"a{i + 1} = [{f'a{i}, ' * 100}]" for i in range(3))]
    assert saved("\n".join([*lists, "m = torch_tensorrt.dynamo.compile(n, a3)"])).dynamic is False


SPEC = "torch_tensorrt.Input((1,))"


@pytest.mark.parametrize(
    ("text", "inputs", "kind"),
    [
        ("", "None", "none"),
        ("", "3", ""),
        ("", "x", ""),
        ("", "[x]", "items"),
        ("", "(x, y)", "items"),
        ("", "[]", ""),
        ("", "()", ""),
        ("", f"[x, {SPEC}]", "specs"),
        (f"i = {SPEC}", "(i,)", "specs"),
        ("", f"[{SPEC}.to('cuda')]", "items"),
        ("", f"[{'x, ' * 99}{SPEC}]", "specs"),
        ("", f"[{'x, ' * 100}{SPEC}]", "items"),
        ("", "torch.ones(2)", "tensor"),
        ("", "torch.ones(2).to('cuda').half().contiguous()", "tensor"),
        ("", "torch.ones(2).unbind()", ""),
        ("", "torch.ones(2).shape", ""),
        ("", "torch.load('x')", ""),
        ("", "f()", ""),
        ("", "f(1)(2)", ""),
        ("i = torch.ones(2)\nj = i.cuda()", "j", "tensor"),
        ("if a:\n  i = torch.ones(2)", "i", ""),
        ("", f"torch.ones(2){'.cuda()' * 19}", "tensor"),
        ("", f"torch.ones(2){'.cuda()' * 20}", ""),
        ("", SPEC, ""),
    ],
)
def test_kinds_of_inputs(text: str, inputs: str, kind: str) -> None:
    found = last(f"{text}\ntorch_tensorrt.save(m, 'f', inputs={inputs}, arg_inputs={inputs})")
    assert (found.inputs, found.arg_inputs) == (kind, kind)
    exported = last(f"{text}\ntorch.export.export(m, {inputs})")
    assert exported.inputs == ("list" if inputs.startswith("[") else kind)


@pytest.mark.parametrize(("names", "kind"), [(19, "items"), (20, "")])
def test_names_are_followed(names: int, kind: str) -> None:
    lines = ["a0 = (x,)", *(f"a{number} = a{number - 1}" for number in range(1, names))]
    assert last("\n".join([*lines, f"torch.export.export(m, a{names - 1})"])).inputs == kind
