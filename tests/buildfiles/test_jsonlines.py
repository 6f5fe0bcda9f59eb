"""Tests of messages in JSON objects, complete and truncated."""

from __future__ import annotations

import json

import pytest

from trtlint.buildfiles import jsonlines
from trtlint.buildfiles.jsonlines import json_message


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"log":"a\\n"}', [b"a"]),
        (b'x{"log":"a"}', None),
        (b'{ "msg": "a"}', [b"a"]),
        (b'{"level":"x","message":"a\\r\\nb\\n\\r\\n"}', [b"a", b"b"]),
        (b'{"MESSAGE":"\\u001b[31ma\\u001b[0m \\u001bMb"}', [b"a b"]),
        (b'{"textPayload":"a","log":"b"}', [b"b"]),
        (b'{"message":"first","msg":"second"}', [b"second"]),
        (b'{"log":5,"msg":"a"}', [b"a"]),
        (b'{"log":""}', [b""]),
        ('{"log":"Größe \\ud800"}'.encode(), ["Größe ?".encode()]),
        (b'{"other":"a"}', None),
        (b'{"a":{"log":"inner"}}', None),
        (b'{"log":5}', None),
        (b'["log": "a"]', None),
        (b' {"log":"a"}', None),
        (b'{  "log":"a"}', None),
        (b"", None),
        (b'{"log":"a \\"b\\"\\nc', [b'a "b"', b"c"]),
        (b'{"time":"x","log":"a\\nb\\', [b"a", b"b"]),
        (b'{"log":"a\\u12', [b"a\\u12"]),
        (b'{"log":"a\\u12 \\"b\\"\\nc', [b'a\\u12 "b"', b"c"]),
        (b'{"log":"tab\there', [b"tab\there"]),
    ],
)
def test_the_lines_of_a_message(line: bytes, expected: list[bytes] | None) -> None:
    assert json_message(line) == expected


def test_long_lines_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"log": "a"}).encode()
    monkeypatch.setattr(jsonlines, "_MOST", len(line))
    assert json_message(line) == [b"a"]
    monkeypatch.setattr(jsonlines, "_MOST", len(line) - 1)
    assert json_message(line) is None


def test_objects_nested_too_deep_are_cut() -> None:
    assert json_message(b'{"log":"a","b":' + b"[" * 200_000) == [b"a"]
