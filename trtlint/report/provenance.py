"""Git repository and commit of the linted files, without passwords in the URL."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

_SECONDS = 10
_SCP_LIKE = re.compile(r"(?:[^@/:]+@)?(?P<host>[^@/:]{2,}):(?!//)(?P<path>[^\s?#]+)")
"""Pattern of ``git@host:owner/name.git``. A host name of one letter does not match, because it can be a drive
(``C:``)."""


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
