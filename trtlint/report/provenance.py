"""Which repository and revision was linted, as git tells it, without anything secret."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from trtlint.lean import dataclass

_SECONDS = 10
_SCP_LIKE = re.compile(r"(?:[^@/:]+@)?(?P<host>[^@/:]{2,}):(?!//)(?P<path>[^\s?#]+)")
"""``git@host:owner/name.git``; a host has two letters at least, so that ``C:`` is none."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """A state of a repository.

    Attributes:
        repository: URL without user, password, query and fragment.
        revision: commit in 40 (or 64) hex digits.
        branch: None where no branch is checked out.
    """

    repository: str
    revision: str
    branch: str | None


def provenance(root: Path | None) -> Provenance | None:
    """The state of the repository at ``root``; None without git, a commit or a remote with a URL."""
    if root is None or not (root / ".git").exists():
        return None
    revision = _git(root, "rev-parse", "--verify", "HEAD")
    remotes = (_git(root, "remote") or "").split()
    if not revision or not remotes:
        return None
    remote = "origin" if "origin" in remotes else remotes[0]
    # `git remote get-url` would apply insteadOf, which is where build servers put their tokens.
    url = public_url(_git(root, "config", "--get", f"remote.{remote}.url") or "")
    if url is None:
        return None
    return Provenance(url, revision, _git(root, "symbolic-ref", "--quiet", "--short", "HEAD") or None)


def public_url(remote: str) -> str | None:
    """The URL of a remote without anything that could be a secret; None if it names a local folder.

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
    """What a git command prints; None if it fails."""
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
