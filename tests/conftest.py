"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real models and logs; tests that need it skip on a machine without it."""
    folder = Path(os.environ.get("TRTLINT_SHARED", REPOSITORY.parent / "shared"))
    if not (folder / "data" / "exported").is_dir():
        pytest.skip(f"no real models at {folder}")
    return folder


@pytest.fixture(scope="session")
def exported(shared: Path) -> Path:
    """The folder of real exported models."""
    return shared / "data" / "exported"
