"""A question for each element of a list: several questions on one passage, as in DROP, and a check of every claim."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.field.running import Figures, figures_of, lines
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

PASSAGES = """
benchmark passages "1.0.0" { languages en }
role candidate compared
role judge

dataset passage from "passages.jsonl" {
  text       text
  questions  list<{ text text, answer number, kind choice(read, count) }>
}

scorer clear(question: text, answer: text) by judge { prompt "Clear?\\n{{ question }}\\n{{ answer }}", gives bool }

scenario passages {
  over passage as p
  ask answer by candidate each q in p.questions { prompt "{{ p.text }}\\n{{ q.text }}" }
  score right    = same_number(readable(last_number(a.text)), a.q.answer) each a in answer
  score is_clear = clear(a.q.text, a.text) each a in answer where a.q.kind == count
  score whole    = all(contains(a.text, "is") each a in answer)
  score asked    = length(answer)
}

measure right   = mean(right)
measure strict  = mean(right, missing: zero)
measure by_kind = mean(right) by a.q.kind
measure clear   = mean(is_clear)
measure whole   = mean(whole)
measure asked   = sum(asked)
"""


def passages() -> list[dict[str, object]]:
    """A hundred passages with none to four questions; one question stands twice in some."""
    return [
        {
            "text": f"Passage {n}.",
            "questions": [
                {"text": f"Question {q} of {n}?", "answer": n + q, "kind": ("read", "count")[(n + q) % 2]}
                for q in (0, 1, 2, 2 if n % 10 == 4 else 3)[: n % 5]
            ],
        }
        for n in range(100)
    ]


def reply(text: str) -> str | None:
    """Answer a question: some are refused, some replies say nothing, and some have no number."""
    question, passage = map(int, re.findall(r"Question (\d+) of (\d+)", text)[0])
    if (question + passage) % 13 == 0:
        return None
    if (question + passage) % 11 == 0:
        return "…"
    if (question + passage) % 7 == 0:
        return "It is unknown."
    return f"It is {passage + question + (passage % 3 == 0)}." if passage % 4 else f"{passage + question}"


def judge(text: str) -> str | None:
    """Say if an answer is clear; of some the judge says nothing."""
    question, passage = map(int, re.findall(r"Question (\d+) of (\d+)", text)[0])
    return None if (question * passage) % 9 == 5 else "true" if "It is" in text else "false"


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Figures, list[str]]:
    folder, asked = tmp_path_factory.mktemp("passages"), list[str]()

    def says(text: str) -> str | None:
        asked.append(text)
        return reply(text)

    figures = figures_of(folder, PASSAGES, {"passages.jsonl": lines(passages())}, says, {"judge": judge})
    return folder, figures, asked


def answered() -> list[tuple[dict[str, object], dict[str, object], str | None]]:
    """Return every question with its passage and the reply to it."""
    return [
        (row, question, reply(f"{row['text']}\n{question['text']}"))
        for row in passages()
        for question in row["questions"]  # type: ignore[attr-defined]
    ]


def right(question: dict[str, object], said: str) -> bool | None:
    """Return if a reply is right; none where it has no number, so that it could not be read."""
    found = re.findall(r"\d+", said)
    return int(found[-1]) == question["answer"] if found else None


def mean(values: list[float] | list[bool]) -> float:
    return sum(values) / len(values)


def test_every_question_is_asked_alone_and_scored_by_itself(read: tuple[Path, Figures, list[str]]) -> None:
    figures, every = read[1], answered()
    known = [(question, found) for _, question, said in every if said and (found := right(question, said)) is not None]
    assert len(every) == 200 and 130 < len(known) < 170
    assert figures["right"].value == pytest.approx(mean([found for _, found in known]))
    assert figures["strict"].value == pytest.approx(sum(found for _, found in known) / len(every))
    for kind, value in figures.by("by_kind").items():
        assert value == pytest.approx(mean([found for question, found in known if question["kind"] == kind]))
    judged = [
        judge(f"Clear?\n{question['text']}\n{said}")
        for _, question, said in every
        if question["kind"] == "count" and said is not None
    ]
    clear = [each == "true" for each in judged if each is not None]
    assert 50 < len(clear) < len(judged) and figures["clear"].value == pytest.approx(mean(clear))


def test_a_refused_question_takes_no_other_with_it_but_what_is_of_all(read: tuple[Path, Figures, list[str]]) -> None:
    whole, count = [], 0
    for row in passages():
        said = [reply(f"{row['text']}\n{question['text']}") for question in row["questions"]]  # type: ignore[attr-defined]
        count += len(said)
        if said and None not in said:
            whole.append(all("is" in str(each) for each in said))
    assert read[1]["whole"].value == pytest.approx(mean(whole)) and len(whole) < 79
    assert read[1]["asked"].value == count == 200
    connection, _ = connect_run(Store.open(read[0] / "results", create=False))
    with connection:
        found = connection.execute(
            "select status, count(*) from passages.scores where metric = 'right' and scenario = 'passages' group by all"
        ).fetchall()
    statuses, every = dict(found), [said for *_, said in answered()]
    assert statuses["refused"] == every.count(None) > 10
    assert statuses["not_applicable"] == 20, "the passages without a question"
    assert sum(statuses.values()) == 220


def test_the_plan_counts_the_questions_as_they_are_asked(read: tuple[Path, Figures, list[str]]) -> None:
    _, figures, asked = read
    counts = [each for each in figures.plan.calls if each.role == "candidate"]
    assert sum(each.least for each in counts) == sum(each.most for each in counts) == 200
    assert len(asked) == 200 and len(set(asked)) == 190
    (judged,) = [each for each in figures.plan.calls if each.role == "judge"]
    assert (judged.least, judged.most) == (0, sum(question["kind"] == "count" for _, question, _ in answered()))


CLAIMS = """
benchmark claims "1.0.0" { languages en }
role candidate compared
role splitter
role expert

