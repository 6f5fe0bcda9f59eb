"""Baselines: known findings of a team, so that only new findings count.

An entry is one site of one rule in one model. The fingerprint of an entry does not change if the model is
exported again. The entry also contains the module path and the name of the node, for readers and for
rewritten models. After a rewrite, the fingerprint can differ. trtlint then compares the rule and the module,
or the rule and the node if the module is unknown.

The file is JSON with one sorted entry per line, so that diffs show the added and removed sites. Paths of
models are relative to the folder of the file.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from pathlib import Path

from msgspec import ValidationError, convert
from msgspec.structs import replace

from trtlint.engine.finding import Finding, ModelReport, Site, Suppression
from trtlint.errors import FileError, SettingError
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.regular import open_regular, read_bytes
from trtlint.files.replace import replace_text, require_output
from trtlint.knowledge.redirects import current
from trtlint.policy.config import relative, shown
from trtlint.policy.entries import KnownSite, Sites, gone_entries, pair, relabelled, sites_of

SCHEMA = "trtlint.baseline/1"
_MOST_BYTES = 64 << 20
"""Largest baseline in bytes, about 400,000 sites.

In memory, a real baseline takes four times its size. JSON that is not a baseline can take 25 times its size.
"""

_HEAD = 512
"""Number of bytes of an existing file that are checked before a baseline replaces the file."""
_CANDIDATES = 100
"""Largest number of deleted models with the same fingerprint to compare with one existing model."""
Key = tuple[str, str]
"""Rule and fingerprint of a site."""


class BaselineError(FileError):
    """Error: a baseline file is wrong.  The message begins with the path of the file."""


class Baseline:
    """The entries of one baseline file, and the sites that match the entries in a run.

    Args:
        file: the file.  Paths of models are relative to its folder.
        entries: the entries of the file.
    """

    def __init__(self, file: Path, entries: Iterable[KnownSite] = ()) -> None:
        self.file = file
        self._entries: dict[str, list[KnownSite]] = defaultdict(list)
        self._written: set[str] = set()
        for entry in entries:
            self._written.add(entry.rule)
            self._entries[entry.model].append(replace(entry, rule=current(entry.rule)))
        self._known = Suppression("baseline", shown(file))
        self._kept: dict[str, list[KnownSite]] = {}
        self._renames: Renames | None = None
        self._moved = False

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Read a baseline file.

        Raises:
            BaselineError: the file is missing, or is not a baseline.
        """
        try:
            with limit_work(file):
                return cls._parsed(file)
        except LimitError as error:
            raise BaselineError(f"{shown(file)}: not a baseline: {error.message}") from None

    @classmethod
    def _parsed(cls, file: Path) -> Baseline:
        try:
            document = json.loads(read_bytes(file, _MOST_BYTES).decode("utf-8"))
        except FileNotFoundError:
            raise BaselineError(
                f"{shown(file)}: no such baseline; create it with --write-baseline {shown(file)}"
            ) from None
        except OSError as error:
            raise BaselineError(f"{shown(file)}: {error.strerror or error}") from None
        except (ValueError, RecursionError) as error:
            raise BaselineError(f"{shown(file)}: not a baseline: {error}") from None
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise BaselineError(f"{shown(file)}: not a baseline: its schema is not {SCHEMA!r}")
        tables = document.get("entries")
        if not isinstance(tables, list):
            raise BaselineError(f"{shown(file)}: not a baseline: the list of entries is missing")
        return cls(file, [_entry(file, number, table) for number, table in enumerate(tables)])

    @property
    def rules(self) -> list[str]:
        """Return the rule ids of the entries, as written in the file."""
        return sorted(self._written)

    @property
    def models(self) -> list[str]:
        """Return the paths of the models that have entries, relative to the folder of the baseline file."""
        return sorted(self._entries)

    @property
    def missing(self) -> list[str]:
        """Return the paths in :attr:`models` whose files do not exist."""
        return [model for model in self.models if not self._exists(model)]

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    def key(self, model: Path) -> str:
        """Return the path of a model in the form that the baseline file uses."""
        return relative(model, self.file.parent)

    def apply(
        self, model: Path, reports: Sequence[ModelReport], ran: frozenset[str], known: frozenset[str]
    ) -> tuple[ModelReport, ...]:
        """Remove known findings from the reports of a model, and report entries that match no finding.

        Args:
            model: the file of the model.
            reports: the reports of the model, one for each target.  An entry applies to all targets.
            ran: ids of the rules that ran. An entry can be stale only if its rule ran, or if the rule was
                removed.
            known: ids of all rules.
        """
        if any(report.errors or report.skipped for report in reports):
            return tuple(reports)
        sites = sites_of(reports, conditional=True)
        former = self._former(self.key(model), reports, sites, ran)
        if former is not None:
            note = f"renamed from {former}; --update-baseline records the new path in the baseline"
            reports = [replace(report, notes=(*report.notes, note)) for report in reports]
        entries = self._entries.get(self.key(model), [])
        found = pair(entries, sites)
        lost = [
            entry
            for entry in entries
            if entry not in found and (entry.rule in ran or entry.rule not in known)
        ]
        dropped = set(lost)
        self._kept[self.key(model)] = [
            relabelled(entry, sites.get(found[entry])) if entry in found else entry
            for entry in entries
            if entry not in dropped
        ]
        gone = gone_entries(lost, entries, sites)
        return tuple(replace(self._split(report, frozenset(found.values())), gone=gone) for report in reports)

    def _former(
        self, key: str, reports: Sequence[ModelReport], sites: Sites, ran: frozenset[str]
    ) -> str | None:
        """Move the entries of a renamed model to ``key``. Return the old path, or None."""
        if self._entries.get(key) or not sites:
            return None
        if self._renames is None:
            self._renames = Renames(self._entries, self._exists)
        former = self._renames.take(sites_of(reports, conditional=False).keys(), sites.keys(), ran)
        if former is not None:
            self._entries[key] = [replace(entry, model=key) for entry in self._entries.pop(former)]
            self._moved = True
        return former

    def record(self, model: Path, reports: Sequence[ModelReport]) -> tuple[ModelReport, ...]:
        """Add all findings about a model to the baseline, except suppressed findings.

        A model that was not read adds nothing. :meth:`keep_unseen` keeps its former entries.
        """
        if any(report.errors or report.skipped for report in reports):
            return tuple(reports)
        key = self.key(model)
        sites = sites_of(reports, conditional=False)
        self._entries[key] = [
            KnownSite(key, rule, fingerprint, site.node, site.module)
            for (rule, fingerprint), site in sites.items()
        ]
        return tuple(self._split(report, frozenset(sites)) for report in reports)

    def keep_unseen(self) -> int:
        """Add the entries of the existing file for the models that this run did not record.

        Returns:
            Number of added entries.

        Raises:
            BaselineError: the existing file is not a baseline.
        """
        if not os.path.lexists(self.file):
            return 0
        former, size = Baseline.read(self.file), len(self)
        for model, entries in former._entries.items():
            self._entries.setdefault(model, entries)
        return len(self) - size

    def write(self, protected: Iterable[Path] = ()) -> None:
        """Write the baseline file.

        Args:
            protected: files that must not be overwritten.

        Raises:
            OSError: the file cannot be written.
            BaselineError: the baseline exceeds the size limit.
        """
        entries = sorted(
            (entry for entries in self._entries.values() for entry in entries),
            key=lambda entry: (entry.model, entry.rule, entry.fingerprint),
        )
        lines = ",\n".join(f"    {entry.line}" for entry in entries)
        body = f"[\n{lines}\n  ]" if lines else "[]"
        text = f'{{\n  "schema": {json.dumps(SCHEMA)},\n  "entries": {body}\n}}\n'
        if len(text) > _MOST_BYTES:  # all of it is ASCII
            raise BaselineError(
                f"{shown(self.file)}: a baseline with {len(entries):,} entries would exceed the limit of "
                f"{_MOST_BYTES >> 20} MiB; write one baseline for each folder of models"
            )
        replace_text(self.file, text, protected)

    def shrink(self, protected: Iterable[Path] = (), *, whole: bool = True) -> int:
        """Remove entries that match no finding, and entries of deleted models.

        The remaining entries get their current modules and nodes, but keep their fingerprints. No entry is
        added. The file is written if the content changed.

        Args:
            protected: files that must not be replaced.
            whole: whether the run read all its files. If false, the entries of deleted models are kept. The
                reason why the run is incomplete may also be the reason why a model file is missing.

        Returns:
            Number of removed entries.

        Raises:
            OSError: the file cannot be written.
        """
        before, size = dict(self._entries), len(self)
        for model in before:
            if self._exists(model) or not whole:
                self._entries[model] = self._kept.get(model, before[model])
            else:
                del self._entries[model]
        if self._entries != before or self._moved:
            self.write(protected)
        return size - len(self)

    def notes(self) -> tuple[str, ...]:
        """Return a note about each model that has entries, but whose file no longer exists."""
        return tuple(
            f"{shown(self.file)}: {model} no longer exists; --update-baseline removes the entries of "
            "this model"
            for model in self.missing
        )

    def _exists(self, model: str) -> bool:
        return os.path.exists(self.file.parent / model)  # noqa: PTH110

    def _split(self, report: ModelReport, known: frozenset[tuple[str, str]]) -> ModelReport:
        new: list[Finding] = []
        old: list[Finding] = []
        for finding in report.findings:
            parts: tuple[list[Site], list[Site]] = [], []
            for site in finding.sites:
                parts[(finding.rule, site.fingerprint) in known].append(site)
            if parts[0]:
                new.append(finding if not parts[1] else replace(finding, sites=tuple(parts[0])))
            if parts[1]:
                old.append(replace(finding, sites=tuple(parts[1]), suppression=self._known))
        return replace(report, findings=tuple(new), suppressed=report.suppressed + tuple(old))


