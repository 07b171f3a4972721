"""The trial of secrecy: it finds what leaks, and says nothing of what does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unproved import unproved, written

WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")
ITEMS = [
    {
        "question": f"What grows in the garden number {number}?",
        "answer": f"{word} of the garden",
        "letter": "AB"[number % 2],
        "size": number,
        "split": ("train", "test")[number % 2],
        "fold": number % 3,
        "points": [word, WORDS[number - 1]],
    }
    for number, word in enumerate(WORDS)
]
ANSWERS = [{"question": row["question"], "right": row["answer"]} for row in ITEMS]
HEAD = """benchmark g "1.0.0" { languages en }
role candidate compared
role tutor
role author
"""
ITEM = """dataset item from "items.jsonl" {
  question text, answer text secret, letter choice(A, B) secret, size integer, split choice(train, test), fold integer
  points list<text> secret
}
"""
FILES: Mapping[str, Any] = {"items.jsonl": ITEMS}


def asked(prompt: str = "{{ item.question }}", before: str = "", inside: str = "", over: str = "over item") -> str:
    """Return a scenario in which the candidate is asked for one reply."""
    return (
        f"scenario one {{\n  {over}\n{before}\n  ask reply by candidate {{\n    {inside}\n"
        f'    prompt "{prompt}"\n  }}\n  score right = contains(reply.text, "amber")\n}}\n'
    )


HINT = '  ask hint by tutor {{ prompt "{}" }}'
TALK = """  converse talk {
    tutor { system "%s" }
    candidate { system "Talk." }
    opens tutor
    until tutor says "yes"
    limit 4 turns
  }
