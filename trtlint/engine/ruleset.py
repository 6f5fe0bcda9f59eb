"""A set of selected rules that another process can load again by name."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from trtlint.engine.rule import LARGEST, Rule
from trtlint.engine.rulebook import RuleEntry, builtin_rules, looking_at, with_builtin
from trtlint.errors import TrtlintError
from trtlint.facts.kinds import Ground
from trtlint.files.regular import read_bytes


class OtherRulesError(TrtlintError):
    """Error: the rule files of a worker process differ from the rule files at the start of the run."""


class RuleSet:
    """The rules that the user selected.

    Pickling stores only the paths and ids of the rules. So every process loads the rules from their files.
    Objects are compared by identity, so two objects with the same rules are not equal.

    Args:
        entries: the rules.
    """

    def __init__(self, entries: Iterable[RuleEntry] = ()) -> None:
        self._entries: tuple[RuleEntry, ...] | None = tuple(entries)
        self._named: tuple[tuple[str, ...], tuple[str, ...], str] | None = None
        self._looking: dict[frozenset[Ground], RuleSet] = {}

    @classmethod
    def of(cls, rules: Iterable[Rule | RuleEntry]) -> RuleSet:
        """Return a set of the given rules."""
        return cls(RuleEntry.of(rule) if isinstance(rule, Rule) else rule for rule in rules)

    def __iter__(self) -> Iterator[RuleEntry]:
        return iter(self.entries)

    @property
    def entries(self) -> tuple[RuleEntry, ...]:
        """The rules.

        Raises:
            OtherRulesError: the rule files have changed, or differ on this machine.
            RuleError: a rule file is missing or wrong.
        """
        if self._entries is None:
            assert self._named is not None
            self._entries = _found_again(*self._named)
        return self._entries

    @property
    def digest(self) -> str:
        """Hash of the rule files."""
        return self._names[2]

    def stamp(self) -> RuleSet:
        """Store, in this rule set, the hash of the current rule files. Return this rule set.

        A worker process computes the hash of its own rule files, and raises an error if the hashes differ.
        """
        self._named = self._names
        return self

    def looking_at(self, grounds: frozenset[Ground]) -> RuleSet:
        """Return the rules for which the data, such as a model or a build, are available."""
        if grounds not in self._looking:
            self._looking[grounds] = RuleSet(looking_at(grounds, self.entries))
        return self._looking[grounds]

    @property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        """Return the paths of the user's rule files, the ids of all rules, and the hash of all rule files."""
        if self._named is None:
            home = builtin_rules()
            own = [entry.path for entry in self.entries if home not in entry.path.parents]
            files = tuple(dict.fromkeys(os.path.abspath(path) for path in own))  # noqa: PTH100
            self._named = files, tuple(entry.id for entry in self.entries), _digest(self.entries)
        return self._named

    def __getstate__(self) -> tuple[tuple[str, ...], tuple[str, ...], str]:
        return self._names

    def __setstate__(self, names: tuple[tuple[str, ...], tuple[str, ...], str]) -> None:
        self._entries, self._named, self._looking = None, names, {}


@cache
def _found_again(files: tuple[str, ...], ids: tuple[str, ...], digest: str) -> tuple[RuleEntry, ...]:
    """Load the rules with these ids from built-in rules and the user's files.

    Raises:
        OtherRulesError: the hash of the rule files on this machine is not ``digest``.
    """
    try:
        book = with_builtin(map(Path, files))
    except ValueError as error:
        raise OtherRulesError(f"the rule files changed: {error}") from None
    wanted = frozenset(ids)
    chosen = tuple(entry for entry in book.entries if entry.id in wanted)
    if _digest(chosen) != digest:
        raise OtherRulesError(
            "the rule files changed during the run, or the worker's machine has different rule files"
        )
    return chosen


def _digest(rules: Iterable[RuleEntry]) -> str:
    known = [[rule.id, _hashed(read_bytes(rule.path, LARGEST))] for rule in rules]
    return _hashed(json.dumps(known).encode())


def _hashed(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=20).hexdigest()
