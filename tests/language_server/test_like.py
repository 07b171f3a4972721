"""Scenarios that are like others, and declarations for each row, in an editor."""

from __future__ import annotations

from talking import Editor

OLD = "measure overall = mean(rubric)"
LIKE = f"""\
scenario short like sums {{
  score long = words(reply.said) > 1
}}

{OLD}"""
ROWS = f"""\
rows lengths {{
  | name  | most |
  | brief | 10   |
  | ample | 90   |
}}

for each length in lengths {{
  scenario length.name {{
    context language * stage
    over item
    ask reply by candidate {{ prompt "{{{{ stage }}}} {{{{ item.question }}}} {{{{ length.most }}}}" }}
    score fits = words(reply.text) < length.most
  }}
}}

measure fitting = mean(fits)

{OLD}"""


def test_what_a_scenario_changes_is_shown_at_its_name(editor: Editor) -> None:
    with editor.edited("quiz.tripos", OLD, LIKE):
        assert "as `sums`, except: `score long`" in (editor.hover("quiz.tripos", "scenario sho|rt like") or "")
        assert editor.definition("quiz.tripos", "like su|ms") == [("quiz.tripos", "sums")]


def test_a_step_is_renamed_where_it_is_inherited(editor: Editor) -> None:
    with editor.edited("quiz.tripos", OLD, LIKE):
        changed = editor.renamed("quiz.tripos", "score long = words(rep|ly.said) > 1", "answer")["quiz.tripos"]
    assert "score long = words(answer.said) > 1\n" in changed
    assert "score long = words(answer.said) > 3\n" in changed
    assert changed.count("ask answer by candidate") == 1


def test_names_in_a_repetition_are_known_and_proposed(editor: Editor) -> None:
    with editor.edited("quiz.tripos", OLD, ROWS):
        assert editor.definition("quiz.tripos", "words(rep|ly.text) < length") == [("quiz.tripos", "reply")]
        assert editor.definition("quiz.tripos", "length in leng|ths") == [("quiz.tripos", "lengths")]
        assert "reply" in editor.completions("quiz.tripos", "words(rep|ly.text) < length")
        assert "score" in editor.completions("quiz.tripos", "    sco|re fits")
