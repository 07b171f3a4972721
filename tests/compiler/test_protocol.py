"""Protocols that are well formed and measure something else: what is warned of, and what is not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from compiling import compile_files

QUESTIONS = (
    ("Where does water boil at sea level?", ["90 °C", "100 °C", "110 °C"], "B"),
    ("Which planet is nearest to the sun?", ["Venus", "Earth", "Mercury"], "C"),
    ("How many sides has a hexagon?", ["six", "five", "seven"], "A"),
    ("Which is the largest ocean?", ["Atlantic", "Pacific", "Arctic"], "B"),
    ("Which metal is liquid in a warm room?", ["iron", "tin", "mercury"], "C"),
    ("Which gas do plants take in?", ["carbon dioxide", "oxygen", "helium"], "A"),
)
EXAM = """benchmark exam "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { number integer, question text, options list<text>, answer text secret }
dataset worked from "worked.jsonl" like item
scenario exam {
  over item
  ask reply by candidate {
    shots 1 from worked { prompt "{{ worked.question }}", reply "{{ worked.answer }}" }
    prompt "{{ item.question }}\\n{{ lettered(item.options) }}"
  }
  score right = chosen_option(reply.text, item.options) == item.answer
}
"""
RIGHT = "chosen_option(reply.text, item.options) == item.answer"
WORKED = {"number": 0, "question": "Which animal barks?", "options": ["cat", "dog"], "answer": "B"}


def rows() -> list[dict[str, object]]:
    return [
        {"number": number, "question": question, "options": options, "answer": answer}
        for number, (question, options, answer) in enumerate(QUESTIONS, 1)
    ]


def warned(
    folder: Path, spec: str = EXAM, items: list[dict[str, object]] | None = None, worked: object = WORKED
) -> list[str]:
    files = {
        "spec.tripos": spec,
        "items.jsonl": "\n".join(map(json.dumps, rows() if items is None else items)),
        "worked.jsonl": json.dumps(worked),
    }
    return [f"{item.code} {item.message}" for item in compile_files(folder, files).diagnostics]


def test_a_sound_exam_is_not_warned_of(tmp_path: Path) -> None:
    assert warned(tmp_path) == []


@pytest.mark.parametrize(
    ("letters", "said"),
    [("", ""), (', "I II III"', ', "I II III"'), (', "I II III", "({}) "', ', "I II III"'), (', mark: "({}) "', "")],
)
def test_options_are_looked_at_whatever_letters_and_mark_they_have(tmp_path: Path, letters: str, said: str) -> None:
    told = 'prompt """{{ item.question }}\n{{ lettered(item.options' + letters + ') }}"""'
    read = f"key_place(readable(chosen_option(reply.text, item.options{said})), item.options{said})"
    spec = EXAM.replace('prompt "{{ item.question }}\\n{{ lettered(item.options) }}"', told).replace(
        RIGHT, f"{read} == key_place(item.answer, item.options)"
    )
    twice = [{**row, "options": ["one", "two", "one"]} if row["number"] == 2 else row for row in rows()]
    assert not [each for each in warned(tmp_path, spec) if each.startswith(("E", "W10"))]
    doubles = [each for each in warned(tmp_path, spec, twice) if each.startswith("W1009")]
    assert doubles and all("row 2 " in each for each in doubles)


def test_what_a_measure_reads_of_options_is_warned_of_too(tmp_path: Path) -> None:
    measured = EXAM.replace(
        f"score right = {RIGHT}", f'score said = contains(reply.text, "I")\n  measure m = mean({RIGHT})'
    )
    assert not [each for each in warned(tmp_path, measured) if not each.startswith("W10")]
    hidden = measured.replace("\\n{{ lettered(item.options) }}", "")
    assert "W1005 `m` reads which option is chosen, and no prompt shows the options" in warned(tmp_path, hidden)


@pytest.mark.parametrize(
    ("score", "winner"),
    [
        ("contains(reply.text, item.answer)", "the reply `A B C D E F`"),
        ('contains(reply.text, item.answer) or reply.text == ""', "an empty reply"),
        ('contains(reply.text, nth(split(item.question, " "), 1))', "the question itself as the reply"),
        ("not contains(reply.text, item.answer)", "an empty reply"),
    ],
)
def test_a_reply_that_answers_nothing_and_is_right_is_named(tmp_path: Path, score: str, winner: str) -> None:
    [message] = warned(tmp_path, EXAM.replace(RIGHT, score))
    assert message == f"W1001 {winner} to every row gets 1.00 on `right`"


def test_the_share_of_a_constant_is_that_of_all_rows(tmp_path: Path) -> None:
    items = [
        {**row, "answer": "B" if number < 9 else "A", "question": f"Question {number}?"}
        for number in range(10)
        for row in rows()[:1]
    ]
    assert warned(tmp_path, items=items) == ["W1001 the reply `B` to every row gets 0.90 on `right`"]


def test_a_constant_that_is_right_for_half_of_the_rows_is_not_warned_of(tmp_path: Path) -> None:
    items = [
        {**row, "answer": "AB"[number % 2], "question": f"Question {number}?"}
        for number in range(10)
        for row in rows()[:1]
    ]
    assert warned(tmp_path, items=items) == []


def test_a_constant_that_is_right_in_one_of_two_arms_is_not_warned_of(tmp_path: Path) -> None:
    spec = """benchmark exam "1.0.0" { languages en }
