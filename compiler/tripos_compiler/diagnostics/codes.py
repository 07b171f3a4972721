"""Every diagnostic code and the file name of its page; `tripos explain CODE` prints the page."""

from __future__ import annotations

from importlib.resources import files

CODES: dict[str, str] = {
    # E01 syntax
    "E0101": "unexpected",
    "E0102": "unclosed string",
    "E0103": "unpaired bracket",
    "E0104": "unknown character",
    "E0105": "unknown escape",
    "E0106": "malformed statement",
    "E0107": "statement out of place",
    "E0108": "unreadable file",
    "E0110": "allow without effect",
    "E0111": "allow without a reason",
    # E02 names
    "E0201": "unknown name",
    "E0202": "declared twice",
    "E0203": "a circle",
    "E0204": "unknown statement",
    "E0205": "unknown function",
    "E0206": "missing declaration",
    "E0207": "reserved name",
    "E0208": "role out of place",
    "E0209": "never used",
    # E03 types
    "E0301": "wrong type",
    "E0302": "unknown type",
    "E0303": "wrong arguments",
    "E0304": "missing column",
    "E0305": "value does not fit its column",
    "E0306": "missing value possible",
    "E0307": "data file not found",
    "E0308": "unknown field",
    "E0309": "repeated row",
    "E0310": "unreadable Python file",
    "E0311": "unknown Python function",
    "E0312": "unusable Python signature",
    "E0313": "scorer and function disagree",
    "E0314": "function called too early",
    "E0315": "tree out of shape",
    # E04 prompts
    "E0401": "axis never mentioned",
    "E0402": "missing translation",
    "E0403": "malformed hole",
    "E0404": "shots that do not fit",
    # E05 secrecy
    "E0501": "secret reaches the compared role",
    "E0502": "chosen by what is secret",
    "E0503": "nothing to reveal",
    # E06 coverage
    "E0601": "scenario never scored",
    "E0602": "allocation table not total",
    "E0603": "empty context",
    "E0604": "levels do not tile the scale",
    "E0605": "row outside the context",
    "E0606": "metric never allocated",
    "E0607": "guard out of reach",
    "E0609": "step not held in an arm",
    "E0610": "arm without effect",
    "E0611": "reply never used",
    "E0612": "branches never shown",
    "E0620": "stratum too small",
    "E0621": "cannot go by this",
    "E0622": "more tries than replies",
    "E0623": "not taken across a panel",
    # E07 scorers
    "E0701": "no metrics to give",
    "E0702": "formula over different scales",
    "E0703": "judge of itself",
    "E0704": "gate out of scale",
    "E0705": "no reward model",
    "E0708": "no weight",
    # E08 termination
    "E0802": "too many retries",
    "E0803": "conversation without bounds",
    # E09 releases
    "E0901": "version understates the change",
    # R run
    "R0101": "endpoint unreachable",
    "R0102": "key missing or refused",
    "R0103": "unknown model",
    "R0104": "rate limited",
    "R0105": "local model not installed",
    "R0106": "model file not found",
    "R0107": "context window exceeded",
    "R0108": "refused by the provider",
    "R0109": "timed out",
    "R0110": "bad request",
    "R0111": "server error",
    "R0112": "endpoint given up",
    "R0113": "not in the recording",
    "R0201": "role not filled",
    "R0202": "unknown option value",
    "R0203": "bad configuration",
    "R0204": "not run yet",
    "R0205": "judge of its own family",
    "R0206": "language server not installed",
    "R0207": "key in the settings",
    "R0208": "unknown variable",
    "R0301": "Python function not loaded",
    "R0302": "Python function changed",
    "R0401": "not a budget",
    "R0402": "budget spent",
    "R0403": "reply without a bound",
    "R0404": "price unknown",
    # W warehouse
    "W0101": "no store",
    "W0102": "cannot write the store",
    "W0103": "part missing",
    "W0104": "newer store",
    "W0105": "row does not fit its table",
    "W0201": "query failed",
    "W0202": "unknown output format",
    "W0203": "statement not allowed",
    "W0210": "spec of another benchmark",
    "W0301": "unknown run",
    "W0302": "unknown result",
    "W0303": "ambiguous result",
    "W0401": "part damaged",
    "W0402": "commit damaged",
    "W0403": "row about nothing",
    "W0404": "kept rows not committed",
}
"""Code to headline. A test requires a page for each, with a bad example and its mend."""


def find_page(code: str) -> str | None:
    """The Markdown page of a code, or None where there is no such code."""
    name = code.strip().upper()
    if name not in CODES:
        return None
    return files("tripos_compiler.diagnostics").joinpath("pages", f"{name}.md").read_text("utf-8")
