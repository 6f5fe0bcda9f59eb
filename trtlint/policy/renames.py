"""Match baseline entries to a model that was renamed or moved.

An entry names its model by path. If no file exists at this path, another model can get the entries. This
other model must have the same findings, and no entries of its own. A rename does not change fingerprints. So,
for each rule in the entries, the fingerprints of the entries and of the findings must be equal. Otherwise,
the entries could hide findings of a different model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set

from trtlint.policy.entries import KnownSite

_CANDIDATES = 100
"""Largest number of deleted models with the same fingerprint to compare with one existing model."""
Key = tuple[str, str]
"""Rule and fingerprint of a site."""


class Renames:
    """The models of a baseline whose files no longer exist.

    The entries of each deleted model can be given to one other model.

    Args:
        entries: the entries of each model.
        exists: function that returns whether the file of a model exists.
    """

    def __init__(self, entries: Mapping[str, Sequence[KnownSite]], exists: Callable[[str], bool]) -> None:
        self._gone: dict[str, Sequence[KnownSite]] = {
            model: listed for model, listed in sorted(entries.items()) if listed and not exists(model)
        }
        self._of: dict[Key, list[str]] = {}
        for model, listed in self._gone.items():
            for entry in listed:
                self._of.setdefault((entry.rule, entry.fingerprint), []).append(model)

    def take(self, found: Set[Key], possible: Set[Key], ran: Collection[str]) -> str | None:
        """Return the former path of a renamed model, or None if no deleted model has the same findings.

        Each path is returned only once.

        Args:
            found: the sites of the findings of the model.
            possible: the sites in ``found``, the sites of suppressed findings, and the sites of findings that
                depend on unset options.
            ran: ids of the rules that ran. Only the entries of these rules are compared.
        """
        listed = (model for key in sorted(possible) for model in self._of.get(key, ())[:_CANDIDATES])
        for model in dict.fromkeys(listed):
            if model in self._gone and _same(self._gone[model], found, possible, ran):
                del self._gone[model]
                return model
        return None


def _same(entries: Iterable[KnownSite], found: Set[Key], possible: Set[Key], ran: Collection[str]) -> bool:
    """Return whether the entries of a deleted model match the findings of another model."""
    keys = {(entry.rule, entry.fingerprint) for entry in entries if entry.rule in ran}
    rules = {rule for rule, _ in keys}
    return bool(keys) and keys <= possible and {key for key in found if key[0] in rules} <= keys
