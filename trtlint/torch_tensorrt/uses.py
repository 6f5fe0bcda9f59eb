"""Find calls that export or save modules, or set run-time modes, such as ``torch_tensorrt.save``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from msgspec import Struct

from trtlint.torch_tensorrt.modules import is_module
from trtlint.torch_tensorrt.values import Place

Function = Literal[
    "torch_tensorrt.save",
    "torch.export.export",
    "torch.jit.save",
    "torch_tensorrt.runtime.enable_cudagraphs",
    "torch_tensorrt.runtime.set_cudagraphs_mode",
    "torch_tensorrt.runtime.weight_streaming",
]
Product = Literal["graph", "torchscript", "module", "program", ""]
"""Kind of the saved value; empty if unknown.

- ``graph``: a compiled graph module
- ``torchscript``: a TorchScript module
- ``module``: a module that is not compiled
- ``program``: an exported program
"""
Inputs = Literal["none", "tensor", "specs", "items", "list", ""]
"""Kind of example inputs; empty if unknown.

- ``none``: no inputs
- ``tensor``: one tensor
- ``specs``: a list or tuple with ``torch_tensorrt.Input``
- ``items``: a list or tuple of other inputs
- ``list``: a list for ``torch.export.export``, which requires a tuple
"""
FrontEnd = Callable[[ast.Call, Place], str | None]

_DEEPEST = 20
_DYNAMIC_DEPTH = 6
_MOST_ITEMS = 100
_MOST_STEPS = 10_000
"""Largest number of expressions that the search for dynamic sizes visits.

