"""Tests of the script that regenerates the operator table."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.conftest import REPOSITORY
from trtlint.knowledge import data


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = spec_from_file_location("operator_table", REPOSITORY / "scripts" / "operator_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    table = tmp_path / "operators.yaml"
    table.write_text(
        "# kept\n\ndocuments: {'10.0': 'https://a', '10.1': null}\nannounced: {'10.1': {Gelu: 'https://b'}}\n"
        "importers: {TRT_Conv: '*'}\noperators: {}\n"
    )
    monkeypatch.setattr(module, "TABLE", table)
    return module


def document(**answers: str) -> str:
    """Return a document in the format of the parser's repository: a hundred operators and these."""
    rows = {f"Filler{i}": "Y" for i in range(100)} | answers
    body = "".join(f"| {name:<20} | {answer} | FP32 | none\n" for name, answer in rows.items())
    return f"# Supported\n\n| Operator | Supported | Types | Restrictions |\n|---|---|---|---|\n{body}"


def test_a_table_from_documents(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "10.0.md").write_text(document(Gelu="N", Relu="Y [EXPERIMENTAL]", Old="Y"))
    (tmp_path / "10.2.md").write_text(document(Gelu="Y", Relu="Y", Det="N"))
    assert script.main([str(tmp_path), "--add", "10.2", "https://c"]) == 0
    text = script.TABLE.read_text()
    assert text.startswith("# kept\n\ndocuments:")
    table = yaml.safe_load(text)
    assert table["documents"] == {"10.0": "https://a", "10.1": None, "10.2": "https://c"}
    assert table["importers"] == {"TRT_Conv": "*"}
    operators = table["operators"]
    assert {name: operators[name] for name in ("Gelu", "Relu", "Det", "Old")} == {
        "Gelu": ">=10.1",
        "Relu": "*",
        "Det": "none",
        "Old": "<10.2",
    }


def test_a_gap_is_left_out(script: ModuleType) -> None:
    answers = {"10.0": {"A": True}, "10.1": {"A": False, "B": True}, "10.2": {"A": True, "B": False}}
    assert script.ranges(answers, {}) == {"A": "!=10.1.*", "B": ">=10.1,<10.2"}


def test_a_missing_or_strange_document_changes_nothing(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = script.TABLE.read_text()
    assert script.main([str(tmp_path)]) == 1
    (tmp_path / "10.0.md").write_text("| Relu | Y |")
    assert script.main([str(tmp_path)]) == 1
    assert "only 1 operators found" in capsys.readouterr().err
    assert script.TABLE.read_text() == before


def test_the_table_is_as_the_script_writes_it(script: ModuleType) -> None:
    path = REPOSITORY / "trtlint" / "knowledge" / "operators.yaml"
    script.TABLE.write_text(path.read_text())
    assert script.written(data("operators")) == path.read_text()
