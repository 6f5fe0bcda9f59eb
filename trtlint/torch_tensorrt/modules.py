"""Find expressions in one Python file whose value is certainly a ``torch.nn.Module``."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from trtlint.torch_tensorrt.values import Place, dotted

_DEEPEST = 20
_SAME = frozenset(
    {"bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "to", "train"}
)
"""Methods that return the module itself.  https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html"""
_NO_MODULES = frozenset({"Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"})
_MODULE = ("torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module")


def module_classes(tree: ast.Module, imports: Mapping[str, str]) -> frozenset[str]:
    """Return the names of classes in a file that certainly derive from ``torch.nn.Module``."""
    found: set[str] = set()
    seen: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        twice = node.name in seen or node.name in imports
        seen.add(node.name)
        derived = any(
            dotted(base, imports) in _MODULE or (isinstance(base, ast.Name) and base.id in found)
            for base in node.bases
        )
        made = any(isinstance(each, ast.FunctionDef) and each.name == "__new__" for each in node.body)
        if derived and not twice and not made and not node.decorator_list:
            found.add(node.name)
        else:
            found.discard(node.name)
    return frozenset(found)


def is_module(node: ast.expr, place: Place) -> bool:
    """Return whether an expression is certainly a module, not an exported program."""
    for _ in range(_DEEPEST):
        if isinstance(node, ast.Name):
            found = place.setting(node.id)
            if found is None:
                return False
            node, place = found
        elif isinstance(node, ast.Call):
            name = place.dotted(node.func)
            if name:
                return _makes_module(name)
            if isinstance(node.func, ast.Name):
                own, scope = node.func.id, place.scope
                return own in scope.classes and not scope.binds(own) and own not in scope.parameters
            if not isinstance(node.func, ast.Attribute) or node.func.attr not in _SAME:
                return False
            node = node.func.value
        else:
            return False
    return False


def _makes_module(name: str) -> bool:
    parts = name.split(".")
    last = parts[-1]
    if parts[:2] == ["torch", "nn"]:
        return len(parts) == 3 and last[:1].isupper() and last not in _NO_MODULES
    if parts[:2] == ["torchvision", "models"]:
        return last == "get_model" or (last[:1].islower() and not last.startswith(("get_", "list_")))
    if parts[0] == "transformers":
        return last == "from_pretrained" and len(parts) == 3 and "Model" in parts[1]
    return name == "timm.create_model"