role candidate compared
arm shown { true_one, false_one }
dataset item from "items.jsonl" { question text, truth text, lie text }
scenario facts {
  over item
  arms shown
  ask holds by candidate {
    prompt "{{ item.question }} {{ choose(shown == true_one, item.truth, item.lie) }}. Is that so?"
    returns bool
  }
  score right = holds == (shown == true_one)
}
"""
    items = [{"question": f"Question {number}?", "truth": f"t{number}", "lie": f"l{number}"} for number in range(6)]
    found = compile_files(tmp_path, {"spec.tripos": spec, "items.jsonl": "\n".join(map(json.dumps, items))})
    assert found.diagnostics == ()


def test_what_looks_at_no_row_is_a_rule_of_form(tmp_path: Path) -> None:
    assert warned(tmp_path, EXAM.replace(RIGHT, f"{RIGHT}\n  score short = words(reply.text) < 30")) == []


def test_keys_that_are_the_texts_of_options_are_no_letters(tmp_path: Path) -> None:
    items = [{**row, "answer": row["options"][place % 3]} for place, row in enumerate(rows())]  # type: ignore[index]
    assert warned(tmp_path, items=items) == ["W1002 no reply gets `right` of row 1 of this scenario, nor of 5 more"]


def test_one_key_in_another_form_than_all_others_is_found(tmp_path: Path) -> None:
    spec = EXAM.replace(RIGHT, "upper(trim(reply.text)) == item.answer")
    items = [*rows()[:5], {**rows()[5], "answer": "a"}]
    assert warned(tmp_path, spec, items) == ["W1002 no reply gets `right` of row 6 of this scenario"]


def test_a_key_beyond_the_options_of_its_row_is_found(tmp_path: Path) -> None:
    items = [*rows()[:5], {**rows()[5], "answer": "D"}]
    assert warned(tmp_path, items=items) == ["W1002 no reply gets `right` of row 6 of this scenario"]


@pytest.mark.parametrize("shuffle", ["", " shuffled by item.question"])
@pytest.mark.parametrize(("type_", "keys"), [("text", "CCDA"), ("integer", (0, 2, 3, -1))])
def test_a_key_of_options_that_names_none_is_found(
    tmp_path: Path, shuffle: str, type_: str, keys: Sequence[object]
) -> None:
    spec = EXAM.replace("answer text", f"answer {type_}").replace("lettered(item.options)", "put.text")
    spec = spec.replace(
        "  over item\n", f"  over item\n  options put from item.options with key item.answer{shuffle}\n"
    )
    spec = spec.replace(RIGHT, "reply.text == put.letter").replace("worked.answer", "worked.number")
    items = [{**row, "answer": key} for row, key in zip(rows(), keys, strict=False)]
    items[3]["options"] = [] if type_ == "text" else items[3]["options"]
    worked = {**WORKED, "answer": keys[0]}
    more = ", nor in 1 more" if type_ == "integer" else ""
    assert warned(tmp_path, spec, items, worked) == [f"W1002 the key names no option in row 3 of this scenario{more}"]


def test_a_question_under_another_number_counts_twice(tmp_path: Path) -> None:
    items = [*rows(), {**rows()[0], "number": 7}]
    assert warned(tmp_path, items=items) == ["W1003 rows 1 and 7 of this scenario ask the same"]


def test_a_question_with_two_keys_is_right_for_nobody(tmp_path: Path) -> None:
    items = [*rows(), {**rows()[0], "number": 7, "answer": "A"}]
    assert warned(tmp_path, items=items) == [
        "W1004 rows 1 and 7 of this scenario ask the same and want different answers"
    ]


@pytest.mark.parametrize(
    "question",
    [
        "Which planet is nearest to the sun?",
        "which planet is NEAREST to the sun",
        "Which planet is nearest to the sun ?!",
    ],
)
def test_a_shot_that_is_a_question_of_the_exam_is_found(tmp_path: Path, question: str) -> None:
    [message] = warned(tmp_path, worked={**WORKED, "question": question})
    assert message.startswith("W1008 `worked` has the question of row 2 of this scenario")


LONG = (
    "A farmer has {n} hens, each of which lays {m} eggs a week; how many eggs are there in the barn after four weeks?"
)


@pytest.mark.parametrize("count", [5, 300])
def test_a_question_that_is_nearly_the_same_is_found_among_many(tmp_path: Path, count: int) -> None:
    texts = [f"{hash_of(n)} {LONG.format(n=n, m=n * 3)} {hash_of(n + 5000)}" for n in range(2 * count)]
    items = [{**row, "number": n, "question": texts[n]} for n in range(count) for row in rows()[:1]]
    others = [{**WORKED, "question": text} for text in texts[count:]]
    near = {**WORKED, "question": texts[count // 2].replace(";", ",").replace("four weeks", "four weeks in all")}
    for shown, expected in ((others, 0), ([*others, near], 1)):
        files = {
            "spec.tripos": EXAM,
            "items.jsonl": "\n".join(map(json.dumps, items)),
            "worked.jsonl": "\n".join(map(json.dumps, shown)),
        }
        found = [item for item in compile_files(tmp_path, files).diagnostics if item.code == "W1008"]
        assert len(found) == expected
    assert found[0].message == (
        f"`worked` has the question of row {count // 2 + 1} of this scenario: shots would show its answer"
    )
    assert found[0].notes[0].startswith(f"row {len(others) + 1} of worked.jsonl: “")


def hash_of(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:60]


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("train", ["W1008 `item` has the question of row 1 of this scenario: shots would show its answer"]),
        ("spare", []),
    ],
)
def test_the_other_split_of_a_file_is_looked_at_by_its_condition(
    tmp_path: Path, split: str, expected: list[str]
) -> None:
    spec = """benchmark exam "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { split text, number integer, question text, answer text }
