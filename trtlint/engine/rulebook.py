"""Find rules by id or name, in folders of rule files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import cast

from msgspec import Struct

from trtlint.engine.rule import Also, Rule, RuleError, Status, group_of
from trtlint.errors import SettingError
from trtlint.facts.kinds import Ground, ground_of
from trtlint.knowledge.nearest import did_you_mean
from trtlint.knowledge.redirects import redirects_by_word

_MOST_ENTRIES = 20_000
"""Largest number of files and folders in a folder of rules.

The limit prevents a scan of the whole disk if a configuration names ``/`` as a folder of rules.
"""
_NO_RULE = "readme.md"
_FIND = re.compile(r"^find: (\w+)$", re.MULTILINE)
_STATUS = re.compile(r"^status: (preview|deprecated)$", re.MULTILINE)
_ALSO = re.compile(r"^also: torch-tensorrt$", re.MULTILINE)
"""Pattern of the line that begins with ``also:`` in trtlint's own rule files.

The two patterns above match the lines that begin with ``find:`` and ``status:``.
"""


class RuleEntry(Struct, frozen=True, eq=False):
    """A rule of a rulebook.  The rule file is read only on first use.

    This saves time, because a run without a build needs less than half of all rules.

    Attributes:
        id, name, find, status, path, also: see :class:`Rule`.
        read: function that reads the file and returns the rule.  Further calls return the same object.
    """

    id: str
    name: str
    find: str
    status: Status
    path: Path
    read: Callable[[], Rule]
    also: Also = ""

    @property
    def group(self) -> str:
        """The group of the rule; see :attr:`Rule.group`."""
        return group_of(self.path)

    @classmethod
    def of(cls, rule: Rule) -> RuleEntry:
        """Return an entry for a rule that is already loaded."""
        return cls(rule.id, rule.name, rule.find, rule.status, rule.path, lambda: rule, rule.also)


class Rulebook(Struct, frozen=True):
    """Rules sorted by id; ids and names are unique."""

    entries: tuple[RuleEntry, ...]

    def __iter__(self) -> Iterator[Rule]:
        return (entry.read() for entry in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def rule(self, key: str) -> Rule:
        """Return the rule with this id or name, ignoring case. Former ids and names also work.

        Raises:
            SettingError: there is no such rule.  The message names the nearest rule, or states that the rule
                was removed.
        """
        became = redirects_by_word().get(key.lower())
        for word in (key, became.to if became is not None and became.to is not None else key):
            for entry in self.entries:
                if word.lower() in (entry.id.lower(), entry.name):
                    return entry.read()
        if became is not None and became.to is None:
            raise SettingError(became.words(key))
        known = [word for entry in self.entries for word in (entry.id, entry.name)]
        raise SettingError(f"no rule {key!r}{did_you_mean(key, known)}")


def looking_at(grounds: Iterable[Ground], rules: Iterable[RuleEntry]) -> list[RuleEntry]:
    """Return the rules for which the data, such as a model or a build, are available."""
    there = frozenset(grounds)
    network = "network" in there
    return [rule for rule in rules if ground_of(rule.find) in there or (network and rule.also)]


def builtin_rules() -> Path:
    """Return the folder of the rules that come with trtlint.

    In an installed package, the folder is ``trtlint/rules``. In a checkout, the folder is ``rules``
    beside the package.
    """
    package = Path(__file__).resolve().parent.parent
    installed = package / "rules"
    return installed if installed.is_dir() else package.parent / "rules"


def rule_files(path: Path) -> list[Path]:
    """Return the rule files in a folder and its subfolders, sorted.

    If ``path`` is a file, return only this file.  ``README.md`` is ignored.  Links to folders are not
    followed.

    Raises:
        RuleError: the path does not exist, or has too many files for a folder of rules.
    """
    if os.path.isdir(path):  # noqa: PTH112 - False for a name that is too long
        return _below(path)
    if not os.path.exists(path):  # noqa: PTH110 - False for a name that is too long
        raise RuleError(path, 0, "no such file or folder")
    return [path]


def _below(folder: Path) -> list[Path]:
    found, seen = [], 0
    for parent, folders, files in os.walk(folder):
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES:
            raise RuleError(
                folder,
                1,
                f"this is not a folder of rules: it has more than {_MOST_ENTRIES:,} files and folders",
            )
        found += [Path(parent, name) for name in files if name.endswith(".md") and name.lower() != _NO_RULE]
    return sorted(found)


def load_builtin() -> Rulebook:
    """Return the rules that come with trtlint.  Further calls return the same object.

    Each rule is read and compiled on first use, because a run needs only some rules.  So a run does not check
    all rule files.  The tests of trtlint check them.
    """
    return _builtin(builtin_rules())


def load_rules(paths: Iterable[Path]) -> Rulebook:
    """Load and check all rules of folders or files.

    Raises:
        RuleError: a file is wrong, or two rules have the same id or name.
    """
    return _joined(_checked(paths))


def with_builtin(paths: Iterable[Path]) -> Rulebook:
    """Return the rules that come with trtlint, and the rules in the folders or files ``paths``.

    Only the rules in ``paths`` are checked.

    Raises:
        RuleError: a file is wrong, or two rules have the same id or name.
    """
    return _joined((*load_builtin().entries, *_checked(paths)))


def _checked(paths: Iterable[Path]) -> Iterator[RuleEntry]:
    for file in dict.fromkeys(file for path in paths for file in _named(path)):
        yield RuleEntry.of(_loaded(file))


def _named(path: Path) -> list[Path]:
    """Return the rule files at a path that the user names.

    Raises:
        RuleError: there are none.
    """
    found = rule_files(path)
    if not found:
        raise RuleError(path, 0, "this folder has no rule files (*.md)")
    return found


@cache
def _builtin(folder: Path) -> Rulebook:
    return _joined(map(_unread, rule_files(folder)))


def _unread(path: Path) -> RuleEntry:
    """Return an entry for a built-in rule, from the name of the rule file and a few of its lines."""
    text = path.read_text(encoding="utf-8")
    id_, _, name = path.stem.partition("-")
    front = text[: text.find("\n---", 1)]
    found, status = _FIND.search(front), _STATUS.search(front)
    if found is None:
        return RuleEntry.of(_parsed(path, text))
    also: Also = "" if _ALSO.search(front) is None else "torch-tensorrt"
    given = "stable" if status is None else cast("Status", status[1])
    return RuleEntry(id_, name, found[1], given, path, cache(partial(_parsed, path, text)), also)


# The imports are in functions, because a run with only cached results needs neither onnx nor numpy.


def _loaded(path: Path) -> Rule:
    from trtlint.engine.rulefile import load_rule

    return load_rule(path)


def _parsed(path: Path, text: str) -> Rule:
    from trtlint.engine.rulefile import parse_rule

    return parse_rule(path, text, checked=False)


def _joined(entries: Iterable[RuleEntry]) -> Rulebook:
    taken: dict[str, RuleEntry] = {}
    for entry in entries:
        for word in (entry.id, entry.name):
            other = taken.setdefault(word, entry)
            if other is not entry and other.path.resolve() != entry.path.resolve():
                raise RuleError(entry.path, 1, f"the id or name {word!r} is already used by {other.path}")
    return Rulebook(tuple(sorted({entry.id: entry for entry in taken.values()}.values(), key=lambda e: e.id)))
