"""Tests of rule files: valid forms, and errors with line numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine.rules import make_rule, rule_text, write_rule
from trtlint.engine.frontmatter import FrontMatterError, split
from trtlint.engine.rule import Rule, RuleError
from trtlint.engine.rulebook import RuleEntry, builtin_rules, load_builtin, load_rules, looking_at, rule_files
from trtlint.engine.rulefile import load_rule, parse_rule
from trtlint.errors import SettingError
from trtlint.examples.fixed import fixed_examples


def test_a_rule_is_read(tmp_path: Path) -> None:
    rule = make_rule(
        tmp_path,
        "# why\n",
        applies='{tensorrt: ">=10.7,<10.8"}',
        where='op == "Relu"',
        mark="[node]",
        severity_when='[{where: domain != "", severity: note}]',
    )
    assert (rule.id, rule.name, rule.severity, rule.find) == ("TST001", "a-rule", "warning", "node")
    assert rule.applies == {"tensorrt": ">=10.7,<10.8"}
    assert rule.mark == {"node": None}
    assert [severity for _, severity in rule.severity_when] == ["note"]
    assert rule.body == "# why\n"
    assert rule.path.read_text().split("\n")[rule.body_line - 1] == "# why"


def test_without_applies_every_version_of_both_products_is_meant(tmp_path: Path) -> None:
    assert make_rule(tmp_path).applies == {"tensorrt": "", "tensorrt-rtx": ""}


def test_a_star_is_every_version_and_a_product_left_out_is_none(tmp_path: Path) -> None:
    assert make_rule(tmp_path, applies='{tensorrt-rtx: "*"}').applies == {"tensorrt-rtx": ""}


def test_a_summary_is_one_line_of_plain_text_and_optional(tmp_path: Path) -> None:
    assert make_rule(tmp_path).summary == ""
    rule = make_rule(tmp_path, summary=">-\n  Relu with {braces},\n  which is slow.")
    assert rule.summary == "Relu with {braces}, which is slow."


def test_the_first_reason_that_holds_says_why_a_place_has_no_rewrite(tmp_path: Path) -> None:
    rule = make_rule(tmp_path, unfixable='[{where: op == "Relu", because: one}, {because: "two\n\nlines"}]')
    assert [rule.why_unfixable({"op": op}) for op in ("Relu", "Elu")] == ["one", "two lines"]
    assert make_rule(tmp_path).why_unfixable({"op": "Relu"}) == ""


def test_a_rule_concerns_the_graph_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert make_rule(tmp_path).concerns == "graph"
    assert make_rule(tmp_path, concerns="code").concerns == "code"


@pytest.mark.parametrize(
    ("front", "key", "message"),
    [
        ({"severty": "note"}, "severty", "unknown key 'severty'; did you mean 'severity'?"),
        ({"severity": "eror"}, "severity", "unknown 'eror'; did you mean 'error'?"),
        ({"evidence": "hearsay"}, "evidence", "unknown 'hearsay'"),
        ({"find": "atention"}, "find", "unknown 'atention'; did you mean 'attention'?"),
        ({"id": "tst001"}, "id", "'tst001' is not two to five capitals and three digits"),
        ({"id": "TST01"}, "id", "'TST01' is not"),
        ({"name": "A_Rule"}, "name", "is not words in lower case"),
        ({"since": "soon"}, "since", "'soon' is not a release number"),
        ({"applies": "{tensort: '*'}"}, "applies", "unknown key 'tensort'; did you mean 'tensorrt'?"),
        ({"applies": "{tensorrt: 10.7}"}, "applies", "'10.7' is not a PEP 440 version specifier"),
        ({"applies": "{}"}, "applies", "add the key tensorrt or tensorrt-rtx"),
        ({"where": 'opp == "Relu"'}, "where", "unknown name 'opp'"),
        ({"where": 'op == "Relu" and'}, "where", "where: "),
        ({"where": "target.fp61"}, "where", "fp61"),
        ({"where": "model.opste == 17"}, "where", "opste"),
        ({"where": "op"}, "where", "must be a condition"),
        ({"where": '__import__("os")'}, "where", "where: "),
        ({"message": "a {opp}"}, "message", "unknown name 'opp'"),
        ({"message": "a {op"}, "message", "unmatched brace '{'"),
        ({"concerns": "comand"}, "concerns", "unknown 'comand'; did you mean 'command'?"),
        ({"mark": "[culprit]"}, "mark", "unknown 'culprit'; there are node"),
        ({"mark": "{culprit: here}"}, "mark", "unknown key 'culprit'"),
        ({"severity_when": "[{where: op == domain}]"}, "severity_when", "the key 'severity' is missing"),
        ({"unfixable": "[{where: op == domain}]"}, "unfixable", "the key 'because' is missing"),
        ({"severity_when": "[{severity: note}]"}, "severity_when", "the key 'where' is missing"),
        ({"advice": "[{fix: merge-scale}]"}, "advice", "the key 'do' is missing"),
        ({"advice": "[{do: x, tensorrt: newest}]"}, "advice", "not a PEP 440 version specifier"),
        ({"advice": "[{do: x, where: opp == op}]"}, "advice", "unknown name 'opp'"),
        ({"advice": "[{do: x, fix: Fix_It}]"}, "advice", "'Fix_It' is not words joined"),
        ({"advice": "[{do: x, folds: true}]"}, "advice", "'folds' requires 'fix'"),
        ({"advice": "[{do: x, safety: safe}]"}, "advice", "'safety' requires 'fix'"),
        ({"advice": "[{do: x, fix: fix-it, folds: perhaps}]"}, "advice", "unknown 'perhaps'"),
        ({"advice": "do it"}, "advice", "advice must be a list"),
        ({"references": "[http://example.com/x]"}, "references", "is not a https URL"),
        ({"references": "https://example.com/x"}, "references", "references must be a list"),
        ({"match": "y = Relu(x)"}, "match", "'match' is only allowed together with 'find: pattern'"),
        ({"find": "pattern"}, "find", "'find: pattern' needs 'match'"),
        ({"find": "pattern", "match": "y = Relu(", "message": "x"}, "match", "match: "),
        (
            {"find": "pattern", "match": "y = Relu(target)", "message": "x"},
            "match",
            "is not a valid name of a value",
        ),
        ({"message": "''"}, "message", "message is empty"),
        ({"message": "[a]"}, "message", "message must be text"),
        ({"summary": "''"}, "summary", "summary is empty"),
        ({"summary": "[a]"}, "summary", "summary must be text"),
        ({"summary": "x" * 501}, "summary", "summary: the text is longer than 500 characters"),
    ],
)
def test_a_mistake_is_an_error_in_its_line(
    tmp_path: Path, front: dict[str, str], key: str, message: str
) -> None:
    path = write_rule(tmp_path, **front)
    with pytest.raises(RuleError) as caught:
        load_rule(path)
    assert message in caught.value.message
    assert path.read_text().split("\n")[caught.value.line - 1].startswith(f"{key}:")
    assert str(caught.value).startswith(f"{path}:{caught.value.line}: ")


@pytest.mark.parametrize(
    "key", ["id", "severity", "since", "evidence", "find", "message", "advice", "references"]
)
def test_a_missing_key_is_an_error(tmp_path: Path, key: str) -> None:
    path = tmp_path / "TST001-a-rule.md"
    path.write_text(rule_text("", **{key: None}))
    with pytest.raises(RuleError, match=f"the key '{key}' is missing"):
        load_rule(path)


def test_a_rewrite_folds_constants_in_every_rule_or_in_none() -> None:
    found: dict[str, set[bool]] = {}
    for rule in load_builtin():
        for entry in rule.advice:
            if entry.fix is not None:
                found.setdefault(entry.fix, set()).add(entry.folds)
    assert {fix for fix, folds in found.items() if folds != {False}} == {"store-constant", "store-operand"}
    assert all(len(folds) == 1 for folds in found.values())


def test_an_error_in_a_block_has_the_line_of_the_block(tmp_path: Path) -> None:
    path = write_rule(tmp_path, find="pattern", match="|\n  y = Relu(x)\n  z = Sigmoid(\n", message="x")
    with pytest.raises(RuleError) as caught:
        load_rule(path)
    assert "Sigmoid(" in path.read_text().split("\n")[caught.value.line - 1]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "does not begin with a line '---'"),
        ("# A page\n", 1, "does not begin with a line '---'"),
        ("---\nid: TST001\n", 3, "not closed"),
        ("---\n---\n", 1, "empty"),
        ("---\nid: TST001\nid: TST002\n---\n", 3, "given twice"),
        ("---\nid: &a TST001\n---\n", 2, "anchors"),
        ("---\nid: !!python/object:os.system x\n---\n", 2, "tags"),
        ("---\nid: 'TST\n---\n", 3, "quoted scalar"),
        ("---\n- id\n---\n", 2, "must be a mapping"),
        ("---\nid: " + "[" * 100_000 + "\n---\n", 2, "nested too deeply"),
    ],
)
def test_front_matter_that_is_not_what_rule_files_use(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    path = tmp_path / "TST001-a-rule.md"
    path.write_text(text)
    with pytest.raises(RuleError, match=message) as caught:
        load_rule(path)
    assert caught.value.line == line


def test_the_file_name_must_be_id_and_name(tmp_path: Path) -> None:
    path = tmp_path / "rule.md"
    path.write_text(rule_text())
    with pytest.raises(RuleError, match=r"the file must be called TST001-a-rule\.md"):
        load_rule(path)


def test_a_file_that_is_too_long(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="longer than 256 KiB"):
        load_rule(write_rule(tmp_path, "x" * 262_145))


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    path = write_rule(tmp_path, "# good\n")
    path.write_bytes(path.read_bytes() + b"bad: \xff\n")
    with pytest.raises(RuleError, match="not UTF-8") as caught:
        load_rule(path)
    assert caught.value.line == len(path.read_bytes().split(b"\n")) - 1


def test_lines_of_a_file_from_windows(tmp_path: Path) -> None:
    path = tmp_path / "TST001-a-rule.md"
    path.write_bytes(rule_text(severity="eror").replace("\n", "\r\n").encode())
    with pytest.raises(RuleError) as caught:
        load_rule(path)
    assert path.read_bytes().split(b"\n")[caught.value.line - 1].startswith(b"severity")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no such file or folder"):
        load_rules([tmp_path / "rules"])


def test_rules_are_found_in_folders_and_sorted_by_id(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write_rule(tmp_path / "deep", id="TST001")
    write_rule(tmp_path, id="TST002", name="another")
    (tmp_path / "README.md").write_text("no rule")
    book = load_rules([tmp_path])
    assert [rule.id for rule in book] == ["TST001", "TST002"]


def test_a_file_met_twice_is_one_rule(tmp_path: Path) -> None:
    path = write_rule(tmp_path)
    assert len(load_rules([tmp_path, path])) == 1


@pytest.mark.parametrize("other", [{"name": "another"}, {"id": "TST002"}])
def test_ids_and_names_are_taken_once(tmp_path: Path, other: dict[str, str]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    write_rule(tmp_path / "a")
    write_rule(tmp_path / "b", **other)
    with pytest.raises(RuleError, match="is already used by"):
        load_rules([tmp_path])


def test_a_rule_is_looked_up_by_id_or_name(tmp_path: Path) -> None:
    write_rule(tmp_path)
    book = load_rules([tmp_path])
    assert book.rule("tst001") is book.rule("a-rule")
    with pytest.raises(SettingError, match="did you mean 'TST001'"):
        book.rule("TST010")


def test_the_rules_that_come_with_trtlint_load() -> None:
    book = load_rules([builtin_rules()])
    assert len(book) == len(rule_files(builtin_rules()))
    assert {"ACC105", "ACC106"} <= {rule.id for rule in book}


def test_entries_say_what_their_rules_say() -> None:
    for entry in load_builtin().entries:
        rule = entry.read()
        assert (entry.id, entry.name, entry.find, entry.path) == (rule.id, rule.name, rule.find, rule.path)
        assert entry.read() is rule


def test_only_rules_that_look_at_what_is_there_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, find in enumerate(("node", "flag", "log_message", "model")):
        write_rule(tmp_path, id=f"TST00{number}", name=f"rule-{find}".replace("_", "-"), find=find)
    monkeypatch.setattr("trtlint.engine.rulebook.builtin_rules", lambda: tmp_path)
    read = []
    monkeypatch.setattr(
        "trtlint.engine.rulefile.parse_rule",
        lambda path, text, *, checked: (read.append(path.name[:6]), parse_rule(path, text, checked=checked))[
            1
        ],
    )
    entries = load_builtin().entries
    assert [entry.find for entry in entries] == ["node", "flag", "log_message", "model"]
    assert [entry.read().id for entry in looking_at(["model"], entries)] == ["TST000", "TST003"]
    assert read == ["TST000", "TST003"]
    assert [entry.read().id for entry in looking_at(["build", "command"], entries)] == ["TST001", "TST002"]


def test_every_rule_is_in_a_group() -> None:
    for entry in load_builtin().entries:
        assert entry.group, entry.path
        assert (entry.group, entry.status) == (entry.read().group, entry.read().status)


@pytest.mark.parametrize("status", ["preview", "stable", "deprecated"])
def test_the_status_is_that_of_the_file(tmp_path: Path, status: str) -> None:
    assert make_rule(tmp_path, status=status).status == status
    assert make_rule(tmp_path).status == "stable"


@pytest.mark.parametrize("brackets", [("[", "]"), ("{a: ", "}")])
def test_front_matter_is_nested_twelve_deep(brackets: tuple[str, str]) -> None:
    opening, closing = brackets
    for depth in (11, 12):  # the value of a key, and a text in it, are one deeper each
        text = f"---\nkey: {opening * depth}text{closing * depth}\n---\n"
        if depth == 11:
            split(text)
        else:
            with pytest.raises(FrontMatterError, match="nested too deeply"):
                split(text)


@pytest.mark.parametrize("entry", load_builtin().entries, ids=lambda entry: entry.id)
def test_no_condition_compares_the_sentences_of_a_refusal(entry: RuleEntry) -> None:
    """The field ``problem`` exists for comparisons. A sentence may be reworded."""
    rule = entry.read()
    if rule.find != "rejection":
        return
    conditions = [rule.where, *(each.where for each in rule.advice), *(each.where for each in rule.unfixable)]
    for condition in filter(None, conditions):
        assert not re.search(r"\b(in|==|!=) (says|way)\b|\b(says|way) (==|!=)", condition.text)


def test_no_text_has_a_constant_in_single_braces() -> None:
    """``{"name"}`` in a text loses its braces and quotes; ``{{"name"}}`` keeps them."""
    texts = [
        (rule.id, text)
        for rule in load_builtin()
        for text in (rule.message, *(each.do for each in rule.advice))
    ]
    expressions = [
        (rule, piece.text) for rule, text in texts for piece in text.pieces if not isinstance(piece, str)
    ]
    assert [each for each in expressions if re.fullmatch(r"\"[^\"]*\"|'[^']*'", each[1])] == []


def test_every_builtin_rule_with_a_fix_has_an_example_of_it() -> None:
    without = [rule.id for rule in load_builtin() if _fixes(rule) and not fixed_examples(rule)]
    assert without == []


def _fixes(rule: Rule) -> bool:
    return any(each.fix is not None for each in rule.advice)


def test_a_folder_without_rules_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()
    with pytest.raises(RuleError, match=r"this folder has no rule files \(\*\.md\)"):
        load_rules([tmp_path])