The limit is needed, because nested lists of repeated names would take exponential time.
"""
_PRIVATE = "torch.export._trace._export"
_QUANTIZED = "modelopt.torch.quantization.utils.export_torch_mode"
_POSITIONAL: Mapping[Function, tuple[str, ...]] = {
    "torch_tensorrt.save": ("module", "file_path"),
    "torch.export.export": ("mod", "args"),
    "torch.jit.save": ("m", "f"),
    "torch_tensorrt.runtime.enable_cudagraphs": ("compiled_module",),
    "torch_tensorrt.runtime.set_cudagraphs_mode": ("mode",),
    "torch_tensorrt.runtime.weight_streaming": ("module",),
}
_FUNCTIONS: Mapping[str, Function] = {
    **{function: function for function in _POSITIONAL},
    _PRIVATE: "torch.export.export",
}
"""The function for each full name."""
_THREADS = ("threading", "concurrent.futures")
_TENSORS = frozenset(
    {"torch.arange", "torch.empty", "torch.full", "torch.ones", "torch.rand", "torch.randint", "torch.randn"}
    | {"torch.tensor", "torch.zeros"}
)
_SAME = frozenset({"bfloat16", "clone", "contiguous", "cpu", "cuda", "detach", "double", "float", "half"})
"""Methods of a tensor that always return one tensor."""
_PRODUCTS: Mapping[str, Product] = {
    "torch.jit.trace": "torchscript",
    "torch.jit.script": "torchscript",
    "torch.jit.load": "torchscript",
    "torch.jit.freeze": "torchscript",
    "torch_tensorrt.ts.compile": "torchscript",
    "torch_tensorrt.dynamo.compile": "graph",
    "torch.export.export": "program",
    "torch.compile": "module",
}
"""The kind of the result of each function."""
_BY_FRONT_END: Mapping[str, Product] = {
    "ts": "torchscript",
    "torchscript": "torchscript",
    "torch_compile": "module",
    "torch.compile": "module",
    "dynamo": "graph",
    "default": "graph",
}
"""The kind of the result of ``torch_tensorrt.compile``, for each value of ``ir``."""
_COMPILERS = ("torch_tensorrt.compile", "torch_tensorrt.dynamo.compile")
_COMPILED = (*_COMPILERS, "torch_tensorrt.dynamo.trace")
"""Functions that keep dynamic sizes: the result has the dynamic sizes of the program or inputs."""


class TorchUse(Struct, frozen=True):
    """One call of a function in :data:`Function`: it exports or saves a module, or sets a run-time mode.

    Attributes:
        function: the function.
        product: kind of the value that the call saves, such as ``program``.
        format: the argument ``output_format``; empty if omitted, None if unknown.
        retrace: the argument ``retrace``; None if omitted.
        sure: true if all arguments are known.
        inputs: kind of the example inputs in the argument ``inputs``, or in the second argument of
            ``torch.export.export``.
        arg_inputs: kind of the example inputs in the argument ``arg_inputs``.
        threads: true if the script imports a package that starts threads.
        quantized: true if the script exports modules that ModelOpt quantized.
        private: true if the script calls the private function that implements ``torch.export.export``.
        strict: the argument ``strict``; None if omitted or unknown.
        compiled: the line of the call that compiles the module; 0 if unknown.
        others: true if the argument ``kwarg_inputs`` or ``dynamic_shapes`` is given.
        dynamic: true if the saved program certainly has dynamic sizes.
        source: the file; empty for a call given as text.
        line: the line.
    """

    function: Function
    product: Product
    format: str | None
    retrace: bool | None
    sure: bool
    inputs: Inputs
    arg_inputs: Inputs
    threads: bool
    quantized: bool
    private: bool
    strict: bool | None
    compiled: int
    others: bool
    dynamic: bool
    source: str
    line: int


class _Call(NamedTuple):
    """A call in a script, its place, and the full name of the function; empty for an unknown function."""

    node: ast.Call
    place: Place
    name: str


def use_of(node: ast.Call, place: Place, front_end: FrontEnd) -> TorchUse | None:
    """Return the arguments of a call of a function in :data:`Function`, or None for any other call.

    Args:
        node: the call.
        place: the place of the call.
        front_end: function that returns the front end (``ir``) of a call of ``torch_tensorrt.compile``, or
            None if the front end is unknown.
    """
    name = place.dotted(node.func)
    function = _FUNCTIONS.get(name)
    if function is None:
        return None
    given = dict(zip(_POSITIONAL[function], node.args, strict=False))
    sure = not any(isinstance(each, ast.Starred) for each in node.args)
    for keyword in node.keywords:
        if keyword.arg is None:
            sure = False
        else:
            given[keyword.arg] = keyword.value
    saved = given.get("module") or given.get("compiled_module") or given.get("m")
    maker = None if saved is None else _followed_call(saved, place)
    retrace = place.value(given["retrace"]) if "retrace" in given else None
    format_ = place.value(given["output_format"]) if "output_format" in given else ""
    strict = place.value(given["strict"]) if "strict" in given else None
    return TorchUse(
        function=function,
        product="" if maker is None else _product(maker, front_end),
        format=format_ if isinstance(format_, str) else None,
        retrace=retrace if isinstance(retrace, bool) else None,
        sure=sure
        and all(
            name not in given or isinstance(value, bool)
            for name, value in (("retrace", retrace), ("strict", strict))
        ),
        inputs=_example(given.get("args"), place)
        if function == "torch.export.export"
        else _inputs(given.get("inputs"), place),
        arg_inputs=_inputs(given.get("arg_inputs"), place),
        threads=any(name.startswith(_THREADS) for name in place.scope.imports.values()),
        quantized=_QUANTIZED in place.scope.imports.values(),
        private=name == _PRIVATE,
        strict=strict if isinstance(strict, bool) else None,
        compiled=maker.node.lineno if maker is not None and maker.name in _COMPILERS else 0,
        others="kwarg_inputs" in given or "dynamic_shapes" in given,
        dynamic=saved is not None and _is_dynamic(saved, place, _DYNAMIC_DEPTH, iter(range(_MOST_STEPS))),
        source="",
        line=node.lineno,
    )


def _followed(node: ast.expr, place: Place) -> tuple[ast.expr, Place] | None:
    """Return the expression that was assigned to a name, with its place in the script.

    If the assigned expression is a name, the function looks up that name, too. The result is None if an
    assignment is uncertain.
    """
    for _ in range(_DEEPEST):
        if not isinstance(node, ast.Name):
            return node, place
        found = place.setting(node.id)
        if found is None:
            return None
        node, place = found
    return None


def _followed_call(node: ast.expr, place: Place) -> _Call | None:
    """Return the call that was assigned to a name, or None for any other expression."""
    found = _followed(node, place)
    if found is None or not isinstance(found[0], ast.Call):
        return None
    call, place = found[0], found[1]
    return _Call(call, place, place.dotted(call.func))


def _product(maker: _Call, front_end: FrontEnd) -> Product:
    """Return the kind of the result of a call."""
    if maker.name == "torch_tensorrt.compile":
        return _BY_FRONT_END.get(front_end(maker.node, maker.place) or "", "")
    if maker.name in _PRODUCTS:
        return _PRODUCTS[maker.name]
    return "module" if is_module(maker.node, maker.place) else ""


def _is_dynamic(node: ast.expr, place: Place, depth: int, steps: Iterator[int]) -> bool:
    """Return whether a program, or an input of its compilation, certainly has dynamic sizes.

    The search follows at most ``depth`` nested expressions. For each expression, the search takes one item
    from ``steps``. It stops if ``steps`` has no more items.
    """
    found = _followed(node, place) if depth > 0 and next(steps, None) is not None else None
    if found is None:
        return False
    node, place = found
    if isinstance(node, ast.List | ast.Tuple):
        return any(_is_dynamic(each, place, depth - 1, steps) for each in node.elts[:_MOST_ITEMS])
    if not isinstance(node, ast.Call):
        return False
    name = place.dotted(node.func)
    given = {each.arg: each.value for each in node.keywords if each.arg}
    if name == "torch.export.export":
        shapes = given.get("dynamic_shapes")
        return shapes is not None and not (isinstance(shapes, ast.Constant) and shapes.value is None)
    if name == "torch_tensorrt.Input":
        smallest, largest = (
            place.value(given[part]) if part in given else None for part in ("min_shape", "max_shape")
        )
        return isinstance(smallest, tuple) and isinstance(largest, tuple) and smallest != largest
    if name not in _COMPILED:
        return False
    parts = [
        *node.args,
        *(given[part] for part in ("inputs", "arg_inputs", "exported_program") if part in given),
    ]
    return any(_is_dynamic(part, place, depth - 1, steps) for part in parts[:_MOST_ITEMS])


def _inputs(node: ast.expr | None, place: Place) -> Inputs:
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return "none"
    found = _followed(node, place)
    if found is None:
        return ""
    node, place = found
    if isinstance(node, ast.List | ast.Tuple):
        if any(_makes(each, "spec", place) for each in node.elts[:_MOST_ITEMS]):
            return "specs"
        return "items" if node.elts else ""
    return "tensor" if _makes(node, "tensor", place) else ""


def _example(node: ast.expr | None, place: Place) -> Inputs:
    """Return the kind of the example arguments of ``torch.export.export``."""
    found = None if node is None else _followed(node, place)
    if found is not None and isinstance(found[0], ast.List):
        return "list"
    return _inputs(node, place)


def _makes(node: ast.expr, kind: Literal["spec", "tensor"], place: Place) -> bool:
    """Return whether the value of an expression is certainly of the kind ``kind``.

    If ``kind`` is ``spec``, the value must be a ``torch_tensorrt.Input``. If it is ``tensor``, the value must
    be a tensor.
    """
    for _ in range(_DEEPEST):
        call = _followed_call(node, place)
        if call is None:
            return False
        if call.name:
            return call.name == "torch_tensorrt.Input" if kind == "spec" else call.name in _TENSORS
        method = call.node.func
        if kind == "spec" or not isinstance(method, ast.Attribute) or method.attr not in _SAME | {"to"}:
            return False
        node, place = method.value, call.place
    return False
