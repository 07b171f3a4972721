"""Two scores of one name, each where its condition holds: a reply that decides which, and is lacking, is counted once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.field.running import figures_of, lines

SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "rows.jsonl" { question text, key text secret }
scenario answer {
  over item
  ask sure by candidate { prompt "Sure? {{ item.question }}", returns choice(yes, no) }
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.key) when sure.value == yes
  score right = not contains(reply.text, item.key) when sure.value == no
  score each  = contains(reply.text, w) each w in (item.key, "is") when sure.value == yes
  score each  = contains(reply.text, w) each w in (item.key, "is") when sure.value == no
}
measure found   = mean(right)
measure counted = mean(right, missing: zero)
measure parts   = mean(each, missing: zero)
"""
ROWS = [{"question": f"Question {n}?", "key": f"key {n}"} for n in range(4)]


def says(prompt: str) -> str:
    if prompt.startswith("Sure?"):
        return "I cannot tell." if "Question 3" in prompt else '{"value": "yes"}'
    return f"It is key {prompt.partition('Question ')[2].rstrip('?')}"


def test_an_item_whose_condition_cannot_be_told_counts_once(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, SPEC.replace("sure.value", "sure"), {"rows.jsonl": lines(ROWS)}, says)
    assert figures["found"].value == 1
    assert figures["found"].coverage == pytest.approx(3 / 4)
    assert figures["counted"].value == pytest.approx(3 / 4)
    assert figures["parts"].coverage == pytest.approx(3 / 4)
    told = [score.status for score in figures.scores if score.metric == "right" and score.fields == ROWS[3]]
    assert sorted(told) == ["not_applicable", "parse_failure"]
