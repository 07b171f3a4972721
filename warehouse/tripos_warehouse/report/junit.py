"""Reports and comparisons as JUnit XML, which GitLab, Jenkins and GitHub actions show as test results.

A report has a test case for every outcome of an expectation, that is for every model and cell; one for the replies,
which is in error if some failed or the run did not finish; and, if scores are undefined, one that fails. A comparison
has a test case for every row, which fails if the second side is shown to be worse or, with a margin, is not shown to be
equivalent within it; and a skipped one for each measure that is not compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from tripos_warehouse.measures.expectations import CheckedExpectation, ExpectationOutcome
from tripos_warehouse.report.comparison import Comparison, RunSide, verdicts
from tripos_warehouse.report.tables import too_few
from tripos_warehouse.report.text import MOCKED, why_undecided
from tripos_warehouse.tables.values import estimate_text
from tripos_warehouse.views.runs import RunRecord

if TYPE_CHECKING:
    from tripos_warehouse.report.run_report import Report


FAILED = ("provider_error", "function_error")
"""The statuses of replies and scores that the next run tries again."""


def junit(report: Report) -> str:
    """Return the XML of a report, ending in a line feed. An expectation that does not hold is a `failure`, in a run
    with mock models `skipped`; failed replies are an `error`."""
    run = report.run
    cases = [_case(report, checked, outcome) for checked in report.expectations for outcome in checked.outcomes]
    cases.append(_replies(report))
    if report.gaps:
        cases.append(_gaps(report))
    properties = {"run": run.run_id, "plan": run.plan_digest, "models": ", ".join(run.models)}
    return _suite(run, cases, properties)


def comparison_junit(one: RunSide, two: RunSide, comparison: Comparison) -> str:
    """Return the XML of a comparison, ending in a line feed. A row without a margin is a `failure` if the first side is
    better, a row with a margin if the sides are not shown to be equivalent within it."""
    cases = []
    for section in comparison.sections:
        for row, verdict in zip(section.rows, verdicts(section, comparison.tests), strict=True):
            name = f"{row.name} ({row.of})" if row.of else row.name
            case = _new(two.run, f"compare.{section.kind}", name)
            if row.regression is not None:
                failure = ElementTree.SubElement(case, "failure", {"message": _legal(verdict), "type": row.regression})
                failure.text = _legal(f"{name}: {verdict}\nA {row.a:.6g}, B {row.b:.6g}")
            elif row.difference.value is None:
                ElementTree.SubElement(case, "skipped", {"message": _legal(verdict)})
            cases.append(case)
    for name, why in comparison.unpaired:
        case = _new(two.run, "compare.measure", name)
        ElementTree.SubElement(case, "skipped", {"message": _legal(f"not compared: {why}")})
        cases.append(case)
    sides = {name: f"{', '.join(side.models)} ({side.run.run_id})" for name, side in (("a", one), ("b", two))}
    return _suite(two.run, cases, sides)


def _suite(run: RunRecord, cases: Sequence[ElementTree.Element], property_values: Mapping[str, str]) -> str:
    """Return the XML of the test cases of a run."""
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
    }
    root = ElementTree.Element("testsuites", {"name": "tripos", **counts})
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {
            "name": _legal(f"{run.benchmark} {run.version}"),
            **counts,
            "skipped": skipped,
            "time": "0",
            "timestamp": f"{run.started_at:%Y-%m-%dT%H:%M:%S}",
        },
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in property_values.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _legal(value)})
    suite.extend(cases)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(report: Report, checked: CheckedExpectation, outcome: ExpectationOutcome) -> ElementTree.Element:
    """Return the test case of an outcome of an expectation."""
    row, expectation = outcome.row, checked.expectation
    cell = "".join(f", {name}: {value}" for name, value in zip(expectation.by, row.by, strict=True))
    name = f"{expectation.shown} [{row.model}{cell}]"
    case = _new(report.run, "expect", name)
    if not outcome.held and report.mocked:
        text = f"{describe_outcome(checked, outcome)}; {MOCKED}"
        ElementTree.SubElement(case, "skipped", {"message": _legal(text)})
    elif not outcome.held:
        text = describe_outcome(checked, outcome)
        failure = ElementTree.SubElement(case, "failure", {"message": _legal(text), "type": "expectation"})
        failure.text = _legal(f"{name}\n{text}")
    return case


def describe_outcome(checked: CheckedExpectation, outcome: ExpectationOutcome) -> str:
    """Return an outcome in words: the value with its interval, and by how much it fails the expectation, or that too
    few scores have a value."""
    row = outcome.row
    if row.value is None:
        return f"there is no value: {row.reason}"
    if outcome.margin is None:
        return f"it is {row.value:.4g}, with {why_undecided(outcome)}"
    expectation = checked.expectation
    end = "" if expectation.end is None else f"its {expectation.end} end "
    detail = "" if outcome.held else f", {end}off by {abs(outcome.margin):.4g}"
    detail = detail if outcome.covered else f": {too_few(expectation, outcome)}"
    return f"it is {estimate_text(row, '{:.4g}'.format)}{detail}"


def _replies(report: Report) -> ElementTree.Element:
    """Return the test case for failed replies and scores, and for an unfinished run."""
    case = _new(report.run, "replies", "every reply and score came about")
    failed = {status: report.samples.get(status, 0) + report.scores.get(status, 0) for status in FAILED}
    text = ", ".join(f"{count} {status}" for status, count in failed.items() if count)
    if text:
        error = ElementTree.SubElement(case, "error", {"message": text, "type": "replies"})
        error.text = f"{text}; the next run tries them again"
    elif not report.run.ended:
        text = f"the run is {report.run.status}, so not all that was planned is here"
        error = ElementTree.SubElement(case, "error", {"message": _legal(text), "type": "unfinished"})
        error.text = f"{text}; the same command goes on with it"
    return case


def _gaps(report: Report) -> ElementTree.Element:
    """Return the test case for scores that are undefined because of a reply, and for calls that were not made because
    of that."""
    case = _new(report.run, "scores", "every score has a value")
    texts = [f"{gap.kind}: {gap.shown}" for gap in report.gaps]
    failure = ElementTree.SubElement(case, "failure", {"message": _legal(texts[0]), "type": "undefined"})
    failure.text = _legal("\n".join(texts))
    return case


def _new(run: RunRecord, kind: str, name: str) -> ElementTree.Element:
    """Return a test case of a kind, without a result."""
    classname = f"{run.benchmark}.{kind}"
    return ElementTree.Element("testcase", {"classname": _legal(classname), "name": _legal(name), "time": "0"})


def _legal(text: str) -> str:
    """Return a text with `\\ufffd` in place of characters that XML does not allow."""
    return "".join(
        char if char in "\t\n" or (char >= " " and char not in "\ufffe\uffff") else "\ufffd" for char in text
    )
