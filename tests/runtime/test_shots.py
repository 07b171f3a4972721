"""Shots: which rows are shown before a question, how, and that whatever changes them asks anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.small_runs import SmallRun, run_small

HEAD = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
dataset question from "items.jsonl" { question text, answer text secret, level 1..3 }
"""
WORKED = 'dataset worked from "worked.jsonl" like question\n'
ITEMS = [{"question": "6 x 7", "answer": "42", "level": 3}, {"question": "half of 9", "answer": "4.5", "level": 1}]
EXAMPLES = [
    {"question": "2 + 2", "answer": "4", "level": 1},
    {"question": "12 x 12", "answer": "144", "level": 3},
    {"question": "half of 7", "answer": "3.5", "level": 2},
]


def shown(folder: Path, shots: str, *, worked: str = WORKED, examples: Any = EXAMPLES, **options: Any) -> SmallRun:
    spec = f"""{HEAD}{worked}
scenario sums {{
  over question as q
  ask reply by candidate {{
    system "Be brief."
    {shots}
    prompt "{{{{ q.question }}}}?"
  }}
  score right = contains(reply.text, q.answer)
}}
"""
    return run_small(folder, spec, {"items.jsonl": ITEMS, "worked.jsonl": examples}, **options)


def before_question(run: SmallRun, question: str) -> list[tuple[str, str]]:
    """Return what was sent before a question, the system message left out."""
    (sent,) = [sent for sent in run.sent("a") if sent[-1] == ("user", question)]
    assert sent[0] == ("system", "Be brief.")
    return list(sent[1:-1])


def test_the_first_rows_are_questions_and_replies_before_the_question(tmp_path: Path) -> None:
    run = shown(tmp_path, "shots 2 from worked")
    shots = [("user", "2 + 2?"), ("assistant", "4"), ("user", "12 x 12?"), ("assistant", "144")]
    assert before_question(run, "6 x 7?") == shots
    assert before_question(run, "half of 9?") == shots


def test_a_condition_chooses_among_the_rows_and_looks_at_the_row_at_hand(tmp_path: Path) -> None:
    run = shown(tmp_path, "shots 2 from worked as w where w.level < q.level")
    assert before_question(run, "6 x 7?") == [
        ("user", "2 + 2?"),
        ("assistant", "4"),
        ("user", "half of 7?"),
        ("assistant", "3.5"),
    ]
    assert before_question(run, "half of 9?") == []


MANY = [{"question": f"{number} + 0", "answer": str(number), "level": 1 + number % 3} for number in range(40)]


def drawn_before(run: SmallRun) -> dict[str, list[str]]:
    """Return the questions of the shots before each question."""
    sent = [messages for messages in run.sent("a") if messages[0] == ("system", "Be brief.")]
    return {each[-1][1]: [text for role, text in each[1:-1] if role == "user"] for each in sent}


def test_one_text_draws_one_set_and_a_text_of_the_row_a_set_for_each(tmp_path: Path) -> None:
    fixed = drawn_before(shown(tmp_path / "a", 'shots 5 from worked drawn by "1"', examples=MANY))
    [one] = {tuple(each) for each in fixed.values()}
    assert len(set(one)) == 5 and one != tuple(f"{number} + 0?" for number in range(5))
    again = drawn_before(shown(tmp_path / "b", 'shots 5 from worked drawn by "1"', examples=MANY))
    other = drawn_before(shown(tmp_path / "c", 'shots 5 from worked drawn by "2"', examples=MANY))
    assert again == fixed and other != fixed
    few = drawn_before(shown(tmp_path / "d", 'shots 3 from worked drawn by "1"', examples=MANY))
    assert {tuple(each) for each in few.values()} == {one[:3]}, "fewer are the first of more"
    own = drawn_before(shown(tmp_path / "e", "shots 5 from worked drawn by q.question", examples=MANY))
    assert len({tuple(each) for each in own.values()}) == len(ITEMS)
    held = drawn_before(
        shown(tmp_path / "f", "shots 9 from worked where worked.level == q.level drawn by q.question", examples=MANY)
    )
    levels = {f"{each['question']}?": each["level"] for each in [*MANY, *ITEMS]}
    assert all({levels[shot] for shot in shots} == {levels[asked]} for asked, shots in held.items())


