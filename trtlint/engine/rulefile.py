"""Rule files: one Markdown file for each rule, with front matter that is validated on load.

A mistake in a rule file gives an error with file and line.  Without such an error, nobody would notice that
the rule has no findings.
Examples of mistakes are an unknown key, an unknown field of a fact, and an unknown role of a pattern.
``trtlint test`` checks the expressions of the built-in rules, so a run does not check them again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from trtlint.buildfiles.patterns import pattern_names
from trtlint.engine.evidence.conditions import read_conditions
from trtlint.engine.finding import SEVERITIES, Severity
from trtlint.engine.frontmatter import FrontMatterError, Item, bounded, split
from trtlint.engine.rule import (
    EVIDENCE,
    LARGEST,
    LOG_MESSAGE,
    PATTERN,
    Advice,
    Also,
    Concern,
    Rule,
    RuleError,
    Safety,
    Status,
    UnfixableReason,
)
from trtlint.engine.scope import predicts_refusal, scope_of_kind, scope_of_pattern
from trtlint.facts import kinds as facts
from trtlint.files.limits import LimitError, limit_work
from trtlint.files.regular import read_bytes
from trtlint.knowledge.releases import PRODUCTS, Product
from trtlint.language.expression import Expression, ExpressionError, Scope, compile_expression
from trtlint.language.pattern import Pattern, PatternError
from trtlint.language.template import Template

_ID = re.compile(r"[A-Z]{2,5}[0-9]{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RELEASE = re.compile(r"[0-9]+(\.[0-9]+){1,2}")
_URL = re.compile(r"https://[^\s/]+\.[^\s/.]+(/\S*)?")

_KEYS = (
    *("id", "name", "summary", "severity", "since", "evidence", "applies", "find", "match", "where", "mark"),
    *("severity_when", "message", "advice", "references", "concerns", "verdict"),
    *("yields", "status", "unfixable", "default", "also"),
)
_REQUIRED = ("id", "name", "severity", "since", "evidence", "find", "message", "advice", "references")


def load_rule(path: Path) -> Rule:
    """Load and check one rule file.

    Raises:
        RuleError: the file cannot be read or is wrong.
    """
    try:
        with limit_work(path):
            return parse_rule(path, read_rule(path), checked=True)
    except LimitError as error:
        raise RuleError(path, 1, error.message) from None


def read_rule(path: Path) -> str:
    """Return the text of a rule file.

    Raises:
        RuleError: the file cannot be read.
    """
    try:
        data = read_bytes(path, LARGEST)
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise RuleError(path, 1, error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError(
            path, line, f"the file is not UTF-8: the byte at offset {error.start} is invalid"
        ) from None


def parse_rule(path: Path, text: str, *, checked: bool) -> Rule:
    """Parse the text of a rule file.

    Args:
        path: the file.
        text: its content.
        checked: whether to compile expressions at once and check their names.

    Raises:
        RuleError: the text is not a valid rule.
    """
    try:
        front, body, body_line = split(text)
        return _FrontMatterReader(path, front, checked).rule(body, body_line)
    except FrontMatterError as error:
        raise RuleError(path, error.line, error.message) from None


class _FrontMatterReader:
    """Reads the front matter of one file.  Every method raises FrontMatterError with the line."""

    def __init__(self, path: Path, front: Item, checked: bool) -> None:
        self.path = path
        self.checked = checked
        self.front = front.mapping("front matter", _KEYS)
        for key in _REQUIRED:
            if key not in self.front:
                raise FrontMatterError(f"the key {key!r} is missing", front.line)
        self.scope: Scope | None = None

    def rule(self, body: str, body_line: int) -> Rule:
        """Read the whole rule.  ``body`` is the text after the front matter."""
        front = self.front
        id_ = _matching(front["id"], "id", _ID, "two to five capitals and three digits")
        name = _matching(front["name"], "name", _NAME, "words in lower case joined with '-'")
        if self.path.name != f"{id_}-{name}.md":
            raise FrontMatterError(f"the file must be called {id_}-{name}.md", front["id"].line)
        find, pattern = self._find()
        where, concerns, status = front.get("where"), front.get("concerns"), front.get("status")
        advice = tuple(self._advice(item) for item in front["advice"].items("advice"))
        own = (url for entry in advice for url in entry.see)
        return Rule(
            id=id_,
            name=name,
            severity=front["severity"].choice("severity", SEVERITIES),
            since=_matching(front["since"], "since", _RELEASE, "a release number"),
            evidence=front["evidence"].choice("evidence", EVIDENCE),
            applies=self._applies(),
            find=find,
            pattern=pattern,
            where=None if where is None else self._condition(where, "where"),
            mark=self._mark(find, pattern),
            severity_when=self._severity_when(),
            message=self._template(front["message"], "message"),
            advice=advice,
            references=tuple(dict.fromkeys([*_urls(self.front["references"], "references"), *own])),
            concerns="graph" if concerns is None else concerns.choice("concerns", get_args(Concern)),
            verdict=read_conditions(
                self.front.get("verdict"),
                self._condition,
                self._template,
                pattern_names() if self.checked else None,
                refusal=self.checked and predicts_refusal(find),
            ),
            yields=frozenset(
                _matching(each, "yields", _ID, "the ids of rules") for each in self._items("yields")
            ),
            path=self.path,
            body=body,
            body_line=body_line,
            status="stable" if status is None else status.choice("status", get_args(Status)),
            summary=self._summary(),
            unfixable=self._unfixable(),
            default=self._default(find),
            also=self._also(find),
        )

    def _default(self, find: str) -> bool:
        """Read ``default: true``, which only rules about log lines may have.

        Such a rule reports lines that no other rule explains.
        """
        found = _is_true(self.front, "default")
        if found and find != LOG_MESSAGE:
            reason = f"'default' is only allowed together with 'find: {LOG_MESSAGE}'"
            raise FrontMatterError(reason, self.front["default"].line)
        return found

    def _also(self, find: str) -> Also:
        """Read ``also``. A rule with the value ``torch-tensorrt`` also runs on Torch-TensorRT networks."""
        item = self.front.get("also")
        if item is None:
            return ""
        item.choice("also", ("torch-tensorrt",))
        if find not in facts.NETWORK_KINDS:
            raise FrontMatterError(
                f"'also: torch-tensorrt' needs 'find' with one of {', '.join(sorted(facts.NETWORK_KINDS))}",
                item.line,
            )
        return "torch-tensorrt"

    def _summary(self) -> str:
        """Read the summary, one line of plain text.  It may be empty, except in built-in rules."""
        item = self.front.get("summary")
        if item is None:
            return ""
        return bounded(" ".join(item.text("summary").split()), "summary", item.line)

    def _items(self, key: str) -> list[Item]:
        """Return the items of a list in the front matter. Without the key, the result is empty."""
        return self.front[key].items(key) if key in self.front else []

    def _find(self) -> tuple[str, Pattern | None]:
        """Read the kind of fact or the pattern that the rule is about.

        Set the names that the expressions of the rule can use.
        """
        known = (*facts.kinds(), PATTERN)
        find = self.front["find"].choice("find", known)
        match = self.front.get("match")
        if find == PATTERN:
            if match is None:
                raise FrontMatterError("'find: pattern' needs 'match'", self.front["find"].line)
            try:
                pattern = Pattern.compile(match.text("match"))
            except PatternError as error:
                raise FrontMatterError(f"match: {error.message}", match.line + error.line - 1) from None
            self.scope = scope_of_pattern(pattern) if self.checked else None
            return find, pattern
        if match is not None:
            raise FrontMatterError("'match' is only allowed together with 'find: pattern'", match.line)
        self.scope = self._scope_of(find)
        return find, None

    def _scope_of(self, kind: str) -> Scope | None:
        return scope_of_kind(kind) if self.checked else None

    def _condition(self, item: Item, what: str, kind: str = "") -> Expression:
        """Compile a condition on facts of the kind ``kind``.  The default is the kind of the rule."""
        scope = self._scope_of(kind) if kind else self.scope
        text = item.text(what).strip()
        try:
            return Expression(text) if scope is None else compile_expression(text, scope, condition=True)
        except ExpressionError as error:
            raise FrontMatterError(f"{what}: {error.message}, column {error.column}", item.line) from None

    def _template(self, item: Item, what: str, kind: str = "") -> Template:
        """Compile a text with placeholders such as ``{name}`` for the fields of a fact.

        The fact is of the kind ``kind``.  The default is the kind of the rule.
        """
        scope = self._scope_of(kind) if kind else self.scope
        try:
            return Template(" ".join(item.text(what).split()), scope)
        except ExpressionError as error:
            raise FrontMatterError(f"{what}: {error.message}, column {error.column}", item.line) from None

    def _applies(self) -> Mapping[Product, str]:
        item = self.front.get("applies")
        if item is None:
            return dict.fromkeys(PRODUCTS, "")
        ranges = _ranges(item.mapping("applies", PRODUCTS))
        if not ranges:
            raise FrontMatterError(
                "'applies' is empty; add the key tensorrt or tensorrt-rtx, or remove 'applies'", item.line
            )
        return ranges

    def _mark(self, find: str, pattern: Pattern | None) -> Mapping[str, Template | None]:
        item = self.front.get("mark")
        if item is None:
            return {}
        roles = self._roles(find, pattern)
        if isinstance(item.value, dict):
            labels = item.mapping("mark", roles)
            return {
                role: self._template(label, f"mark {role}") if label.value != "" else None
                for role, label in labels.items()
            }
        listed = item.items("mark")
        return {role.word("mark") if roles is None else role.choice("mark", roles): None for role in listed}

    def _roles(self, find: str, pattern: Pattern | None) -> tuple[str, ...] | None:
        """Return the roles that the key ``mark`` may name, or None if this object does not check names."""
        if not self.checked:
            return None
        return pattern.outputs if pattern is not None else tuple(facts.fact_class(find).roles)

    def _severity_when(self) -> tuple[tuple[Expression, Severity], ...]:
        keys, found = ("where", "severity"), []
        for item in self._items("severity_when"):
            fields = item.mapping("severity_when", keys, required=keys)
            severity = fields["severity"]
            found.append((self._condition(fields["where"], "where"), severity.choice("severity", SEVERITIES)))
        return tuple(found)

    def _advice(self, item: Item) -> Advice:
        keys = (*PRODUCTS, "where", "do", "fix", "safety", "folds", "default", "see")
        fields = item.mapping("advice", keys, required=("do",))
        where, fix, safety = fields.get("where"), fields.get("fix"), fields.get("safety")
        for key in ("safety", "folds"):
            if key in fields and fix is None:
                raise FrontMatterError(f"advice: {key!r} requires 'fix'", fields[key].line)
        return Advice(
            applies=_ranges(fields),
            where=None if where is None else self._condition(where, "advice where"),
            do=self._template(fields["do"], "advice do"),
            fix=None if fix is None else _matching(fix, "fix", _NAME, "words joined with '-'"),
            safety="safe" if safety is None else safety.choice("safety", get_args(Safety)),
            folds=_is_true(fields, "folds"),
            default=_is_true(fields, "default"),
            see=() if "see" not in fields else _urls(fields["see"], "see"),
        )

    def _unfixable(self) -> tuple[UnfixableReason, ...]:
        found = []
        for item in self._items("unfixable"):
            fields = item.mapping("unfixable", ("where", "because"), required=("because",))
            where = fields.get("where")
            condition = None if where is None else self._condition(where, "unfixable where")
            found.append(UnfixableReason(condition, " ".join(fields["because"].text("because").split())))
        return tuple(found)


def _urls(item: Item, key: str) -> tuple[str, ...]:
    return tuple(_matching(each, "reference", _URL, "a https URL") for each in item.items(key))


def _ranges(fields: Mapping[str, Item]) -> Mapping[Product, str]:
    """Return the version specifier of each product.  ``*`` and an empty value mean all versions."""
    ranges: dict[Product, str] = {}
    for product in PRODUCTS:
        item = fields.get(product)
        if item is None:
            continue
        if not isinstance(item.value, str):
            raise FrontMatterError(f"{product} must be a version specifier such as '>=10.7,<10.8'", item.line)
        text = bounded(item.value.strip(), product, item.line)
        ranges[product] = "" if text == "*" else text
        try:
            SpecifierSet(ranges[product])
        except InvalidSpecifier:
            raise FrontMatterError(
                f"{product}: {text!r} is not a PEP 440 version specifier", item.line
            ) from None
    return ranges


def _is_true(fields: Mapping[str, Item], key: str) -> bool:
    """Return whether a rule or an advice has the key with the value ``true``."""
    return key in fields and fields[key].is_true(key)


def _matching(item: Item, what: str, pattern: re.Pattern[str], words: str) -> str:
    text = item.word(what)
    if not pattern.fullmatch(text):
        raise FrontMatterError(f"{what}: {text!r} is not {words}", item.line)
    return text
