"""Tests of page filters without scripts."""

from __future__ import annotations

import base64
import hashlib
import io
import re

from msgspec.structs import replace

from tests.report import handmade
from trtlint.engine.finding import Report
from trtlint.report.formats import Run, Style
from trtlint.report.html import document


def _page(count: int) -> str:
    (model,) = handmade.one_model().models
    models = tuple(replace(model, path=f"models/net{number}.onnx") for number in range(count))
    file = io.StringIO()
    for line in document(Run(Report(models), Style(files=count, rules=(), root=None), {})):
        print(line, file=file)
    return file.getvalue()


def test_severity_rule_and_model_can_be_chosen() -> None:
    page = _page(3)
    assert re.findall("<legend>(.*?)</legend>", page) == ["Severity", "Rule", "Model"]
    for model in ("model-1", "model-2", "model-3"):
        assert f'id="f-{model}"' in page
        assert f".model:not(#{model})" in page
        assert f"in-{model}" in page
    assert 'id="f-of-ACC102"' in page
    assert "of-ACC102" in page
    assert "<script" not in page


def test_the_policy_allows_exactly_the_style_of_the_page() -> None:
    page = _page(3)
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src &#x27;sha256-{digest}&#x27;" in page
    assert "script-src" not in page


def test_repeated_findings_are_folded() -> None:
    page = _page(3)
    assert page.count("Same message as above: details") == 2 * len(handmade.one_model().models[0].findings)
    assert "Same message as above" not in _page(1)


def test_nothing_to_choose_is_no_filter() -> None:
    (model,) = handmade.one_model().models
    single = replace(model, findings=model.findings[:1], conditional=())
    lines = document(Run(Report((single,)), Style(files=1, rules=(), root=None), {}))
    assert 'class="filters"' not in "\n".join(lines)
