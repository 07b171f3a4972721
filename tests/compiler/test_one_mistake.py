"""A mistake in one score is reported there, and in nothing that measures or names what it scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compile_files

SPEC = """\
benchmark health "1.0.0" {{ languages en }}
role candidate compared
role judge
dataset item from "items.jsonl" {{
  question  text
  kind      text
  rubric    list<{{ text text, points integer, axis choice(accuracy, context) }}> secret
  tags      list<text>
}}
scorer met(reply: text, criterion: text) by judge {{
  prompt "A reply: {{{{ reply }}}} Is this true of it? {{{{ criterion }}}}"
  gives  bool
}}
scenario health {{
  over item as q
  ask reply by candidate {{ prompt "{{{{ q.question }}}}" }}
{scores}
  measure by_tag  = mean(told) by t
  measure by_axis = mean(meets) by c.axis
  measure share   = mean(contains(reply.text, upper(t))) by t
  measure gap     = by_tag - mean(told)
  measure sliced  = mean_told[t: x] - mean_told
  measure mean_told = mean(told)
}}
scenario other {{
  over item as q
  ask reply by candidate {{ prompt "Again: {{{{ q.question }}}}" }}
{others}
}}
measure all_tags  = mean(told) by t
measure tags_here = mean(health.told) by t
measure of_axis   = mean(health.meets) by c.axis, q.kind
measure pointed   = mean(mean(health.meets) by c.axis)
measure two       = health.by_tag - mean(health.told)
measure of_kind   = mean(health.plain) by q.kind
"""
SCORES = (
    "  score told  = contains(reply.text, t) each t in q.tags",
    "  score meets = met(reply.text, c.text) each c in q.rubric",
    "  score plain = contains(reply.text, q.kind)",
)
OTHERS = ("  score told  = contains(reply.text, t) each t in q.tags",)
SLIPS = {
    "reply.text": ("reply.txt", "replyy.text", "reply.text +", "nosuch(reply.text)", "length(reply.text)"),
    "q.": ("q.no_", "r."),
    " in q": (" in 3 + q",),
    "contains(": ("contain(", "contains(1, "),
    "met(": ("mett(", "met(1, "),
}
PLANTED = [
    (place, line.replace(right, wrong, 1))
    for place, line in enumerate((*SCORES, *OTHERS))
    for right, slips in SLIPS.items()
    for wrong in slips
    if right in line
]
ROWS = """{"question": "q", "kind": "k", "tags": ["x"], "rubric": [{"text": "A", "points": 5, "axis": "context"}]}
{"question": "r", "kind": "l", "tags": ["y"], "rubric": [{"text": "B", "points": 5, "axis": "accuracy"}]}
"""


def reported(folder: Path, lines: list[str]) -> list[tuple[str, int, str]]:
    """Return the code, the line and the text of each error of the spec with these scores."""
    spec = SPEC.format(scores="\n".join(lines[:3]), others="\n".join(lines[3:]))
    found = compile_files(folder, {"spec.tripos": spec, "items.jsonl": ROWS}).diagnostics
    errors = [each for each in found if each.severity == "error"]
    spans = [each.labels[0].span for each in errors]
    return [
        (each.code, span.source.position(span.start)[0], each.message) for each, span in zip(errors, spans, strict=True)
    ]


def test_without_a_mistake_there_is_no_error(tmp_path: Path) -> None:
    assert reported(tmp_path, [*SCORES, *OTHERS]) == []


@pytest.mark.parametrize(("place", "line"), PLANTED)
def test_a_mistake_is_reported_in_its_line_alone(tmp_path: Path, place: int, line: str) -> None:
    lines = [*SCORES, *OTHERS]
    lines[place] = line
    spec = SPEC.format(scores="\n".join(lines[:3]), others="\n".join(lines[3:]))
    own = [number for number, text in enumerate(spec.splitlines(), 1) if text == line]
    assert len(own) == 1
    found = reported(tmp_path, lines)
    assert found and {number for _, number, _ in found} == set(own), found
