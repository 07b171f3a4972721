"""The rows that a run shows are its own: nothing of other models in its roles, and nothing of what its data were before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.answers import ask
from tests.conftest import Command
from tests.lengths import sized

PARSED = """\
benchmark parsed "1.0.0" { languages en }
role candidate compared
role parser
dataset item from "items.jsonl" { question text, answer text secret MORE}
scenario sums {
  over item WHERE
  ask reply by candidate { prompt "{{ item.question }}" }
  ask parsed by parser {
    prompt "Parse: {{ reply.text }}"
    returns { said text, n 1..10 }
  }
  score n = parsed.n
  score size = length(item.answer) + 0 * length(reply.text)
  measure level = mean(n)
  measure answers = mean(size)
}
expect sums.level >= 5
"""
TALKED = """\
benchmark talked "1.0.0" { languages en }
role candidate compared
role student
dataset item from "items.jsonl" { question text, answer text secret }
arm teaching { none, lesson }
scenario lesson {
  over item
  arms teaching
  converse talk when teaching == lesson {
    candidate { system "Teach: {{ item.question }}" }
    student { system "You learn." }
    opens candidate
    until candidate says "that is all"
    limit 4 turns
  }
  ask exam by student {
    continue talk
    prompt "{{ item.question }}"
  }
  score size = length(exam.text)
  measure told = mean(size)
  measure gain = told - told[teaching: none]
}
"""
MADE = """\
benchmark made "1.0.0" { languages en }
role candidate compared
role author
axis kind { easy, hard }
dataset item by author {
  context kind
  count   2
  prompt  "Write an exercise that is {{ kind }}."
  returns { question text, answer text secret }
}
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score size = length(item.question) + 0 * length(reply.text)
  measure answers = mean(size)
}
"""
RATED = """\
benchmark rated "1.0.0" { languages en }
role candidate compared
role parser
role judge panel
dataset item from "items.jsonl" { question text, answer text secret }
scorer grader(said: text) by judge { prompt "Grade: {{ said }}", gives 1..10 }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  ask parsed by parser { prompt "Parse: {{ reply.text }}", returns { said text } }
  score good = grader(said: parsed.said)
  measure quality = mean(good, missing: zero) by evaluator
}
"""
CHECKED = """\
benchmark checked "1.0.0" { languages en }
role candidate compared
role author
role checker
axis kind { easy, hard }
dataset item by author {
  context kind
  count   3
  prompt  "Write an exercise that is {{ kind }}."
  returns { question text, answer text secret }
  verify by checker { prompt "Is it right? {{ item.question }}", returns { right bool }, require right }
}
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score size = length(reply.text) + length(item.answer)
}
"""
ITEMS = [{"question": "1+1", "answer": "2"}, {"question": "20+22", "answer": "42"}]
PARSERS = ("a", "b", "c", "d")[: sized(2, 4)]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data(ITEMS)
    spec()


def data(items: list[dict[str, str]]) -> None:
    Path("items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")


def spec(text: str = PARSED, *, more: str = "", where: str = "") -> None:
    Path("spec.tripos").write_text(text.replace("MORE", more).replace("WHERE", where), "utf-8")


def run(tripos: Command, store: str = "results", *, model: str = "mock/careful:m", **roles: str) -> str:
    """Return the name of a new run."""
    filled = [part for role, name in roles.items() for part in ("--role", f"{role}={name}")]
    done = tripos("run", "spec.tripos", "--model", model, *filled, "--json", "--store", store)
    assert done.code in (0, 1, 100), done.err
    return str(done.data["run_id"])


def figures(tripos: Command, store: str = "results", *of_run: str) -> list[Any]:
    """Return every measure of a run, with what it is taken over."""
    done = tripos("report", *of_run, "--json", "--store", store)
    assert done.code in (0, 100), done.err
    return [done.data["samples"], done.data["scores"], done.data["expectations"]] + [
        [measure["name"], measure["rows"]] for measure in done.data["measures"]
    ]


def mean(tripos: Command, benchmark: str, metric: str, store: str = "results") -> tuple[float, int]:
    query = f"select avg(value) as value, count(*) as n from {benchmark}.scores where metric = '{metric}'"
    [row] = ask(tripos, query, "--store", store)
    return row["value"], row["n"]


@pytest.mark.parametrize(
    ("text", "role", "one", "other"),
    [
        (PARSED, "parser", "mock/careful:a", "mock/careful:b"),
        pytest.param(TALKED, "student", "mock/careful:a", "mock/careless", marks=pytest.mark.long),
        (MADE, "author", "mock/careful:a", "mock/careful:b"),
    ],
)
def test_a_run_shows_nothing_of_another_model_in_one_of_its_roles(
    tripos: Command, once: Command, text: str, role: str, one: str, other: str
) -> None:
    spec(text)
    first = run(once, **{role: one})
    before = figures(tripos)
    second = run(once, **{role: other})
    run(once, "fresh", **{role: other})
    assert figures(tripos, "results", first) == before
    assert figures(tripos, "results", second) == figures(tripos, "fresh") != before
    benchmark = text.split()[1]
    for view in ("scores", "items"):
        query = f"select * exclude (shown_run{', run_id, created_at' if view == 'scores' else ''})"
        query += f" from {benchmark}.{view} order by all"
        assert ask(tripos, query) == ask(tripos, query, "--store", "fresh")


def test_what_an_author_wrote_is_shown_whoever_checked_it_first(tripos: Command) -> None:
    spec(CHECKED)
    run(tripos, author="mock/careful:a", checker="mock/careful:b")
    last = run(tripos, author="mock/careful:a", checker="mock/careful:c")
    run(tripos, "fresh", author="mock/careful:a", checker="mock/careful:c")
    query = "select step, item_id, sample_number, reply from checked.samples where role <> 'candidate' order by all"
    shown = ask(tripos, query)
    assert [each["step"] for each in shown].count("item") >= 6
    assert shown == ask(tripos, query, "--store", "fresh")
    taken_over = "select count(*) as n from main.samples where role = 'author' and adopted_from is not null"
    assert ask(tripos, f"{taken_over} and run_id = '{last}'")[0]["n"] >= 6  # the author was not asked again


@pytest.mark.long
def test_whoever_rated_what_another_parser_made_of_a_reply_is_no_rater_of_this_run(tripos: Command) -> None:
    spec(RATED)
    run(tripos, parser="mock/careful:a", judge="mock/careful:j")
    rating = {"question": "1+1", "metric": "good", "score": 3}
    Path("ratings.jsonl").write_text(json.dumps(rating) + "\n", "utf-8")
    assert tripos("import", "scores", "ratings.jsonl", "--evaluator", "human/carl").code == 0
    query = "select evaluator, status, count(*) as n from rated.scores group by all order by all"
    given = [each for each in ask(tripos, query) if each["evaluator"] == "human/carl"]
    assert [(each["status"], each["n"]) for each in given] == [("not_given", 1), ("scored", 1)]
    run(tripos, parser="mock/careful:b", judge="mock/careful:j")
    assert {each["evaluator"] for each in ask(tripos, query)} == {"mock/careful:j"}


def test_an_expectation_is_held_against_the_run_alone(tripos: Command, once: Command) -> None:
    for parser in PARSERS:
        run(once, parser=f"mock/careful:{parser}")
    lowest, *_, highest = sorted(
        figures(tripos, "results", each["run_id"])[3][1][0]["value"] for each in ask(tripos, "select run_id from runs")
    )
    assert lowest < highest
    spec(PARSED.replace("level >= 5", f"level >= {highest}"))
    held = {}
    for parser in PARSERS:
        run(once, parser=f"mock/careful:{parser}")
        [gate] = figures(tripos)[2]
        held[figures(tripos)[3][1][0]["value"]] = gate["held"]
    assert {value for value, holds in held.items() if holds} == {highest}


def test_a_leaderboard_does_not_tell_models_apart_that_had_others_beside_them(tripos: Command, once: Command) -> None:
    run(once, model="mock/careful:m", parser="mock/careful:a")
    run(once, model="mock/careful:n", parser="mock/careful:b")
    done = tripos("leaderboard", "--measure", "parsed=sums.level", "--json")
    [board] = done.data["boards"]
    assert {each["model"]: each["company"] for each in board["models"]} == {
        "mock/careful:m": ["parser=mock/careful:a"],
        "mock/careful:n": ["parser=mock/careful:b"],
    }
    assert {each["rank"] for each in board["models"]} == {1}
    said = " ".join(tripos("leaderboard", "--measure", "parsed=sums.level").out.split())
    assert "not all had the same models in the other roles" in said
    assert "mock/careful:m with parser=mock/careful:a" in said


CORRECTED = [ITEMS[0], {**ITEMS[1], "answer": "forty-two"}]


def test_a_corrected_answer_takes_the_place_of_the_wrong_one(tripos: Command, once: Command) -> None:
    run(once, parser="mock/careful:a")
    data(CORRECTED)
    run(once, parser="mock/careful:a")
    assert figures(tripos)[4][1][0]["value"] == 5.0
    assert mean(tripos, "parsed", "size") == (5.0, 2)
    [row] = ask(tripos, "from parsed.means(metric := 'size')")
    assert (row["mean"], row["items"]) == (5.0, 2)


def test_an_added_field_leaves_no_row_behind(tripos: Command, once: Command) -> None:
    run(once, parser="mock/careful:a")
    data([{**item, "hint": "think"} for item in ITEMS])
    spec(more=", hint text")
    run(once, parser="mock/careful:a")
    assert mean(tripos, "parsed", "size") == (1.5, 2)
    assert ask(tripos, "select count(*) as n from parsed.items") == [{"n": 2}]


def test_a_narrowed_condition_leaves_no_row_behind(tripos: Command, once: Command) -> None:
    first = run(once, parser="mock/careful:a")
    spec(where="where length(item.question) > 3")
    run(once, parser="mock/careful:a")
    assert mean(tripos, "parsed", "size") == (2.0, 1)
    assert figures(tripos)[4][1][0]["items"] == 1
    assert figures(tripos, "results", first)[4][1][0]["items"] == 2


def test_the_latest_run_of_each_model_shows_and_says_so(tripos: Command, once: Command) -> None:
    old = run(once, model="mock/careful:m,mock/careful:n", parser="mock/careful:a")
    new = run(once, model="mock/careful:m", parser="mock/careful:b")
    found = ask(tripos, "select distinct model, shown_run from parsed.scores order by all")
    assert found == [{"model": "mock/careful:m", "shown_run": new}, {"model": "mock/careful:n", "shown_run": old}]


def test_scores_that_were_given_stand_with_the_reply_that_they_are_about(tripos: Command, once: Command) -> None:
    judged = (
        PARSED.replace("  score n = ", "  score clear = grader(response: parsed.said)\n  score n = ")
        .replace(
            "scenario sums",
            'scorer grader(response: text) by judge { prompt "{{ response }}", gives 1..10 }\nscenario sums',
        )
        .replace("role parser", "role parser\nrole judge")
    )
    spec(judged)
    first = run(once, parser="mock/careful:a", judge="mock/careful:j")
    told = [{"question": item["question"], "metric": "clear", "value": 1, "evaluator": "human/anna"} for item in ITEMS]
    Path("scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in told), "utf-8")
    done = tripos("import", "scores", "scores.jsonl")
    assert done.code == 0, done.err
    run(once, parser="mock/careful:b", judge="mock/careful:j")
    query = "select count(*) as n from parsed.scores where evaluator = 'human/anna'"
    assert ask(tripos, query) == [{"n": 0}]
    assert tripos("report", first, "--json").data["people"] == {"human/anna": 2}
    last = run(once, parser="mock/careful:a", judge="mock/careful:k")
    assert ask(tripos, query) == [{"n": 2}]
    assert tripos("report", last, "--json").data["people"] == {"human/anna": 2}
