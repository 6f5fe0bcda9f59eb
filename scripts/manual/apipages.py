"""Pages from docstrings: the Python API, the kinds of facts, and the exit codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypeGuard, get_args

import griffe

import trtlint
from scripts.manual.markdown import table
from trtlint.facts.kinds import Ground, fact_class, ground_of, kinds
from trtlint.runs.exits import Exit

_ROLE = re.compile(r":[a-z]+:`~?(?:[\w.]*\.)?(\w+)`")
_SHOWN = 200
"""Limit of the number of classes on the page. Usually, far fewer classes are reachable by annotations."""
_LONG = 120
"""Maximum number of characters of a list of literals that the page shows in full."""
_STARS = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
_GROUNDS = {
    "model": "In a model",
    "build": "In the files of a build",
    "command": "In a build command",
    "trial": "In a dry build or a measurement",
    "weights": "In the weights",
    "torch": "In a script or program for Torch-TensorRT",
}


def api_pages() -> dict[str, str]:
    """Return the pages by their paths on the site."""
    return {
        "reference/python.md": _python(),
        "reference/facts.md": _facts(),
        "reference/exit-codes.md": _exit_codes(),
    }


@cache
def _package() -> griffe.Module:
    loaded = griffe.load("trtlint", docstring_parser="google", allow_inspection=False)
    assert isinstance(loaded, griffe.Module)
    return loaded


def _object(path: str) -> griffe.Object:
    found = _package()[path.removeprefix("trtlint.")]
    return found.final_target if isinstance(found, griffe.Alias) else found


def prose(text: str) -> str:
    """Convert the reStructuredText of a docstring to Markdown."""
    return _ROLE.sub(r"`\1`", text).replace("``", "`").replace("::\n", ":\n")


def _one_line(text: str) -> str:
    return " ".join(prose(text).split())


def _python() -> str:
    public = [getattr(trtlint, name) for name in trtlint.__all__ if not name.startswith("_")]
    objects = [_object(f"{item.__module__}.{item.__name__}") for item in public]
    functions = [item for item in objects if isinstance(item, griffe.Function)]
    classes = [item for item in objects if isinstance(item, griffe.Class)]
    parts = [
        "# Python",
        "Import the functions and classes of this page from `trtlint`, as in `from trtlint import lint`. "
        "Python loads each of them at its first use.",
    ]
    for function in functions:
        parts += _function(function, "##")
    keywords = _object("trtlint.keywords.Keywords")
    assert isinstance(keywords, griffe.Class)
    parts += _class(keywords, "##")
    parts += [
        "## Types of arguments and results",
        "Frozen [structs](https://jcristharif.com/msgspec/structs.html), which can be pickled and sent to "
        "another process. `msgspec.structs.replace` returns a changed copy.",
    ]
    for class_ in _reachable((*classes, *functions)):
        parts += _class(class_, "###")
    for class_ in classes:
        if not _is_struct(class_):
            parts += _class(class_, "##")
    return "\n\n".join(parts) + "\n"


def _reachable(objects: Iterable[griffe.Object]) -> list[griffe.Class]:
    """Return the classes among ``objects``, and the structs of trtlint in their annotations."""
    found: dict[str, griffe.Class] = {}
    queue = list(objects)
    while queue and len(found) < _SHOWN:
        item = queue.pop(0)
        annotations: list[str | griffe.Expr | None] = []
        if isinstance(item, griffe.Function):
            annotations.append(item.returns)
        elif isinstance(item, griffe.Class) and item.path not in found and _is_struct(item):
            found[item.path] = item
            annotations += [field.annotation for field in _fields(item)]
        for annotation in annotations:
            pieces = annotation.iterate() if isinstance(annotation, griffe.Expr) else ()
            queue += [_object(piece.canonical_path) for piece in pieces if _own(piece)]
    return list(found.values())


def _is_struct(class_: griffe.Class) -> bool:
    """Return whether a class is a struct, or derives from a struct of trtlint."""
    bases = [base for base in class_.bases if isinstance(base, griffe.Expr)]
    if any(base.canonical_path == "msgspec.Struct" for base in bases):
        return True
    own = (_object(base.canonical_path) for base in bases if _own(base))
    return any(isinstance(base, griffe.Class) and _is_struct(base) for base in own)


def _own(piece: str | griffe.Expr) -> TypeGuard[griffe.ExprName]:
    """Return whether a part of an annotation is a name that trtlint defines."""
    return isinstance(piece, griffe.ExprName) and piece.canonical_path.startswith("trtlint.")


def _function(function: griffe.Function, level: str) -> Iterator[str]:
    yield f"{level} {function.name}"
    parameters = "".join(f"    {word},\n" for word in _parameters(function))
    yield f"```python\n{function.name}(\n{parameters}) -> {function.returns}\n```"
    yield from _docstring(function)


def _parameters(function: griffe.Function) -> list[str]:
    words, marked = [], False
    for parameter in function.parameters:
        if parameter.name == "self":
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not marked:
            words.append("*")
            marked = True
        if parameter.kind in _STARS:
            words.append(f"{_STARS[parameter.kind]}{parameter.name}: {parameter.annotation}")
            marked = True
            continue
        word = f"{parameter.name}: {parameter.annotation}"
        words.append(word if parameter.default is None else f"{word} = {parameter.default}")
    return words


def _fields(class_: griffe.Class) -> list[griffe.Attribute]:
    """Return the fields of a class, and then the inherited fields that have a type."""
    targets = {name: alias.final_target for name, alias in class_.inherited_members.items()}
    inherited = {
        name: each for name, each in targets.items() if isinstance(each, griffe.Attribute) and each.annotation
    }
    return [
        member
        for name, member in {**class_.members, **inherited}.items()
        if isinstance(member, griffe.Attribute)
        and not name.startswith("_")
        and "instance-attribute" in member.labels
    ]


def _class(class_: griffe.Class, level: str) -> Iterator[str]:
    yield f"{level} {class_.name}"
    told = {}
    if class_.docstring:
        for section in class_.docstring.parsed:
            if section.kind is griffe.DocstringSectionKind.attributes:
                told = {entry.name: entry.description for entry in section.value}
    yield from _docstring(class_)
    fields = _fields(class_)
    meant = {field.name: field.docstring.value if field.docstring else "" for field in fields} | told
    named = {field.name: field for field in fields}
    rows = [(f"`{n}`", _annotation(named.get(n)), _one_line(text)) for n, text in meant.items()]
    if rows:
        yield table(("field", "type", "meaning"), rows)
    for member in class_.members.values():
        if not member.name.startswith("_") and isinstance(member, griffe.Function) and member.docstring:
            first = next(
                (s for s in member.docstring.parsed if s.kind is griffe.DocstringSectionKind.text), None
            )
            said = _one_line(first.value) if first else ""
            yield f"`{member.name}({', '.join(_parameters(member))})`: {said}"


def _annotation(member: griffe.Object | griffe.Alias | None) -> str:
    """Return the type of a field. For an alias of literals, return the literals."""
    annotation = member.annotation if isinstance(member, griffe.Attribute) else None
    if isinstance(annotation, griffe.Expr):
        words = "".join(_spelt(piece) for piece in annotation.iterate())
        return f"`{words}`"
    return f"`{annotation}`" if annotation else ""


def _spelt(piece: str | griffe.Expr) -> str:
    if _own(piece):
        named = _object(piece.canonical_path)
        value = str(named.value) if isinstance(named, griffe.Attribute) else ""
        return value if value.startswith("Literal[") and len(value) < _LONG else piece.name
    return str(piece)


def _docstring(item: griffe.Object) -> Iterator[str]:
    """Yield the sections of a docstring without the attributes."""
    for section in item.docstring.parsed if item.docstring else ():
        if section.kind is griffe.DocstringSectionKind.text:
            yield prose(section.value)
        elif section.kind is griffe.DocstringSectionKind.parameters:
            rows = [(f"`{e.name}`", _one_line(e.description)) for e in section.value]
            yield table(("argument", "meaning"), rows)
        elif section.kind is griffe.DocstringSectionKind.returns:
            yield f"Returns: {' '.join(_one_line(entry.description) for entry in section.value)}"
        elif section.kind is griffe.DocstringSectionKind.raises:
            rows = [(f"`{str(e.annotation).strip('()')}`", _one_line(e.description)) for e in section.value]
            yield table(("raises", "reason"), rows)


def _facts() -> str:
    parts = [
        "# Facts",
        "Rules match facts. `trtlint facts model.onnx --kind attention` shows the facts of the kind "
        "`attention` in a model. A rule names a kind of facts in `find`, and reads the fields of these facts "
        "in `where` ([rule files](rule-files.md)).",
    ]
    grounds = {kind: ground_of(kind) for kind in kinds()}
    for ground in (each for each in get_args(Ground) if each in grounds.values()):
        parts.append(f"## {_GROUNDS.get(ground, f'Of {ground}')}")
        for kind in (kind for kind, own in grounds.items() if own == ground):
            described = fact_class(kind)
            class_ = _object(f"{described.__module__}.{described.__name__}")
            assert isinstance(class_, griffe.Class)
            _, *rest = _class(class_, "###")
            parts += [f"### {kind}", *rest]
    return "\n\n".join(parts) + "\n"


def _exit_codes() -> str:
    class_ = _object("trtlint.runs.exits.Exit")
    rows = []
    for code in Exit:
        docstring = class_.members[code.name].docstring
        rows.append((f"`{code.value}`", _one_line(docstring.value) if docstring else ""))
    head = (
        "If several codes below 5 apply to a run, trtlint returns the highest of these codes. So a file that "
        "cannot be read does not hide a bug."
    )
    return f"# Exit codes\n\n{head}\n\n{table(('code', 'meaning'), rows)}\n"
