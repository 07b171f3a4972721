"""Mock models choose among options in every form that a question with options has: each reply can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.lengths import spread

HEAD = """
benchmark quiz "1.0.0" {{ languages {language} }}
role candidate compared

dataset item from "items.jsonl" {{
  question  text
  options   list<text>
  answer    text secret
}}

scenario quiz {{
  over item
  options put from item.options with key item.answer shuffled by item.question{letters}
  ask reply by candidate {{
{ask}
  }}
{score}
  score read = {read}
  measure accuracy = mean(right)
  measure read     = mean(read)
}}
"""
CHOSEN = "  score right = chosen_option(reply.text, put.options{letters}) == put.letter"
FORMS = {
    "in words": ('    prompt "{{ item.question }}\\n{{ put.text }}\\nExplain it, and end with the letter."', CHOSEN, ""),
    "a letter alone": ('    prompt "{{ item.question }}\\n{{ put.text }}\\nAnswer with one letter."',
                       "  score right = reply.text == put.letter", ""),
    "a base model": ('    plain\n    prompt "Q: Which is 2?\\nA. 1\\nB. 2\\nC. 3\\nA: B\\n\\nQ: {{ item.question }}\\n{{ put.text }}\\nA:"',
                     "  score right = trim(reply.text) == put.letter", ""),
    "other letters": ('    prompt "{{ item.question }}\\n{{ put.text }}\\nWhich one?"', CHOSEN, "甲乙丙丁"),
    "Roman numerals": ('    prompt "{{ item.question }}\\n{{ put.text }}\\nWhich one?"', CHOSEN, "I II III IV"),
    "brackets": ('    prompt "{{ item.question }}\\n{{ put.text }}\\nWhich one?"', CHOSEN, ""),
    "square brackets": ('    prompt "{{ item.question }}\\n{{ put.text }}\\nWhich one?"', CHOSEN, ""),
    "colons": ('    prompt "{{ item.question }}\\n{{ put.text }}\\nWhich one?"', CHOSEN, ""),
    "a choice": ('    prompt "{{ item.question }}\\n{{ put.text }}"\n    returns choice(A, B, C, D)',
                 "  score right = reply == put.letter", ""),
    "a record": ('    prompt "{{ item.question }}\\n{{ put.text }}"\n    returns { why text, letter choice(A, B, C, D) }',
                 "  score right = reply.letter == put.letter", ""),
    "a likelihood": ('    prompt "{{ item.question }}"\n    likelihood of put.options',
                     "  score right = reply.likeliest == put.right", ""),
}  # fmt: skip
MARKS = {"brackets": "({}) ", "square brackets": "[{}] ", "colons": "{}: "}
ITEMS = 40


READ = {
    "a choice": "length(reply) == 1",
    "a record": "length(reply.letter) == 1",
    "a likelihood": "reply.likeliest < 4",
}


def figures(tripos: Command, form: str, language: str, model: str) -> tuple[float, float]:
    """Return the share of right replies, and of those that could be read, for a form of a question."""
    ask, score, letters = FORMS[form]
    told = f' lettered "{letters}"' if letters else ""
    told += f' marked "{MARKS[form]}"' if form in MARKS else ""
    given = f', "{letters}"' if letters else ""
    read = READ.get(form, f'default(chosen_option(reply.text, put.options{given}), "") != ""')
    spec = HEAD.format(language=language, letters=told, ask=ask, score=score.replace("{letters}", given), read=read)
    Path("quiz.tripos").write_text(spec, "utf-8")
    asked = "哪一个是{number}的下一个整数？请选择。" if language == "zh" else "Which follows {number}?"
    rows = [{"question": asked.format(number=number), "options": [f"{number + step}" for step in range(4)], "answer": "B"}
            for number in range(10, 10 + ITEMS)]  # fmt: skip
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    ran = tripos("run", "quiz.tripos", "--model", model, "--json")
    assert ran.code == 0, ran.out + ran.err
    right, read = tripos("report", "--json").data["measures"]
    assert (right["rows"][0]["coverage"], read["rows"][0]["coverage"]) == (1, 1)
    return right["rows"][0]["value"], read["rows"][0]["value"]


@pytest.mark.parametrize("form", spread(FORMS, 3))
def test_a_careful_mock_is_right_by_chance_and_always_read(
    form: str, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    right, read = figures(tripos, form, "en", "mock/careful")
    assert read == 1
    assert 2 / ITEMS <= right <= 20 / ITEMS


def test_it_does_so_in_chinese_and_a_careless_one_now_and_then(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert figures(tripos, "in words", "zh", "mock/careful")[1] == 1
    assert 0.5 < figures(tripos, "in words", "en", "mock/careless")[1] < 1
