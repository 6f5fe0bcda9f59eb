"""Tests of the JSON Schemas in the package."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from tests.conftest import REPOSITORY
from trtlint.report import schemas

FOLDER = Path(schemas.__file__).with_name("schema")


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_each_is_a_schema_of_its_name(file: Path) -> None:
    kind, version = file.stem.rsplit("-", 1)
    loaded = schemas.load(f"{kind}/{version}")
    jsonschema.Draft202012Validator.check_schema(loaded)
    assert loaded["title"] == loaded["properties"]["schema"]["const"] == f"{kind}/{version}"


def test_the_reference_lists_each() -> None:
    index = (REPOSITORY / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    assert [file.stem for file in FOLDER.glob("*.json") if f"/{FOLDER.name}/{file.name})" not in index] == []
