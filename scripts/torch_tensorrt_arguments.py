"""Read the arguments of Torch-TensorRT from its wheels, for ``trtlint/knowledge/torch_arguments.yaml``.

``python scripts/torch_tensorrt_arguments.py WHEELS``: ``WHEELS/2.14.0/torch_tensorrt`` is the unpacked wheel
of a release (``pip download --no-deps torch-tensorrt==2.14.0``). The script imports nothing from the wheels.
It reads signatures, defaults and the names used with ``**kwargs`` from the syntax tree.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

HEAD = """\
# Arguments of Torch-TensorRT by release, made by scripts/torch_tensorrt_arguments.py from the wheels on
# https://pypi.org/project/torch-tensorrt/. Do not edit.
#
# Each table contains arguments by name. For each release, the entry of an argument contains the number of the
# line that reads the argument, and the default if the signature has a default. The line number is the same in
# the wheel's file and in the file of the release's Git tag.
#
# compile    torch_tensorrt.dynamo.compile: dynamo/_compiler.py
# windows    torch_tensorrt.dynamo.cross_compile_for_windows: dynamo/_compiler.py
# engine     torch_tensorrt.dynamo.convert_exported_program_to_serialized_trt_engine: dynamo/_compiler.py
# front      torch_tensorrt.compile, which passes the rest to `compile` or `options`: _compile.py
# windows_front  torch_tensorrt.cross_compile_for_windows, which passes the rest to `windows`: _compile.py
# convert    torch_tensorrt.convert_method_to_trt_engine, which passes the rest to `engine`: _compile.py
# mutable    torch_tensorrt.MutableTorchTensorRTModule, which passes the rest to `compile` from 2.8 on:
#            dynamo/runtime/_MutableTorchTensorRTModule.py
# trace      the arguments of torch_tensorrt.compile that tracing reads: dynamo/_tracer.py
# settings   the options of torch.compile: dynamo/_settings.py
# options    further options of torch.compile that the backend reads: dynamo/utils.py
# backend    like `options`: dynamo/backend/backends.py
"""
TABLES: Mapping[str, tuple[str, str]] = {
    "compile": ("dynamo/_compiler.py", "compile"),
    "windows": ("dynamo/_compiler.py", "cross_compile_for_windows"),
    "engine": ("dynamo/_compiler.py", "convert_exported_program_to_serialized_trt_engine"),
    "front": ("_compile.py", "compile"),
    "windows_front": ("_compile.py", "cross_compile_for_windows"),
    "convert": ("_compile.py", "convert_method_to_trt_engine"),
    "mutable": ("dynamo/runtime/_MutableTorchTensorRTModule.py", "MutableTorchTensorRTModule.__init__"),
    "trace": ("dynamo/_tracer.py", "trace"),
    "settings": ("dynamo/_settings.py", "CompilationSettings"),
    "options": ("dynamo/utils.py", "parse_dynamo_kwargs"),
    "backend": ("dynamo/backend/backends.py", "torch_tensorrt_backend"),
}
"""The file and the function, class or method that each table is read from."""
READERS = ("trace", "parse_dynamo_kwargs", "torch_tensorrt_backend")
"""Functions whose only user arguments are in ``kwargs``. The package itself passes their named arguments."""


def arguments(source: str, name: str, defaults: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
    """Yield name, line and default of each argument of a function, or of each field of a class.

    The name of a method begins with its class, such as ``Module.__init__``. ``self`` is left out.
    """
    body = ast.parse(source).body
    owner, dot, method = name.partition(".")
    if dot:
        name = method
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == owner).body
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for item in node.body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    yield item.target.id, item.lineno, default_of(item.value, defaults)
        elif isinstance(node, ast.FunctionDef) and node.name == name:
            own = node.args
            named = () if name in READERS else (*own.args[bool(dot) :], *own.kwonlyargs)
            for argument in named:
                value = dict(zip(own.kwonlyargs, own.kw_defaults, strict=True)).get(argument)
                yield argument.arg, argument.lineno, default_of(value, defaults)
            yield from ((key, line, "") for key, line in from_kwargs(node))


def default_of(value: ast.expr | None, defaults: Mapping[str, str]) -> str:
    """Return a default as text, with the values of ``_defaults``; empty without a default."""
    if value is None:
        return ""
    if (
        isinstance(value, ast.Attribute)
        and isinstance(value.value, ast.Name)
        and value.value.id == "_defaults"
    ):
        return defaults.get(value.attr, "")
    text = ast.unparse(value)
    return defaults.get(text, "" if "(" in text else text)


def from_kwargs(function: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield the names that a function reads from ``kwargs``, each with its first line."""
    found: dict[str, int] = {}
    for node in ast.walk(function):
        key: ast.expr | None = None
        if isinstance(node, ast.Subscript) and mentions_kwargs(node.value):
            key = node.slice
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("get", "pop")
            and mentions_kwargs(node.func.value)
            and node.args
        ):
            key = node.args[0]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In):
            key = node.left if mentions_kwargs(node.comparators[0]) else None
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value != "options":
            found[key.value] = min(key.lineno, found.get(key.value, sys.maxsize))
    yield from found.items()


def mentions_kwargs(node: ast.expr) -> bool:
    """Return whether an expression is ``kwargs``, its keys, or its ``options``."""
    return any(isinstance(each, ast.Name) and each.id == "kwargs" for each in ast.walk(node))


def constants(source: str) -> dict[str, str]:
    """Return the constants of ``_defaults.py`` as text."""
    return {
        node.targets[0].id: ast.unparse(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant | ast.Set | ast.List)
    }


def main() -> None:
    """Write the table to standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", type=Path)
    folder = parser.parse_args().wheels
    rows: dict[str, dict[str, list[str]]] = {table: defaultdict(list) for table in TABLES}
    wheels = sorted(folder.iterdir(), key=lambda wheel: [int(part) for part in wheel.name.split(".")])
    for wheel in wheels:
        package = wheel / "torch_tensorrt"
        defaults = constants((package / "dynamo/_defaults.py").read_text(encoding="utf-8"))
        for table, (file, function) in TABLES.items():
            seen: set[str] = set()
            source = (package / file).read_text(encoding="utf-8")
            for name, line, default in arguments(source, function, defaults):
                if name not in seen:
                    seen.add(name)
                    value = f", {default!r}" if default else ""
                    rows[table][name].append(f'"{wheel.name}": [{line}{value}]')
    print(HEAD)
    for table, found in rows.items():
        print(f"{table}:")
        for name, releases in sorted(found.items()):
            print(f"  {name}: {{{', '.join(releases)}}}")


if __name__ == "__main__":
    main()