def test_draws_are_even_and_no_row_is_drawn_for_itself(tmp_path: Path) -> None:
    """As the `random` sampler of the LM Evaluation Harness draws: n of the rows, without those of the question."""
    spec = """
benchmark sums "1.0.0" { languages en }
role candidate compared
dataset question from "worked.jsonl" { question text, answer text, level 1..3 }
scenario sums {
  over question as q
  ask reply by candidate {
    system "Be brief."
    shots 4 from question as w drawn by join(("seed 1234", q.question), " ") {
      prompt "{{ w.question }}?"
      reply  "{{ w.level }}"
    }
    prompt "{{ q.question }}?"
  }
  score right = contains(reply.text, "1")
}
"""
    rows = [{"question": f"{number} + 0", "answer": str(number), "level": 1} for number in range(200)]
    found = drawn_before(run_small(tmp_path, spec, {"worked.jsonl": rows}))
    assert len(found) == 200
    assert all(len(set(shots)) == 4 and asked not in shots for asked, shots in found.items())
    counts = Counter(shot for shots in found.values() for shot in shots)
    spread = sum((counts[f"{number} + 0?"] - 4) ** 2 / 4 for number in range(200))
    assert 120 < spread < 290, "χ² of 199 degrees of freedom lies there in all but one of 10,000 seeds"


def test_where_fewer_rows_fit_fewer_are_shown(tmp_path: Path) -> None:
    run = shown(tmp_path, "shots 5 from worked where worked.level == 3")
    assert before_question(run, "6 x 7?") == [("user", "12 x 12?"), ("assistant", "144")]


def test_several_shots_follow_each_other_in_texts_of_their_own(tmp_path: Path) -> None:
    own = 'shots 1 from worked as w where w.level == 2 { prompt "Level {{ w.level }}: {{ w.question }}", reply "It is {{ w.answer }}." }'
    run = shown(tmp_path, f"shots 1 from worked\n    {own}")
    assert before_question(run, "6 x 7?") == [
        ("user", "2 + 2?"),
        ("assistant", "4"),
        ("user", "Level 2: half of 7"),
        ("assistant", "It is 3.5."),
    ]


def test_a_row_is_no_shot_for_itself(tmp_path: Path) -> None:
    run = shown(tmp_path, "shots 1 from worked", examples=[ITEMS[0], *EXAMPLES])
    assert before_question(run, "6 x 7?") == [("user", "2 + 2?"), ("assistant", "4")]
    assert before_question(run, "half of 9?") == [("user", "6 x 7?"), ("assistant", "42")]


def test_a_row_that_is_read_with_other_fields_is_no_shot_for_itself(tmp_path: Path) -> None:
    spec = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
dataset asked from "items.jsonl" { question text, level 1..3 }
scenario sums {
  over item
  ask reply by candidate {
    shots 1 from asked { prompt "{{ asked.question }}", reply "level {{ asked.level }}" }
    prompt "{{ item.question }}"
  }
  score right = contains(reply.text, item.answer)
}
"""
    sent = run_small(tmp_path, spec, {"items.jsonl": ITEMS}).sent("a")
    assert {(each[0][1], each[-1][1]) for each in sent} == {("half of 9", "6 x 7"), ("6 x 7", "half of 9")}


def test_a_row_that_shares_the_key_is_no_shot(tmp_path: Path) -> None:
    head = HEAD.replace("level 1..3 }", "level 1..3, key level }")
    spec = f"""{head}{WORKED}
