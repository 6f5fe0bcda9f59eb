"""Tests of repository data from git, and of redacted data."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trtlint.report.sarif import Provenance, provenance, public_url


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("https://github.com/owner/name.git", "https://github.com/owner/name.git"),
        ("https://x-access-token:s3cret@github.com/owner/name", "https://github.com/owner/name"),
        ("https://s3cret@host:8443/a?token=s3cret#s3cret", "https://host:8443/a"),
        ("git@github.com:owner/name.git", "ssh://github.com/owner/name.git"),
        ("ssh://git:s3cret@host/a", "ssh://host/a"),
        ("https://[::1]:80/a", "https://[::1]:80/a"),
        ("/home/alice/name.git", None),
        ("file:///home/alice/name.git", None),
        ("C:\\Users\\alice\\name.git", None),
        ("../name.git", None),
        ("https://[bad", None),
        ("https://host:port/a", None),
        ("", None),
    ],
)
def test_public_url(remote: str, url: str | None) -> None:
    assert public_url(remote) == url


@given(st.text("abc/:.-@[]?#", max_size=20))
def test_no_credentials_whatever_the_remote(rest: str) -> None:
    for remote in (f"https://user:s3cret@{rest}", f"s3cret@{rest}", f"https://host/?{rest}s3cret"):
        url = public_url(remote)
        assert url is None or "s3cret" not in url


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "first")
    return tmp_path


def test_a_repository(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://user:s3cret@example.org/owner/name.git")
    revision = git(repository, "rev-parse", "HEAD")
    assert provenance(repository) == Provenance("https://example.org/owner/name.git", revision, "main")
    git(repository, "checkout", "--quiet", "--detach")
    assert provenance(repository) == Provenance("https://example.org/owner/name.git", revision, None)


def test_a_rewritten_url_is_not_shown(repository: Path) -> None:
    """Build servers store tokens in URL rewrites of the configuration."""
    git(repository, "remote", "add", "origin", "https://example.org/owner/name")
    git(repository, "config", "url.https://user:s3cret@example.org/.insteadOf", "https://example.org/")
    state = provenance(repository)
    assert state is not None
    assert state.repository == "https://example.org/owner/name"


def test_without_what_is_needed(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert provenance(None) is None
    assert provenance(tmp_path_factory.mktemp("plain")) is None
    assert provenance(repository) is None, "no remote"
    git(repository, "remote", "add", "origin", "/home/alice/name.git")
    assert provenance(repository) is None
