"""Accept a finding, with a reason, in the metadata of a copy of a model."""

from __future__ import annotations

import filecmp
import json
import os
import re
import shutil
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import Struct

from trtlint.engine.finding import SUPPRESS_KEY
from trtlint.engine.rulebook import Rulebook
from trtlint.errors import SettingError
from trtlint.files.beside import real_file
from trtlint.files.globs import matches_name
from trtlint.files.regular import open_regular
from trtlint.files.replace import replacing, require_output
from trtlint.knowledge.nearest import did_you_mean
from trtlint.model.load import Model, load
from trtlint.model.metadata import copy_with
from trtlint.model.origin import origin
from trtlint.model.writer import data_files_of
from trtlint.policy import schema, suppression
from trtlint.policy.selection import require

_CHUNK = 1 << 20
"""Number of bytes of weights to copy at once."""
_PART = r"[^.\\/:\0][^\\/:\0]*"
_WEIGHTS = re.compile(rf"(?:{_PART}/)*{_PART}(?:[._](?:data|weights?)|\.(?:bin|dat|pb|raw))")
"""Pattern of the names of weight files.

Files with other names are not copied, because the user's tools may run a copied file.
"""


class SuppressOptions(Struct, frozen=True):
    """The finding to accept, and the files.

    Attributes:
        model: the model.
        rule: id, id prefix, name or group of the rules.
        reason: the reason why the findings are accepted.
        output: the copy to write.
        node: glob of the nodes; None for all nodes.
        module: glob of the modules; None for all modules.
        expires: the last day of the suppression, such as ``2027-03-31``; None if it never expires.
        rules: files and folders with additional rules.
    """

    model: str
    rule: str
    reason: str
    output: str
    node: str | None = None
    module: str | None = None
    expires: str | None = None
    rules: tuple[str, ...] = ()


def suppress(options: SuppressOptions, book: Rulebook) -> str:
    """Write a copy of the model with the suppression.  Return the suppression in words.

    ``book`` has all rules.

    Raises:
        SchemaError: an option is wrong.  The key of the error is the name of the option.
        SettingError: the rule is unknown, or the copy cannot be written.
        ModelError: the model cannot be read.
    """
    require(options.rule, book.entries)
    entry = _entry(options)
    path, out = Path(options.model), Path(options.output)
    require_output(out, [path], "the copy to")
    model = load(path)
    _require_places(model, options)
    names = data_files_of(path)
    require_output(out, (path.parent / name for name in names), "the copy to")
    _copy_external(path, names, out.parent)
    copy_with(path, out, SUPPRESS_KEY, lambda old: _joined(old, entry))
    return suppression.Acceptance.of(entry, "model", str(out)).words


def _entry(options: SuppressOptions) -> dict[str, Any]:
    given = {
        "rule": options.rule,
        "node": options.node,
        "module": options.module,
        "reason": " ".join(options.reason.split()),
        "expires": options.expires,
    }
    entry = {key: value for key, value in given.items() if value is not None}
    schema.check(entry, "suppression")
    if options.expires is not None and date.fromisoformat(options.expires) < date.today():
        raise schema.SchemaError(
            "expires", f"{options.expires} is in the past; the suppression would have no effect"
        )
    return entry


def _joined(old: str, entry: dict[str, Any]) -> str:
    """Add an entry to the old entries in the metadata of a model. Return the new metadata value."""
    try:
        entries = suppression.tables(old) if old else []
    except ValueError as error:
        raise SettingError(f"cannot add the suppression to the metadata {SUPPRESS_KEY}: {error}") from None
    return json.dumps(entries if entry in entries else [*entries, entry])


def _require_places(model: Model, options: SuppressOptions) -> None:
    """Raise an error if a glob in the options matches no node or module of the model."""
    nodes = model.graph.nodes
    if options.node is not None and not any(matches_name(options.node, node.path) for node in nodes):
        near = did_you_mean(options.node, (node.path for node in nodes))
        raise schema.SchemaError("node", f"{options.node!r} matches no node{near}")
    if options.module is not None:
        modules = {module for node in nodes if (module := origin(model, node).module)}
        if not any(matches_name(options.module, module) for module in modules):
            near = did_you_mean(options.module, sorted(modules))
            raise schema.SchemaError("module", f"{options.module!r} matches no module{near}")


def _copy_external(model: Path, names: Iterable[str], folder: Path) -> None:
    home = model.parent
    if home.resolve() == folder.resolve():
        return
    for location in names:
        source = target = None
        if _WEIGHTS.fullmatch(location):
            source = real_file(home, location, model)
            target = real_file(folder, location, folder / model.name)
        if source is None or target is None:
            raise SettingError(
                f"the external weights {location!r} cannot be copied to another folder; "
                f"write the copy to {home}"
            )
        if not source.exists():
            continue
        if os.path.lexists(folder / location):
            if not filecmp.cmp(source, target, shallow=False):
                raise SettingError(
                    f"{folder / location} exists, but is not the weights file of this model; write the copy "
                    "to another folder"
                )
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with open_regular(source) as data, replacing(target) as copy:
            shutil.copyfileobj(data, copy, _CHUNK)