scenario sums {{
  over question as q
  ask reply by candidate {{ shots 1 from worked, prompt "{{{{ q.question }}}}" }}
  score right = contains(reply.text, q.answer)
}}
"""
    sent = run_small(tmp_path, spec, {"items.jsonl": ITEMS, "worked.jsonl": EXAMPLES}).sent("a")
    assert {(each[0][1], each[-1][1]) for each in sent} == {("2 + 2", "6 x 7"), ("12 x 12", "half of 9")}


def test_a_row_for_which_the_condition_has_no_value_is_passed_over(tmp_path: Path) -> None:
    run = shown(tmp_path, "shots 1 from worked where 6 / (worked.level - 1) > 2")
    assert before_question(run, "6 x 7?") == [("user", "12 x 12?"), ("assistant", "144")]


def test_a_step_whose_shots_need_a_reply_that_is_not_there_is_not_asked(tmp_path: Path) -> None:
    spec = f"""{HEAD}{WORKED}
scenario sums {{
  over question as q
  ask first by candidate {{ prompt "how hard is {{{{ q.question }}}}", returns integer }}
  ask reply by candidate {{
    shots 1 from worked where worked.level < first
    prompt "{{{{ q.question }}}}"
  }}
  score right = contains(reply.text, q.answer)
}}
"""
    run = run_small(tmp_path, spec, {"items.jsonl": ITEMS, "worked.jsonl": EXAMPLES}, script=lambda request: "no idea")
    assert {row["step"] for row in run.table("samples")} == {"first"}
    assert {row["status"] for row in run.table("scores")} == {"parse_failure"}


@pytest.mark.parametrize(
    ("shots", "examples"),
    [
        ("shots 2 from worked", EXAMPLES[1:]),
        ("shots 1 from worked", EXAMPLES),
        ("shots 2 from worked where worked.level < 3", EXAMPLES),
        ('shots 2 from worked as w { prompt "{{ w.question }}?", reply "{{ w.answer }}!" }', EXAMPLES),
    ],
)
def test_whatever_changes_the_shots_asks_anew(tmp_path: Path, shots: str, examples: list[dict[str, Any]]) -> None:
    first = shown(tmp_path, "shots 2 from worked")
    assert shown(tmp_path, "shots 2 from worked", before=first).asked == {"a": 0}
    assert shown(tmp_path, shots, examples=examples, before=first).asked == {"a": 2}


def test_shots_of_one_arm_leave_the_others_alone(tmp_path: Path) -> None:
    spec = f"""arm examples {{ none, one }}
{HEAD}{WORKED}
scenario sums {{
  over question as q
  arms examples
  ask reply by candidate {{
    shots 1 from worked when examples == one
    prompt "{{{{ q.question }}}}"
  }}
  score right = contains(reply.text, q.answer)
}}
"""
    run = run_small(tmp_path, spec, {"items.jsonl": ITEMS, "worked.jsonl": EXAMPLES})
    assert sorted(len(sent) for sent in run.sent("a")) == [1, 1, 3, 3]


def test_a_changed_key_asks_anew_where_other_shots_are_shown(tmp_path: Path) -> None:
    def keyed(key: str, before: SmallRun | None = None) -> SmallRun:
        head = HEAD.replace("level 1..3 }", f"level 1..3, key {key} }}")
        spec = f"""{head}{WORKED}
scenario sums {{
  over question as q
  ask reply by candidate {{ shots 1 from worked, prompt "{{{{ q.question }}}}" }}
  score right = contains(reply.text, q.answer)
}}
"""
        return run_small(tmp_path, spec, {"items.jsonl": ITEMS, "worked.jsonl": EXAMPLES}, before=before)

    first = keyed("level")
    assert keyed("level", first).asked == {"a": 0}
    assert keyed("level > 1", first).asked == {"a": 0}  # the same shots are sent
    assert keyed("level > 0", first).asked == {"a": 2}  # all share it: no shot is left