dataset person from "people.jsonl" { name text }

scenario claims {
  over person as p
  ask life by candidate { prompt "Tell me about {{ p.name }}." }
  ask split by splitter { prompt "{{ life.text }}", returns { claims list<{ text text, weight integer }> } }
  ask check by expert each c in split.claims where c.weight > 0 at most 4 {
    prompt  "Is this so? {{ c.text }}"
    returns { holds bool, why text }
  }
  ask again by expert each k in check { prompt "Sure of {{ k.c.text }}, as {{ k.why }}?", returns bool }
  score held   = k.holds each k in check
  score points = choose(k.holds, k.c.weight, 0) each k in check
  score stands = a.value == a.k.holds each a in again
}

measure held   = mean(held)
measure points = sum(points)
measure stands = mean(stands)
"""


def splitter(text: str) -> str | None:
    """List claims: of some lives there are none, or more than may be asked about, and some cannot be read."""
    found = re.findall(r"\d+", text)
    if not found or (number := int(found[0])) % 17 == 0:
        return "I cannot."
    claims = ", ".join(f'{{"text": "claim {c} of {number}", "weight": {(c + number) % 3}}}' for c in range(number % 9))
    return f'{{"claims": [{claims}]}}'


def expert(text: str) -> str | None:
    """Check a claim; of some the expert says nothing."""
    claim, number = map(int, re.findall(r"claim (\d+) of (\d+)", text)[0])
    if (claim * number) % 10 == 3:
        return None
    if text.startswith("Sure"):
        return "false" if number % 5 == 2 else "true"
    return f'{{"holds": {"true" if (claim + number) % 4 else "false"}, "why": "reason {claim}"}}'


def test_a_check_of_every_claim_is_that_of_a_loop_over_them(tmp_path: Path) -> None:
    rows = [{"name": f"person {n}"} for n in range(80)]
    roles = {"splitter": splitter, "expert": expert}
    figures = figures_of(tmp_path, CLAIMS, {"people.jsonl": lines(rows)}, lambda text: f"A life: {text}", roles)
    held, points, stands, longest = [], 0, [], 0
    for n in range(80):
        if n % 17 == 0:
            continue
        claims = [(c, (c + n) % 3) for c in range(n % 9) if (c + n) % 3]
        longest = max(longest, len(claims))
        if len(claims) > 4:
            continue
        for claim, weight in claims:
            if (claim * n) % 10 != 3:
                holds = bool((claim + n) % 4)
                held.append(holds)
                points += weight if holds else 0
                stands.append(holds != (n % 5 == 2))
    assert longest > 4 and len(held) > 80
    assert figures["held"].value == pytest.approx(mean(held))
    assert figures["points"].value == pytest.approx(points)
    assert figures["stands"].value == pytest.approx(mean(stands))
