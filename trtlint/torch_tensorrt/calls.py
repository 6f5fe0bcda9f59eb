"""Find calls of Torch-TensorRT in Python scripts, and represent a script with its release.

trtlint reads the calls from the syntax tree, and neither imports nor runs a script.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from trtlint.buildcommand.documents import python_of_notebook
from trtlint.buildcommand.pasted import IMPORTS
from trtlint.files.limits import limit_work
from trtlint.files.regular import read_bytes
from trtlint.knowledge.torchreleases import Route, TorchRelease, torch_release
from trtlint.torch_tensorrt.events import nodes_of, statements_of
from trtlint.torch_tensorrt.marks import ScriptMark, mark_of, operators_in
from trtlint.torch_tensorrt.modules import is_module, module_classes
from trtlint.torch_tensorrt.syntax import expected_to_fail, imports_of, parsed, too_deep
from trtlint.torch_tensorrt.uses import TorchUse, use_of
from trtlint.torch_tensorrt.values import (
    NOTHING_KNOWN,
    DictEntry,
    Entries,
    Place,
    QualifiedName,
    ScriptScope,
    UnknownValue,
    dotted,
    entry,
)

Function = Literal[
    "torch_tensorrt.compile",
    "torch_tensorrt.dynamo.compile",
    "torch_tensorrt.cross_compile_for_windows",
    "torch_tensorrt.dynamo.cross_compile_for_windows",
    "torch_tensorrt.dynamo.convert_exported_program_to_serialized_trt_engine",
    "torch_tensorrt.convert_method_to_trt_engine",
    "torch_tensorrt.MutableTorchTensorRTModule",
    "torch_tensorrt.ts.compile",
    "torch_tensorrt.ts.convert_method_to_trt_engine",
    "torch.compile",
]
_ROUTES: Mapping[Function, Route] = {
    "torch_tensorrt.compile": "compile",
    "torch_tensorrt.dynamo.compile": "compile",
    "torch_tensorrt.cross_compile_for_windows": "windows",
    "torch_tensorrt.dynamo.cross_compile_for_windows": "windows",
    "torch_tensorrt.dynamo.convert_exported_program_to_serialized_trt_engine": "engine",
    "torch_tensorrt.convert_method_to_trt_engine": "convert",
    "torch_tensorrt.MutableTorchTensorRTModule": "mutable",
    "torch_tensorrt.ts.compile": "compile",
    "torch_tensorrt.ts.convert_method_to_trt_engine": "convert",
    "torch.compile": "options",
}
"""For each compiler function, the kind of its calls."""
_FUNCTIONS: Mapping[str, Function] = {
    **{function: function for function in _ROUTES},
    "torch_tensorrt.dynamo.MutableTorchTensorRTModule": "torch_tensorrt.MutableTorchTensorRTModule",
    "torch_tensorrt.dynamo.runtime.MutableTorchTensorRTModule": "torch_tensorrt.MutableTorchTensorRTModule",
}
"""The compiler function for each of its full names."""
_POSITIONAL: Mapping[Function, tuple[str, ...]] = {
    "torch_tensorrt.compile": ("module", "ir", "inputs", "arg_inputs", "kwarg_inputs", "enabled_precisions"),
    "torch_tensorrt.cross_compile_for_windows": ("module", "file_path", "inputs"),
    "torch_tensorrt.dynamo.compile": ("exported_program", "inputs"),
    "torch_tensorrt.dynamo.cross_compile_for_windows": ("exported_program", "inputs"),
    "torch_tensorrt.dynamo.convert_exported_program_to_serialized_trt_engine": ("exported_program", "inputs"),
    "torch_tensorrt.convert_method_to_trt_engine": (
        "module",
        "method_name",
        "inputs",
        "arg_inputs",
        "kwarg_inputs",
        "ir",
        "enabled_precisions",
    ),
    "torch_tensorrt.MutableTorchTensorRTModule": ("pytorch_model",),
    "torch_tensorrt.ts.compile": ("module", "inputs"),
    "torch_tensorrt.ts.convert_method_to_trt_engine": ("module", "inputs"),
    "torch.compile": ("model",),
}
_SCRIPT_ONLY = frozenset({"allow_shape_tensors", "calibrator", "capability", "input_signature"})
"""Arguments that only the TorchScript front end reads.
https://github.com/pytorch/TensorRT/blob/v2.12.1/py/torch_tensorrt/ts/_compiler.py#L17
"""
_BACKENDS = ("torch_tensorrt", "tensorrt")
_MOST_BYTES = 2 << 20
_MOST_NOTEBOOK_BYTES = 16 << 20
"""Limit of a notebook, whose pictures and other outputs are often much larger than its code."""
_MOST_CALLS = 500
_LONGEST = 60
"""Reports show at most this number of characters of a value."""
OTHER_FRONT_ENDS = ("ts", "torchscript", "fx")
"""Values of ``ir`` for front ends whose arguments differ from the arguments of the Dynamo front end."""


class Argument(Struct, frozen=True):
    """One argument of a call.

    Attributes:
        name: the name of the argument.
        text: the Python text of the value, shortened.
        value: the value; :data:`~trtlint.torch_tensorrt.values.UNKNOWN` if it is known only when the script
            runs.
        line: the line that sets the argument.
    """

    name: str
    text: str
    value: object
    line: int


class TorchCall(Struct, frozen=True):
    """One call that compiles with Torch-TensorRT.

    Attributes:
        function: the called function.
        route: the kind of the call. It decides which arguments the call accepts.
        ir: the front end, such as ``dynamo``, ``torch_compile``, ``ts`` or ``default``; None if unknown.
        arguments: the known arguments, in order.
        complete: true if all arguments are known.
        unexported: true if the call certainly passes a module to a function that needs an exported program.
        scripted: true if the module is probably TorchScript. For such a module, the default front end is
            TorchScript.
        source: the file; empty for a call given as text.
        line: the line of the call.
        callee: the function as written in the source text.
    """

    function: Function
    route: Route
    ir: str | None
    arguments: tuple[Argument, ...]
    complete: bool
    unexported: bool
    scripted: bool
    source: str
    line: int
    callee: str

    def argument(self, name: str) -> Argument | None:
        """Return the argument with this name, or None if it is omitted."""
        return next((each for each in self.arguments if each.name == name), None)


ScriptParts = tuple[tuple[TorchCall, ...], tuple[TorchUse, ...], tuple[ScriptMark, ...]]
"""Calls of the compiler, calls that export or save modules or set run-time modes, and marks.