def require_baseline_path(file: Path, protected: Iterable[Path] = ()) -> None:
    """Check that trtlint may write a baseline to a path.

    A damaged baseline, or a baseline with merge conflicts, may be overwritten.  A file with other content
    must not be overwritten, because the user may have given a model to ``--write-baseline`` by mistake.

    Args:
        file: the path of the new baseline.
        protected: the files that the run reads.

    Raises:
        SettingError: the file is not a baseline, is read in this run, or cannot be read or replaced.
    """
    require_output(file, protected, "the baseline to")
    try:
        with open_regular(file) as there:
            head = there.read(_HEAD).strip()
    except FileNotFoundError:
        return
    except OSError as error:
        raise SettingError(f"cannot write the baseline to {file}: {error.strerror}") from None
    if head and not head.startswith((b"{", b"<<<<<<<")):
        raise SettingError(f"cannot write the baseline to {file}: the existing file is not a baseline")


def _entry(file: Path, number: int, table: object) -> KnownSite:
    try:
        return convert(table, KnownSite)
    except (ValidationError, UnicodeEncodeError):  # msgspec cannot show a lone surrogate in its error
        raise BaselineError(
            f"{shown(file)}: not a baseline: in entry {number}, the values of 'model', 'rule', 'fingerprint' "
            "and 'node' must be strings, and the value of 'module' must be a string or null"
        ) from None


class Renames:
    """The models of a baseline whose files no longer exist.

    An entry names its model by path. If no file exists at this path, another model can get the entries. This
    other model must have the same findings, and no entries of its own. A rename does not change fingerprints.
    So, for each rule in the entries, the fingerprints of the entries and of the findings must be equal.
    Otherwise, the entries could hide findings of a different model.

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