scenario exam {
  over item where item.split == "test"
  ask reply by candidate {
    shots 1 from item as s where s.split == "train" { prompt "{{ s.question }}", reply "{{ s.answer }}" }
    prompt "{{ item.question }}"
  }
  score right = same_number(final_number(reply.text), length(item.answer))
}
"""
    items = [{"split": "test", "number": n, "question": row[0], "answer": f"{n}"} for n, row in enumerate(QUESTIONS)]
    items += [{**items[0], "number": 7, "split": split, "answer": "B"}]
    files = {"spec.tripos": spec, "items.jsonl": "\n".join(map(json.dumps, items))}
    found = compile_files(tmp_path, files).diagnostics
    assert [f"{item.code} {item.message}" for item in found if item.code == "W1008"] == expected


def test_rows_of_one_key_are_never_shown_for_each_other(tmp_path: Path) -> None:
    spec = EXAM.replace("answer text secret }", "answer text secret, key lower(question) }")
    assert warned(tmp_path, spec, worked={**WORKED, "question": QUESTIONS[1][0]}) == []


def test_training_data_that_is_asked_is_found(tmp_path: Path) -> None:
    spec = EXAM + 'export lessons { examples from worked, prompt "{{ worked.question }}", reply worked.answer }\n'
    spec = spec.replace('    shots 1 from worked { prompt "{{ worked.question }}", reply "{{ worked.answer }}" }\n', "")
    assert warned(tmp_path, spec) == []
    assert warned(tmp_path, spec, worked={**WORKED, "question": QUESTIONS[1][0].upper()}) == [
        "W1008 `worked` has the question of row 2 of scenario `exam`: what is learned is asked"
    ]


def test_a_scorer_that_hides_the_reply_in_one_language_is_found(tmp_path: Path) -> None:
    spec = """benchmark exam "1.0.0" { languages en, de }
role candidate compared
role judge
scorer kind(said: text) by judge {
  prompt en "Is this kind? {{ said }}"
  prompt de "Ist das freundlich?"
  gives  bool
}
scenario talk {
  context language
  ask reply by candidate { prompt en "Say hello." de "Sag hallo." }
  score kind = kind(reply.text)
}
"""
    found = compile_files(tmp_path, {"spec.tripos": spec}).diagnostics
    assert [f"{item.code} {item.message}" for item in found] == ["W1010 no text of scorer `kind` shows `said` in de"]


def test_a_warning_can_be_silenced_with_a_reason(tmp_path: Path) -> None:
    spec = EXAM.replace(RIGHT, "contains(reply.text, item.answer)  # allow W1001: it shows what a lax score gives")
    assert warned(tmp_path, spec) == []


def test_a_row_that_decides_settings_alone_is_not_shown(tmp_path: Path) -> None:
    alone = EXAM.partition("scenario exam")[0] + (
        "scenario exam {\n  over item\n"
        '  ask reply by candidate { prompt "Which is it?", temperature 0.7 when item.number > 3, temperature 0.1 }\n'
        f"  score right = {RIGHT}\n}}\n"
    )
    assert "W1006 no prompt shows the row `item`: every row asks the same" in warned(tmp_path, alone)
    told = alone.replace("Which is it?", "Which is it? {{ item.question }}")
    assert not [each for each in warned(tmp_path, told) if each.startswith("W1006")]
