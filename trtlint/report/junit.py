"""Report as JUnit XML, which most build servers read.

Each model is a test suite, and each unreadable build file is a test suite. A finding at a source line, module
or node is a test case:
- A finding that makes ``trtlint`` exit with code 1 is a failed test.
- A less severe finding is a passed test with output.
- A suppressed finding is a skipped test.
- An unreadable file is an error.
- A caveat is a separate test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from xml.etree import ElementTree

from trtlint.engine.caveats import Caveat
from trtlint.engine.finding import Finding
from trtlint.files.problem import Problem
from trtlint.report.escape import clean
from trtlint.report.formats import Run
from trtlint.report.locations import Overview, Spot
from trtlint.report.wording import full, heading, within

Fails = Callable[[str, Finding], bool]
"""Function that returns true if a finding gives exit code 1. The arguments are a model path and the finding.

The path is written as in :class:`Overview`.
"""


def document(run: Run) -> Iterable[str]:
    """Return the lines of the report."""
    from trtlint.report.locations import relative

    fails = {relative(path, run.style.root): fails for path, fails in run.fails.items()}
    return [dumps(run.overview(), lambda model, finding: fails[model](finding))]


def dumps(overview: Overview, fails: Fails) -> str:
    """Convert the findings to an XML document in ASCII.

    Args:
        overview: the findings.
        fails: function that returns true if a finding of a model gives exit code 1.
    """
    suites = ElementTree.Element("testsuites", name="trtlint")
    totals: Counter[str] = Counter()
    cases: dict[str, list[Problem | Spot]] = {model: [] for model in overview.models}
    for problem in overview.problems:
        cases.setdefault(problem.path, []).append(problem)
    for spot in (*overview.spots, *overview.suppressed):
        cases[spot.model].append(spot)
    caveats: dict[str, list[Caveat]] = {model: [] for model in cases}
    for model, caveat in overview.caveats:
        caveats[model].append(caveat)
    for model, listed in cases.items():
        suite = ElementTree.SubElement(suites, "testsuite")
        counts = _fill(suite, model, listed, fails)
        for caveat in caveats[model]:
            _caveat(suite, model, caveat, counts)
        if model in overview.skipped:
            ElementTree.SubElement(suite[0], "skipped", message="not linted")
            counts["skipped"] += 1
        totals += counts
        _count(suite, clean(model), counts)
    _count(suites, "trtlint", totals)
    del suites.attrib["skipped"]  # the schema allows this attribute only for a suite
    ElementTree.indent(suites)
    document: bytes = ElementTree.tostring(suites, encoding="us-ascii", xml_declaration=True)
    return document.decode("ascii")


def _count(element: ElementTree.Element, name: str, counts: Counter[str]) -> None:
    element.attrib["name"] = name
    for key in ("tests", "failures", "errors", "skipped"):
        element.attrib[key] = str(counts[key])


def _fill(
    suite: ElementTree.Element,
    model: str,
    cases: Iterable[Problem | Spot],
    fails: Fails,
) -> Counter[str]:
    """Add the test cases of a model to its test suite, and count them by result."""
    counts: Counter[str] = Counter()
    for case in cases:
        if isinstance(case, Problem):
            counts["errors"] += 1
            _error(suite, case)
        elif (known := case.finding.suppression) is not None:
            counts["skipped"] += 1
            reason = f"{known.kind}: {known.reason}" if known.reason else known.kind
            ElementTree.SubElement(_case(suite, case), "skipped", message=clean(reason))
        else:
            failure = not case.conditional and fails(model, case.finding)
            counts["failures"] += failure
            _finding(_case(suite, case), case, failure=failure)
    if not len(suite):
        ElementTree.SubElement(suite, "testcase", classname=clean(model), name="trtlint")
    counts["tests"] = len(suite)
    return counts


def _case(suite: ElementTree.Element, spot: Spot) -> ElementTree.Element:
    place = within(spot)
    name = f"{heading(spot.finding)} at {place}" if place else heading(spot.finding)
    return ElementTree.SubElement(suite, "testcase", classname=clean(spot.model), name=name)


def _finding(case: ElementTree.Element, spot: Spot, *, failure: bool) -> None:
    text = full(spot)
    if spot.place.line:
        text = f"{clean(spot.place.path)}:{spot.place.line}: {text}"
    if failure:
        message = clean(spot.finding.message)
        ElementTree.SubElement(case, "failure", type=spot.finding.severity, message=message).text = text
    else:
        ElementTree.SubElement(case, "system-out").text = f"{spot.finding.severity}: {text}"


def _caveat(suite: ElementTree.Element, model: str, caveat: Caveat, counts: Counter[str]) -> None:
    """Add a caveat to a test suite.

    The caveat becomes a skipped test if its severity is ``warning``, and otherwise a passed test with output.
    """
    case = ElementTree.SubElement(suite, "testcase", classname=clean(model), name=caveat.kind)
    counts["tests"] += 1
    if caveat.severity == "warning":
        counts["skipped"] += 1
        ElementTree.SubElement(case, "skipped", message=clean(caveat.message))
    else:
        ElementTree.SubElement(case, "system-out").text = f"{caveat.severity}: {clean(caveat.message)}"


def _error(suite: ElementTree.Element, problem: Problem) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=clean(problem.path), name="readable")
    ElementTree.SubElement(case, "error", type="unreadable", message=clean(str(problem)))