A mark is another part of a script that affects the compilation, such as an export.
"""


def read_script(path: Path) -> ScriptParts:
    """Read the parts of a script that affect the compilation.

    Raises:
        PythonScriptError: the script is not Python, or too large.
        OSError: the script cannot be read.
    """
    with limit_work(path):
        notebook = path.suffix.lower() == ".ipynb"
        data = read_bytes(path, _MOST_NOTEBOOK_BYTES if notebook else _MOST_BYTES)
        text = data.decode("utf-8-sig", "replace")
        return script_in(python_of_notebook(text) if notebook else text, str(path))


def script_in(text: str, source: str = "") -> ScriptParts:
    """Read the parts of a Python text that affect the compilation.

    Raises:
        PythonScriptError: the text is not Python.
    """
    tree = parsed(text, source)
    imports = imports_of(tree)
    if not source:
        imports = {**IMPORTS, **imports}
    if not any(name.partition(".")[0] in ("torch", "torch_tensorrt") for name in imports.values()):
        return (), (), ()
    calls: list[TorchCall] = []
    uses: list[TorchUse] = []
    marks: list[ScriptMark] = []
    failing = expected_to_fail(tree)
    try:
        script = ScriptScope(tree.body, frozenset(), None, imports)
        script.classes = module_classes(tree, imports)
        script.scripts = any(is_scripting(node, imports) for node in ast.walk(tree))
        for node, place in visits(tree, script):
            if id(node) in failing:
                continue
            call = _call(node, place)
            if call is not None:
                calls.append(replace(call, source=source))
            elif (use := use_of(node, place, _front_end)) is not None:
                uses.append(replace(use, source=source))
            if (mark := mark_of(node, place)) is not None:
                marks.append(replace(mark, source=source))
            if len(calls) + len(uses) + len(marks) >= _MOST_CALLS:
                break
        if calls:
            marks += [replace(each, source=source) for each in operators_in(tree, script)]
    except RecursionError:
        raise too_deep(text, source or "--build") from None
    return (
        tuple(sorted(calls, key=lambda call: call.line)),
        tuple(sorted(uses, key=lambda use: use.line)),
        tuple(sorted(marks, key=lambda mark: mark.line)),
    )


def _front_end(node: ast.Call, place: Place) -> str | None:
    """Return the front end of a call of ``torch_tensorrt.compile``, or None if it is unknown."""
    call = _call(node, place)
    if call is None or (call.scripted and call.ir == "default"):
        return None
    return call.ir


def visits(tree: ast.Module, script: ScriptScope) -> Iterator[tuple[ast.Call, Place]]:
    """Yield the calls in a script with their places, including calls in functions and classes."""
    imports = script.imports
    pending: list[tuple[list[ast.stmt], ScriptScope]] = [(tree.body, script)]
    while pending:
        body, scope = pending.pop()
        for statement, block in statements_of(body):
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                names = frozenset(each.arg for each in ast.walk(statement.args) if isinstance(each, ast.arg))
                outer = scope.outer or scope
                pending.append((statement.body, ScriptScope(statement.body, names, outer, imports)))
            elif isinstance(statement, ast.ClassDef):
                pending.append((statement.body, ScriptScope(statement.body, frozenset(), script, imports)))
            for node in nodes_of(statement):
                if isinstance(node, ast.Call):
                    yield node, Place(scope, block, node.lineno)


def _call(node: ast.Call, place: Place) -> TorchCall | None:
    function = _FUNCTIONS.get(place.dotted(node.func))
    if function is None:
        return None
    route = _ROUTES[function]
    given = _given(node, function, place)
    complete = given.complete
    if function == "torch.compile":
        options = given.entries.get("options")
        if not _is_backend(given.entries.get("backend"), place):
            return None
        empty = Entries({}, complete)
        given = empty if options is None else place.entries(options.node)
        complete = given.complete and complete
    arguments = tuple(_argument(each, place) for each in given.entries.values())
    ir = _ir(function, arguments, complete)
    if ir in ("torch_compile", "torch.compile") and route == "compile":
        route = "options"
    program, module = (given.entries.get(name) for name in ("exported_program", "module"))
    scripted = _is_scripted(module, place)
    if not scripted and not _SCRIPT_ONLY.isdisjoint(given.entries):
        scripted = module is None or not is_module(module.node, place)
    return TorchCall(
        function=function,
        route=route,
        ir=ir,
        arguments=arguments,
        complete=complete,
        unexported=program is not None and is_module(program.node, place),
        scripted=scripted,
        source="",
        line=node.lineno,
        callee=ast.unparse(node.func),
    )


def _given(node: ast.Call, function: Function, place: Place) -> Entries:
    """Return the arguments of a call by name. Positional arguments get the names of the parameters."""
    known = Entries({}, True)
    for name, value in zip(_POSITIONAL[function], node.args, strict=False):
        if isinstance(value, ast.Starred):
            known |= NOTHING_KNOWN
            break
        known |= entry(name, value)
    return known | place.keywords(node)


def _argument(given: DictEntry, place: Place) -> Argument:
    text = " ".join(ast.unparse(given.node).split())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 3]}..."
    return Argument(given.key, text, place.value(given.node), given.line)


def _is_backend(given: DictEntry | None, place: Place) -> bool:
    if given is None:
        return False
    value = place.value(given.node)
    if isinstance(value, QualifiedName):
        return value.name.startswith("torch_tensorrt.") and value.name.endswith("backend")
    return value in _BACKENDS


def _ir(function: Function, arguments: tuple[Argument, ...], complete: bool) -> str | None:
    if function == "torch.compile":
        return "torch_compile"
    if function.startswith("torch_tensorrt.ts."):
        return "ts"
    if function not in ("torch_tensorrt.compile", "torch_tensorrt.convert_method_to_trt_engine"):
        return "dynamo"
    given = next((each.value for each in arguments if each.name == "ir"), None)
    if given is None:
        return "default" if complete else None
    return given if isinstance(given, str) else None


def _is_scripted(given: DictEntry | None, place: Place) -> bool:
    """Return whether a module may come from ``torch.jit``."""
    if given is None:
        return False
    node = place.assigned(given.node)
    if node is None:
        return place.scope.scripts
    return any(is_scripting(each, place.scope.imports) for each in ast.walk(node))


def is_scripting(node: ast.AST, imports: Mapping[str, str]) -> bool:
    """Return whether a node calls a function of ``torch.jit``, such as ``torch.jit.trace``."""
    return isinstance(node, ast.Call) and dotted(node.func, imports).startswith("torch.jit.")


def known_value(argument: Argument | None, default: object) -> object:
    """Return the value of an argument.

    If the argument is omitted, return the default. If the value is unknown, return None.
    """
    if argument is None:
        return default
    return None if isinstance(argument.value, UnknownValue) else argument.value


class TorchScript(Struct, frozen=True):
    """The calls of a script, or of the text in ``--build``.

    Attributes:
        path: the script; ``--build`` for a call given as text.
        release: the release of Torch-TensorRT, such as ``2.13.0``.
        calls: the calls.
        uses: calls that export or save modules, or set run-time modes, such as ``torch_tensorrt.save``.
        marks: other parts that affect the compilation, such as ranges of input shapes, or exports and traces
            of programs.
    """

    path: str
    release: str
    calls: tuple[TorchCall, ...]
    uses: tuple[TorchUse, ...] = ()
    marks: tuple[ScriptMark, ...] = ()

    @property
    def runs(self) -> TorchRelease:
        """Return the data of the release."""
        return torch_release(self.release)

    @property
    def judged(self) -> tuple[TorchCall, ...]:
        """Return the calls that certainly use the Dynamo front end."""
        return tuple(
            call
            for call in self.calls
            if call.ir is not None
            and call.ir not in OTHER_FRONT_ENDS
            and not (call.scripted and call.ir == "default")
        )
