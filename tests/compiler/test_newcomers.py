"""What newcomers write first is met by one error that says what holds and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from compiling import compile_files

SPEC = """\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role judge
dataset item from "items.jsonl" {{ question text, kind text, answer text secret }}
{head}
scenario sums {{
  over item
  ask reply by candidate {{ prompt "{{{{ item.question }}}}" }}
  score right = contains(reply.text, item.answer)
  {inside}
}}
{below}
"""
ITEMS = """\
{"question": "2 + 2", "kind": "sum", "answer": "4"}
{"question": "3 * 7", "kind": "product", "answer": "21"}
"""
GRADER = """\
scorer marks(reply: text) by judge {
  prompt "{{ reply }}"
  gives  1..5
}
"""
DUEL = """\
scorer better(one: text, two: text) by judge {
  prompt "{{ one }} or {{ two }}?"
  gives  choice(one, two, tie)
}
"""
NEEDS_ROW = 'mean({}, where: item.kind == "sum")'


@pytest.mark.parametrize(
    ("head", "inside", "below", "message", "help_"),
    [
        (
            "",
            "",
            f"measure m = {NEEDS_ROW.format('right')}",
            "outside of a scenario, `where` chooses among the values of `right` alone",
            "write this measure in the scenario `sums`, which knows the row and the reply",
        ),
        (
            GRADER,
            "score marks = marks(reply.text)",
            f"measure m = {NEEDS_ROW.format('marks')}",
            "`where` chooses among the values of `marks` alone, as a judge gave it",
            'score it there: `score NAME = … when item.kind == "sum"`; a judge is asked once for both scores',
        ),
        (
            GRADER,
            "score marks = marks(reply.text)\n  measure m = mean(right, where: marks == 5)",
            "",
            "`where` chooses among the values of `right` itself, or of the row and the reply",
            "score it there: `score NAME = … when marks == 5`; a judge is asked once for both scores",
        ),
        (
            "",
            "score short = right and words(reply.text) < 9",
            "",
            "there is no `right` here",
            "`right` is a score, which measures read: write `let NAME = …` above with its value, and use NAME in both",
        ),
        (
            GRADER,
            "score m = marks(reply.text)\n  score good = m > 3",
            "",
            "there is no `m` here",
            "`m` is a score, which measures read: write `marks(reply.text)` here; a judge is asked once for both",
        ),
        (
            "",
            "score f = token_f1(reply.text, item.answer)",
            "",
            "there is no function `token_f1`",
            "`tripos docs functions --text` lists them",
        ),
        (
            "",
            'ask other by candidate { prompt """\n    {{ bullets(["<{{ n }}>" each n in ("a", "b")]) }}\n    """ }',
            "",
            "a hole ends at the first `}}`, and here that stands inside of a text",
            "write the text with holes as a `let` before, and its name in this hole",
        ),
        (
            "",
            "score long = length(item.question) > 5",
            "",
            "this score depends on no reply of the compared role",
            "score something that depends on a reply of the role under test, such as `answer.text`; what the rows or a "
            "`retrieve` show is a measure of the scenario: `measure NAME = mean(…)`",
        ),
        (
            'scorer g(reply: text) by judge {\n  prompt "{{ reply }}"\n  gives { why text, fine bool } in last\n}\n',
            "score g = g(reply.text)",
            "",
            "`in` does not fit here",
            "reasons and a verdict are written `gives { reasons text, verdict bool }`; `in` is for a verdict alone",
        ),
        (
            DUEL,
            "compare won using better(first.reply.text, second.reply.text)",
            "measure m = share(won == one)",
            "`won` compares two models, and no condition is taken of it",
            "write `win_rate(won)`, or `position_bias(won)` for the place in which it was shown",
        ),
        (
            "",
            "",
            "measure m = mean(right) by item",
            "`item` is a row, and figures go by fields of rows",
            "name a field of the rows: `item.answer`, `item.kind`, `item.question`",
        ),
    ],
)
def test_a_first_mistake_is_met_by_what_to_write(
    tmp_path: Path, head: str, inside: str, below: str, message: str, help_: str
) -> None:
    text = SPEC.format(head=head, inside=inside, below=below)
    found = compile_files(tmp_path, {"spec.tripos": text, "items.jsonl": ITEMS}).diagnostics
    assert [(item.message, item.help) for item in found if item.severity == "error"] == [(message, help_)]


@pytest.mark.parametrize("inside", [f"measure m = {NEEDS_ROW.format('right')}", "let fine = right"])
def test_what_the_help_says_holds(tmp_path: Path, inside: str) -> None:
    if inside.startswith("let"):
        inside = "let fine = contains(reply.text, item.answer)\n  score short = fine and words(reply.text) < 9"
    text = SPEC.format(head="", inside=inside, below="").replace("role judge\n", "")
    assert compile_files(tmp_path, {"spec.tripos": text, "items.jsonl": ITEMS}).diagnostics == ()
