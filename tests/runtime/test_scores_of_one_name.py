"""Two scores of one name, each where its condition holds: a reply that decides which, and is lacking, is counted once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from random import Random

import pytest

from tests.field.running import Answers, figures_in, figures_of, lines
from tests.lengths import sized
from tests.namesakes import Namesakes, generate, judged, left_out
from tests.oracle import differences, run_in
from tripos_warehouse.report.run_report import report
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

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


@pytest.mark.parametrize("seed", range(sized(3, 60)))
def test_of_scores_of_one_name_one_speaks_for_an_item(seed: int, tmp_path: Path) -> None:
    count, found = differences(seed, tmp_path, generate)
    assert count > 0
    assert found == []


@pytest.mark.parametrize("seed", [58, 88, 104, 158, 189, *range(200, 200 + sized(0, 60))])
def test_judges_are_asked_where_the_score_that_speaks_needs_them(seed: int, tmp_path: Path) -> None:
    made = generate(seed)
    _, store = run_in(tmp_path, made)
    connection, _ = connect_run(store)
    with connection:
        found = connection.execute("select count(distinct (sample_id, evaluator)) from judgements").fetchone()
    assert found == (judged(made),)


@pytest.mark.parametrize("seed", range(sized(3, 60)))
def test_a_report_says_how_many_replies_a_condition_on_them_leaves_out(seed: int, tmp_path: Path) -> None:
    made = generate(seed)
    _, store = run_in(tmp_path, made)
    connection, run = connect_run(store)
    with connection:
        remarks = report(connection, get_plan(connection, run), run).remarks
    told = {each.text for each in remarks if each.kind == "left_out"}
    assert told == {
        f"`{score.name}` of {model} leaves out {out} of {whole} replies by a condition on what they say"
        for score in made.scores
        if isinstance(score, Namesakes) and any(condition.of_reply for _, condition in score.alternatives)
        for model, (out, whole) in left_out(made, score).items()
    }


COMPARED = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "rows.jsonl" { n integer }
scorer better(one: text, two: text) by judge { prompt "B {{ one }} | {{ two }}", gives choice(one, two, tie) }
scenario answer {
  over item
  ask sure by candidate { prompt "Sure? {{ item.n }}", returns choice(yes, no) }
  ask reply by candidate { prompt "{{ item.n }}" }
  %s
}
measure won = win_rate(right)
"""
SIDES: dict[str, Callable[[str | None, str | None, int], bool | None]] = {
    "first.sure == yes": lambda one, two, n: None if one is None else one == "yes",
    "first.sure == no": lambda one, two, n: None if one is None else one == "no",
    "second.sure == yes": lambda one, two, n: None if two is None else two == "yes",
    "first.sure == second.sure": lambda one, two, n: None if one is None or two is None else one == two,
    "first.sure != second.sure": lambda one, two, n: None if one is None or two is None else one != two,
    "item.n > 2": lambda one, two, n: n > 2,
}


@pytest.mark.parametrize("seed", range(sized(2, 60)))
def test_of_comparisons_of_one_name_one_speaks_for_a_pair(seed: int, tmp_path: Path) -> None:
    dice = Random(f"comparisons {seed}")
    models, rows = ("m/a", "m/b", "m/c")[: dice.choice((2, 3))], range(dice.randrange(2, 6))
    judges = ("judge:a", "judge:b")[: dice.choice((1, 2))]
    sure = {(model, n): dice.choice(("yes", "no", None)) for model in models for n in rows}
    better = {
        (judge, one, two, n): dice.choice(("one", "two", "tie", None))
        for judge in judges
        for one in models
        for two in models
        for n in rows
    }
    drawn = dice.sample(sorted(SIDES), dice.randrange(1, 4))

    def answers(model: str) -> Answers:
        def says(messages: list[str]) -> str | None:
            asked = messages[0]
            if asked.startswith("Sure?"):
                said = sure[model, int(asked.split()[1])]
                return None if said is None else f'{{"value": "{said}"}}'
            return f"{model} {asked}"

        return says

    def judging(judge: str) -> Answers:
        def says(messages: list[str]) -> str:
            one, n, _, two, *_ = messages[0].removeprefix("B ").split()
            said = better[judge, one, two, int(n)]
            return "neither" if said is None else f'{{"value": "{said}"}}'

        return says

    lines_ = "\n  ".join(
        f"compare right using better(first.reply.text, second.reply.text) when {each}" for each in drawn
    )
    won: dict[str, list[float | None]] = {model: [] for model in models}
    for n, one, two in product(rows, models, models):
        held = [SIDES[each](sure[one, n], sure[two, n], n) for each in drawn]
        spoken = next((each for each in held if each is not False), False)
        if one == two or spoken is False:
            continue
        for judge in judges:
            said = better[judge, one, two, n] if spoken else None
            first = None if said is None else {"one": 1.0, "two": 0.0, "tie": 0.5}[said]
            won[one].append(first)
            won[two].append(None if first is None else 1 - first)
    figures = figures_in(
        tmp_path,
        COMPARED % lines_,
        {"rows.jsonl": lines([{"n": n} for n in rows])},
        answers("none"),
        {judge: judging(judge) for judge in judges},
        models={model: answers(model) for model in models},
    )
    got = {row.model: (row.value, row.n, row.total) for row in figures.rows["won"]}
    for model, outcomes in won.items():
        there = [each for each in outcomes if each is not None]
        value, n, total = got.get(model, (None, 0, 0))
        assert (n, total) == (len(there), len(outcomes)), model
        assert value == (pytest.approx(sum(there) / len(there)) if there else None), model


def test_a_score_that_was_kept_alone_counts_anew_beside_another_of_its_name(tmp_path: Path) -> None:
    whole = SPEC.replace("sure.value", "sure")
    alone = "\n".join(each for each in whole.splitlines() if "right = contains" not in each)
    assert alone.count("score right") == 1
    figures_of(tmp_path, alone, {"rows.jsonl": lines(ROWS)}, says)
    figures = figures_of(tmp_path, whole, {"rows.jsonl": lines(ROWS)}, says)
    assert (figures["found"].n, figures["found"].total) == (3, 4)