"""
REPLIES = """dataset talk from "talks.jsonl" {
  said list<{ name text, text text }> from "replies"
  labels list<{ %s }> secret from "replies"
}
scenario one {
  over talk
  ask reply by candidate each r in talk.said { prompt "{{ r.text }}" }
  score right = p.first.text == p.second each p in zip(reply, [l.label each l in talk.labels])
}
"""
TALKS = [
    {"replies": {f"{word} {n}": {"text": f"{word} says {n}", "label": word, "fits": n} for n in range(1 + i % 3)}}
    for i, word in enumerate(WORDS)
]
EXAM = 'dataset exam from "exam.jsonl" { question text, about json, key json secret }\n'
KEYS = [
    {
        "question": f"How long is {n}?",
        "about": {"unit": "cm"},
        "key": {"by": "Ada", "marks": [{"n": n}, {"n": 9}]} if n % 2 else {"by": "Ada"},
    }
    for n in range(8)
]
MADE = """dataset task by author from item {
  prompt "Write a task like {{ item.question }}. %s"
  returns { task text, solution text secret }
}
"""
COPY = 'dataset copy from "{}" {{ question text, right text }}\n'
LEAKS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "a hole": (ITEM + asked("{{ item.answer }}"), FILES),
    "its length": (ITEM + asked("{{ length(item.points) }}"), FILES),
    "a condition of a text": (ITEM + asked(inside='prompt "Think." when item.letter == A'), FILES),
    "a step that is asked by it": (
        ITEM + asked(before='  ask first by candidate when item.letter == A { prompt "Think of {{ item.question }}" }'),
        FILES,
    ),
    "a role that was told it": (
        ITEM + asked("{{ item.question }} {{ hint.text }}", HINT.format("{{ item.answer }}")), FILES
    ),
    "what was sent to a role": (
        ITEM + asked("{{ hint.prompt }}", HINT.format("{{ item.answer }}")), FILES
    ),
    "a number by a role that was told it": (
        ITEM + asked("{{ hint }}", '  ask hint by tutor { prompt "{{ item.answer }}", returns 1..9 }'), FILES
    ),
    "how long a role that was told it speaks": (
        ITEM + asked("{{ length(lines(hint.text)) }}", HINT.format("{{ lines_ }}").replace(
            "{{ lines_ }}", "{{ item.answer }}")).replace("length(lines(hint.text))", "words(hint.text)"), FILES,
    ),
    "a partner who knows it": (ITEM + "scenario one {\n  over item\n" + TALK % "{{ item.answer }}"
        + "  score right = turns(talk) > 2\n}\n", FILES),
    "a second try where the first was wrong": (
        ITEM + """scenario one {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  ask again by candidate when not contains(reply.text, item.answer) {
    prompt "{{ item.question }} You said {{ reply.text }}, which is wrong."
  }
  score right = contains(again.text, item.answer)
}
""", FILES),
    "whether it is one of the public values": (
        ITEM + 'dataset other from "answers.jsonl" { right text }\n' + asked("{{ item.answer in other.right }}"),
        {**FILES, "answers.jsonl": [{"right": row["answer"]} for row in ITEMS[:4]]},
    ),
    "the same column under another name": (
        ITEM + 'dataset copy from "items.jsonl" { question text, right text from "answer" }\n'
        + asked("{{ first(copy.right) }} {{ nth(copy.right, 1) }}"), FILES),
    "a copy of the file in another format": (
        ITEM + COPY.format("copy.csv") + asked(inside='shots 8 from copy where copy.question == item.question '
        '{ prompt "Q", reply "{{ copy.right }}" }'),
        {**FILES, "copy.csv": ANSWERS},
    ),
    "a copy of the file that is packed": (
        ITEM + COPY.format("copy.jsonl.gz") + asked(inside='shots 8 from copy where copy.question == item.question '
        '{ prompt "Q", reply "{{ copy.right }}" }'),
        {**FILES, "copy.jsonl.gz": ANSWERS},
    ),
    "a record that holds it": (
        ITEM + 'dataset copy from "copy.csv" { question text, about { right text } }\n'
        + asked(inside='shots 8 from copy where copy.question == item.question '
                       '{ prompt "Q", reply "{{ copy.about.right }}" }'),
        {**FILES, "copy.csv": [{"question": row["question"], "about": {"right": row["right"]}} for row in ANSWERS]},
    ),
    "a part of a record that another field reads": (
        REPLIES % "label text, text text", {"talks.jsonl": TALKS}),
    "a part of a record that is secret beside another, alike in all rows": (
        (REPLIES % "label text").replace("}\nscenario", '  fits list<{ fits integer }> secret from "replies"\n}\nscenario')
        .replace("{{ r.text }}", "{{ r.text }} {{ first(talk.fits).fits }}"),
        {"talks.jsonl": [{"replies": {"one": {"text": f"{w} says", "label": w, "fits": 1}}} for w in WORDS]}),
    "the name of a file": (
        ITEM + 'dataset copy from "by/{right}.jsonl" { question text, right text }\n'
        + asked(inside='shots 8 from copy where copy.question == item.question '
                       '{ prompt "Q", reply "{{ copy.right }}" }'),
        {**FILES, **{f"by/{row['right']}.jsonl": [{"question": row["question"]}] for row in ANSWERS}},
    ),
    "two scenarios that share the rows by it": (
        ITEM + asked("Choose well. {{ item.question }}", over="over item where item.letter == A")
        + asked("Be quick. {{ item.question }}", over="over item where item.letter == B")
        .replace("scenario one", "scenario two"), FILES),
    "a made row whose author was told it": (
        ITEM + MADE % "It is {{ item.answer }}." + asked("{{ task.task }}", over="over task"), FILES),
    "what an author wrote as a secret": (
        ITEM + MADE % "" + asked("{{ task.solution }}", over="over task"), FILES),
    "which rows are kept by a filter": (
        ITEM + "dataset kept from item { require item.letter == A }\n"
        + asked("{{ item.question in kept.question }}"), FILES),
    "what is ranked by it": (
        ITEM
        + """scenario one {
  over item
  retrieve near from item as p { top 3 by bm25(item.answer, p.question) }
  ask reply by candidate { prompt "{{ item.question }} {{ json(near.question) }}" }
  score right = contains(reply.text, item.answer)
}
""",
        FILES,
    ),
    "a part of a secret of JSON": (
        EXAM + asked("{{ exam.question }} {{ told }}", '  let told = default(json_part(exam.key, "marks.0.n", integer), 0)',
                     over="over exam"), {"exam.jsonl": KEYS}),
    "a part that is the same in all rows": (
        EXAM + asked("{{ exam.question }} {{ told }}", '  let told = choose(default(json_part(exam.key, "by", text), "Ada") == "Ada", "yes", "no")',
                     over="over exam"), {"exam.jsonl": KEYS}),
    "whether a part is there": (
        EXAM + asked("{{ exam.question }} {{ told }}",
                     '  let told = length(default(json_part(exam.key, "marks", list<json>), []))', over="over exam"),
        {"exam.jsonl": KEYS}),
    "a judge that is compared": (
        ITEM + 'scorer fine(said: text, right: text) by candidate { prompt "{{ said }} {{ right }}", gives bool }\n'
        + asked().replace('contains(reply.text, "amber")', "fine(reply.text, item.answer)"), FILES),
}  # fmt: skip
HONEST: dict[str, tuple[str, Mapping[str, Any]]] = {
    "nothing secret": (ITEM + asked(), FILES),
    "which rows are asked": (ITEM + asked(over="over item where item.letter == A"), FILES),
    "shots of a public split": (
        ITEM + asked(
            inside='shots 2 from item as s where s.split == train { prompt "{{ s.question }}", reply "{{ s.answer }}" }',
            over="over item where item.split == test"), FILES),
    "shots of other folds": (
        ITEM + asked(inside='shots 3 from item as s where s.fold != item.fold '
                            '{ prompt "{{ s.question }}", reply "{{ s.answer }}" }'), FILES),
    "retrieved rows of a training split": (
        ITEM + """scenario one {
  over item where item.split == test
  retrieve near from item as p { where p.split == train, top 2 by bm25(item.question, p.question) }
  ask reply by candidate { prompt "{{ item.question }} {{ json(near) }}" }
  score right = contains(reply.text, item.answer)
}
""", FILES),
    "shots of another file": (
        ITEM + 'dataset worked from "worked.jsonl" { question text, answer text secret }\n'
        + asked(inside='shots 2 from worked { prompt "{{ worked.question }}", reply "{{ worked.answer }}" }'),
        {**FILES, "worked.jsonl": [{"question": f"Who sails the ship {n}?", "answer": f"{n} captains"} for n in "abcd"]},
    ),
    "a tutor who knows nothing": (
        ITEM + asked("{{ item.question }} {{ hint.text }}", HINT.format("A hint for {{ item.question }}")), FILES),
    "a judge who is told": (
        ITEM + 'scorer fine(said: text, right: text) by tutor { prompt "{{ said }} {{ right }}", gives bool }\n'
        + asked().replace('contains(reply.text, "amber")', "fine(reply.text, item.answer)"), FILES),
    "a partner who knows the question": (ITEM + "scenario one {\n  over item\n" + TALK % "{{ item.question }}"
        + "  score right = turns(talk) > 2\n}\n", FILES),
    "a made row": (ITEM + MADE % "" + asked("{{ task.task }}", over="over task"), FILES),
    "a made row that is kept by its secret": (
        ITEM + (MADE % "").replace("  returns", "  require words(task.solution) > 1\n  returns")
        + asked("{{ task.task }}", over="over task"), FILES),
    "a public value by a constant": (ITEM + asked("{{ choose(true, item.question, item.answer) }}"), FILES),
    "a door that a step uses which one world does not come to": (
        ITEM + asked("{{ item.question }} {{ reveal(item.answer) }}",
                     before='  ask hint by tutor when item.letter == B { prompt "{{ reveal(item.answer) }}" }'), FILES),
    "a part of a public value of JSON": (
        EXAM + asked("{{ exam.question }} {{ told }}", '  let told = default(json_part(exam.about, "unit", text), "none")',
                     over="over exam"), {"exam.jsonl": KEYS}),
    "a part of a record beside the secret parts": (
        REPLIES % "label text", {"talks.jsonl": TALKS}),
    "the same in a list of records": (
        REPLIES % "label text, fits integer",
        {"talks.jsonl": [{"replies": [{"name": k, **v} for k, v in row["replies"].items()]} for row in TALKS]}),
    "how many rows there are": (ITEM + asked("{{ length(item) }} {{ first(item).question }}").replace(
        "{{ first(item).question }}", "").replace("length(item)", "length(item.question)"), FILES),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_found_at_its_step(name: str, tmp_path: Path) -> None:
    spec, files = LEAKS[name]
    trial = unproved(written(tmp_path, HEAD + spec, files)).tried()
    assert trial.leaks, f"{trial.messages} messages, {trial.through_others}"
    for leak in trial.leaks:
        assert leak.difference.one != leak.difference.other
        assert leak.alone
        assert set(leak.alone) <= set(leak.fields)


@pytest.mark.parametrize("name", HONEST)
def test_nothing_is_said_of_what_tells_no_secret(name: str, tmp_path: Path) -> None:
    spec, files = HONEST[name]
    trial = unproved(written(tmp_path, HEAD + spec, files)).tried()
    assert trial.messages > 0
    assert trial.leaks == []
    assert trial.undecided == set()
