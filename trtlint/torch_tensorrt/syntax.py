"""Parse Python scripts to syntax trees, within limits."""

from __future__ import annotations

import ast
import warnings

from trtlint.buildcommand.syntax import last_name
from trtlint.files.brackets import deepest
from trtlint.files.problem import UnreadableError

_MOST_NODES = 400_000
_MOST_DEEP = 150
"""Largest depth of nested brackets. Older Python versions crash at a depth of a few hundred."""
_LONG_LINE = 1000
"""Only a line of at least this number of characters can be nested too deeply.

Python allows about 1000 levels of nesting.
"""


class PythonScriptError(UnreadableError):
    """Error: a Python script cannot be parsed."""


def parsed(text: str, source: str) -> ast.Module:
    """Return the syntax tree of a Python text.

    ``source`` is the name of the file. It is empty if the text is the value of ``--build``.

    Raises:
        PythonScriptError: the text is not Python, or too large.
    """
    place = source or "--build"
    if "\0" in text:
        raise PythonScriptError("not a Python script: it contains a null byte", path=place)
    brackets, line = deepest(text, "([{", ")]}")
    if brackets > _MOST_DEEP:
        raise PythonScriptError(
            f"line {line} has more than {_MOST_DEEP} nested brackets; assign the inner parts to variables",
            path=place,
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        raise PythonScriptError(
            f"line {error.lineno or 1} is not valid Python: {error.msg}", path=place
        ) from None
    except (RecursionError, MemoryError):
        raise too_deep(text, place) from None
    except ValueError as error:
        raise PythonScriptError(f"Python cannot parse the script: {error}", path=place) from None
    for count, _ in enumerate(ast.walk(tree)):
        if count > _MOST_NODES:
            raise PythonScriptError(
                f"the script has more than {_MOST_NODES} syntax nodes; "
                "move the calls of Torch-TensorRT to a smaller file",
                path=place,
            )
    return tree


def too_deep(text: str, place: str) -> PythonScriptError:
    """Return the error for a script whose nesting exceeds Python's memory or recursion limit.

    If the longest line is long enough to be the cause, the error names this line.

    Args:
        text: the script.
        place: the file.
    """
    lines = text.splitlines()
    number = max(range(len(lines)), key=lambda index: len(lines[index]), default=0)
    if lines and len(lines[number]) >= _LONG_LINE:
        return PythonScriptError(
            f"an expression is nested too deeply for Python, probably in line {number + 1}; "
            "split the expression into several statements",
            path=place,
        )
    return PythonScriptError(
        "the script is nested too deeply for Python; split long expressions and chains of elif", path=place
    )


_EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
"""Names of functions whose context managers expect an error:

https://docs.pytest.org/en/stable/how-to/assert.html
https://docs.python.org/3/library/unittest.html#unittest.TestCase.assertRaises
"""


def expected_to_fail(tree: ast.Module) -> frozenset[int]:
    """Return the ids of the calls in blocks that expect an error, such as ``with pytest.raises(...)``."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and any(_expects_error(item.context_expr) for item in node.items):
            found.update(
                id(each) for part in node.body for each in ast.walk(part) if isinstance(each, ast.Call)
            )
    return frozenset(found)


def _expects_error(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _EXPECTING
        and isinstance(node.func.value, ast.Name)
    )


def imports_of(tree: ast.Module) -> dict[str, str]:
    """Return the full name of each name that the file imports anywhere.

    A call with the name of a module, such as ``optional_import("torch_tensorrt")``, counts as an import.
    """
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            name, module = _imported_by_a_call(node.targets[0], node.value)
            if name:
                found.setdefault(name, module)
    return found


def _imported_by_a_call(target: ast.expr, value: ast.expr) -> tuple[str, str]:
    """Return the name and the module if a statement imports a module with a function.

    The function returns the module, or a tuple that begins with the module.
    """
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call) or not value.args:
        return "", ""
    module = value.args[0].value if isinstance(value.args[0], ast.Constant) else None
    if "import" not in last_name(value.func) or module not in ("torch", "torch_tensorrt"):
        return "", ""
    return target.id, str(module)
