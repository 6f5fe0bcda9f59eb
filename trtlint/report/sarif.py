"""Report as SARIF 2.1.0 for code scanning services.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct

from trtlint import __version__
from trtlint.engine.finding import Finding, Site
from trtlint.engine.rule import EVIDENCE, Rule
from trtlint.remote.addresses import is_address
from trtlint.report import manual
from trtlint.report.entries import remarks
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.locations import Overview, Place, Spot
from trtlint.report.ruletext import applies, summary
from trtlint.report.wording import evidence_lines, fix_command, full

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"
"""Name of the base folder for relative paths. The name stands for the repository."""
_PROBLEM_SEVERITY = {"error": "error", "warning": "warning", "note": "recommendation"}
_PLACEHOLDER = re.compile(r"\{(\d+)\}")
_SECONDS = 10
_SCP_LIKE = re.compile(r"(?:[^@/:]+@)?(?P<host>[^@/:]{2,}):(?!//)(?P<path>[^\s?#]+)")
"""Pattern of ``git@host:owner/name.git``. A host name of one letter does not match, because it can be a drive
(``C:``)."""


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    return [json.dumps(to_sarif(run.overview(), [entry.read() for entry in run.style.rules]), indent=2)]


def to_sarif(overview: Overview, rules: Iterable[Rule]) -> dict[str, Any]:
    """Convert the findings to SARIF data: one run, with one result for each location of a finding.

    Args:
        overview: the findings.
        rules: all applied rules.
    """
    listed = sorted(rules, key=lambda rule: rule.id)
    indexes = {rule.id: index for index, rule in enumerate(listed)}
    driver: dict[str, Any] = {
        "name": "trtlint",
        "version": __version__,
        "semanticVersion": __version__,
        **({"informationUri": home} if (home := manual.address()) else {}),
        "rules": [_rule(rule) for rule in listed],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "invocations": [_invocation(overview)],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(spot, indexes) for spot in (*overview.spots, *overview.suppressed)],
    }
    if (state := provenance(overview.root)) is not None:
        details = {"repositoryUri": state.repository, "revisionId": state.revision}
        if state.branch:
            details["branch"] = state.branch
        run["versionControlProvenance"] = [{**details, "mappedTo": {"uriBaseId": _ROOT}}]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": clean(summary(rule))},
        "fullDescription": {"text": f"{clean(summary(rule))} Applies to {clean(applies(rule))}."},
        "helpUri": manual.rule_page(rule.id) or rule.references[0],
        "help": {"text": rule.body.strip(), "markdown": rule.body.strip()},
        "defaultConfiguration": {"level": rule.severity},
        "properties": {
            "tags": [clean(rule.path.parent.name)],
            "precision": "high" if EVIDENCE[rule.evidence] else "medium",
            "problem.severity": _PROBLEM_SEVERITY[rule.severity],
            "evidence": rule.evidence,
            "references": list(rule.references),
        },
    }


def _result(spot: Spot, indexes: Mapping[str, int]) -> dict[str, Any]:
    finding = spot.finding
    location = _location(spot.place)
    if logical := _logical(finding.sites):
        location["logicalLocations"] = logical
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        # The SARIF kind of a conditional finding is "open".
        "kind": "open" if spot.conditional else "fail",
        "level": "none" if spot.conditional else finding.severity,
        "message": {"text": _text(full(spot))},
        "locations": [location],
        "partialFingerprints": {
            "trtlintFinding/v1": finding.fingerprint,
            "trtlintPlace/v1": spot.fingerprint,
        },
        "properties": _properties(spot),
    }
    if finding.rule in indexes:
        result["ruleIndex"] = indexes[finding.rule]
    if spot.place.path != spot.model:
        related = _location(Place(spot.model))
        result["relatedLocations"] = [{**related, "message": {"text": "The exported model."}}]
    if finding.suppression is not None:
        result["suppressions"] = [_suppression(finding)]
    return result


def _properties(spot: Spot) -> dict[str, Any]:
    finding = spot.finding
    return {
        "confidence": finding.confidence,
        "evidence": clean(finding.evidence_level),
        "targets": [clean(target) for target in spot.targets],
        "applies": clean(finding.applies),
        "depends": list(finding.depends),
        "advice": [clean(advice) for advice in finding.advice],
        **({"fix": fix_command(finding)} if finding.fixes else {}),
        "seenIn": [clean(line) for line in evidence_lines(finding)],
    }


def _suppression(finding: Finding) -> dict[str, Any]:
    known = finding.suppression
    assert known is not None
    where = PurePath(known.where).name
    return {
        "kind": "inSource" if known.kind == "model" else "external",
        "status": "accepted",
        "justification": clean(known.reason or f"in the {known.kind} {where}"),
        "properties": {"by": known.kind, "expires": known.expires},
    }


def _location(place: Place) -> dict[str, Any]:
    # A model has no lines, but GitHub rejects a location without a line.
    # https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
    return {
        "physicalLocation": {
            "artifactLocation": _artifact(place.path),
            "region": {"startLine": place.line or 1},
        }
    }


def _artifact(path: str) -> dict[str, str]:
    if Path(path).is_absolute():
        return {"uri": f"file://{quote(path, errors='surrogatepass')}"}
    if is_address(path):
        return {"uri": quote(path, safe=":/@[]", errors="surrogatepass")}
    uri = quote(path, errors="surrogatepass")
    return {"uri": uri} if path.startswith("../") else {"uri": uri, "uriBaseId": _ROOT}


def _logical(sites: Iterable[Site]) -> list[dict[str, str]]:
    """Return the modules and nodes of all sites as logical locations, without duplicates."""
    entries: dict[tuple[str, str], dict[str, str]] = {}
    for site in sites:
        if site.module:
            name = clean(site.module)
            entries["module", name] = {"fullyQualifiedName": name, "kind": "module"}
        if site.node:
            name = clean(site.node)
            node = {"name": clean(site.op), "fullyQualifiedName": name, "kind": "object"}
            entries["object", name] = node
    return list(entries.values())


def _invocation(overview: Overview) -> dict[str, Any]:
    invocation: dict[str, Any] = {"executionSuccessful": not overview.problems}
    notices: list[dict[str, Any]] = [
        {
            "level": "error" if entry.level == "unreadable" else entry.level,
            "message": {"text": _text(entry.message)},
            "locations": [_location(entry.place)],
        }
        for entry in remarks(overview)
    ]
    for model, note in overview.notes:
        notice: dict[str, Any] = {"level": "note", "message": {"text": _text(clean(note))}}
        notices.append({**notice, "locations": [_location(Place(model))]} if model else notice)
    if notices:
        invocation["toolExecutionNotifications"] = notices
    return invocation


def _text(text: str) -> str:
    """Escape text for a SARIF message, where ``[text](1)`` is a link and ``{0}`` a placeholder."""
    if "](" in text:
        text = text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return _PLACEHOLDER.sub(r"{{\1}}", text)


class Provenance(Struct, frozen=True):
    """The commit of a git repository.

    Attributes:
        repository: URL without user, password, query and fragment.
        revision: hash of the commit, 40 (or 64) hex digits.
        branch: the branch; None for a detached head.
    """

    repository: str
    revision: str
    branch: str | None


def provenance(root: Path | None) -> Provenance | None:
    """Return the commit that is checked out in the repository at ``root``.

    The result is None if ``root`` is not a git repository, or if the repository has no commit or no remote
    URL.
    """
    if root is None or not (root / ".git").exists():
        return None
    revision = _git(root, "rev-parse", "--verify", "HEAD")
    remotes = (_git(root, "remote") or "").split()
    if not revision or not remotes:
        return None
    remote = "origin" if "origin" in remotes else remotes[0]
    # `git remote get-url` would apply the setting insteadOf, in which build servers put their tokens.
    url = public_url(_git(root, "config", "--get", f"remote.{remote}.url") or "")
    if url is None:
        return None
    return Provenance(url, revision, _git(root, "symbolic-ref", "--quiet", "--short", "HEAD") or None)


def public_url(remote: str) -> str | None:
    """Return the URL of a git remote without user and password, or None for a local folder.

    >>> public_url("https://x-access-token:abc@github.com/owner/name.git")
    'https://github.com/owner/name.git'
    """
    if match := _SCP_LIKE.fullmatch(remote):
        return f"ssh://{match['host']}/{match['path'].lstrip('/')}"
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("https", "http", "ssh", "git") or not host:
        return None
    host = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{host}:{port}" if port else host, parts.path, "", ""))


def _git(root: Path, *arguments: str) -> str | None:
    """Run a git command in a folder and return its output, or None if the command fails."""
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
