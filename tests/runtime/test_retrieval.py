"""A scenario retrieves: what is found, in which order, what is put among it, and what of it is asked for and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.small_runs import Row, SmallRun, run_small
from tripos_runtime.models.base import ModelError, Request
from tripos_runtime.models.vectors import to_text

ITEMS = [
    {"stem": "How do I measure the area of a circle?", "subject": "maths", "points": ["circles"]},
    {"stem": "Two thirds of 12", "subject": "maths", "points": ["fractions"]},
    {"stem": "Who was king in 1066?", "subject": "history", "points": ["kings"]},
]
POOL = [
    {"title": "area of a circle", "subject": "maths", "level": 1},
    {"title": "circle", "subject": "maths", "level": 3},
    {"title": "thirds and fractions", "subject": "maths", "level": 2},
    {"title": "kings of the year 1066", "subject": "history", "level": 1},
]
HEAD = """benchmark b "1.0.0" { languages en }
role candidate compared
role encoder
dataset question from "items.jsonl" { stem text, subject text, points list<text> secret }
dataset pool from "pool.jsonl" { title text, subject text, level integer }
scenario s {
  over question as q
"""
BY_VECTORS = "retrieve near from distinct(pool.title) as t { top 1 by similarity(q.stem, t) using encoder }"
TAIL = """
  ask tags by candidate { prompt "{{ q.stem }} | {{ json(near) }}" }
  score found = contains(tags.text, "x")
}
"""


def found_by(folder: Path, step: str, **more: Any) -> list[list[Any]]:
    """Return what every question's prompt shows of what was found, in the order of the prompts."""
    return shown(retrieving(folder, step, **more))


def shown(run: SmallRun) -> list[list[Any]]:
    """Return what the prompts of a run show."""
    return [json.loads(messages[-1][1].split(" | ")[1]) for messages in run.sent("a")]


def retrieving(folder: Path, step: str, *, pool: list[Row] = POOL, **more: Any) -> SmallRun:
    """Return a run of a scenario with one retrieving step, called `near`."""
    roles = {"encoder": "e"} if "using" in step else {"encoder": "mock/careful"}
    if "using" not in step:
        head = HEAD.replace("role encoder\n", "")
        return run_small(folder, head + step + TAIL, {"items.jsonl": ITEMS, "pool.jsonl": pool}, **more)
    return run_small(folder, HEAD + step + TAIL, {"items.jsonl": ITEMS, "pool.jsonl": pool}, **roles, **more)


def test_the_nearest_by_bm25_or_a_formula_come_first(tmp_path: Path) -> None:
    found = found_by(tmp_path / "a", "retrieve near from distinct(pool.title) as t { top 2 by bm25(q.stem, t) }")
    assert [first for first, _ in found] == ["area of a circle", "thirds and fractions", "kings of the year 1066"]
    step = "retrieve near from pool as p { top 1 by bm25(q.stem, p.title) + 100 * p.level }"
    assert all(each[0]["title"] == "circle" for each in found_by(tmp_path / "b", step))
    # An index cannot take this, so it is evaluated row by row.
    first, *_ = found_by(tmp_path / "c", "retrieve near from pool as p { top 1 by bm25(p.title, q.stem) }")
    assert first[0]["title"] == "area of a circle"


@pytest.mark.parametrize(
    ("step", "counts"),
    [
        (
            """retrieve near from pool as p {
      where p.subject == q.subject and p.level < 3
      top 3 by similarity(p.title, q.stem)
    }""",
            [2, 2, 1],
        ),
        (
            """let own = picked(pool.title, pool.subject, q.subject)
    retrieve near from own as t { top 9 by bm25(q.stem, t) }""",
            [3, 3, 1],
        ),
    ],
    ids=["where", "a let of the row at hand"],
)
def test_what_is_looked_through_can_be_a_part(tmp_path: Path, step: str, counts: list[int]) -> None:
    assert [len(each) for each in found_by(tmp_path, step)] == counts


def test_what_is_included_does_not_stand_where_it_tells_itself_apart(tmp_path: Path) -> None:
    step = """retrieve near from distinct(pool.title) as t {
      top 3 by bm25(q.stem, t)
      include reveal(q.points)
    }"""
    items = [{"stem": f"circle {n}", "subject": "maths", "points": ["truth"]} for n in range(40)]
    files: dict[str, Any] = {"items.jsonl": items, "pool.jsonl": POOL}
    run = run_small(tmp_path, HEAD.replace("role encoder\n", "") + step + TAIL, files)
    assert {each.index("truth") for each in shown(run)} == {0, 1, 2, 3}


def test_a_row_is_not_retrieved_for_itself(tmp_path: Path) -> None:
    step = "retrieve near from question as other { top 3 by similarity(q.stem, other.subject) }"
    head = HEAD.replace("role encoder\n", "").replace(" secret", "")
    run = run_small(tmp_path, head + step + TAIL, {"items.jsonl": ITEMS, "pool.jsonl": POOL})
    for messages in run.sent("a"):
        stem, _, found = messages[-1][1].partition(" | ")
        assert stem not in found
        assert found.count("stem") == 2


def test_an_ask_depends_on_the_model_that_embeds(tmp_path: Path) -> None:
    first = retrieving(tmp_path, BY_VECTORS, script=lengths)
    files: dict[str, Any] = {"items.jsonl": ITEMS, "pool.jsonl": POOL}
    again = run_small(tmp_path, HEAD + BY_VECTORS + TAIL, files, encoder="other", script=lengths, before=first)
    assert again.asked["other"] > 0
    assert {row["sample_id"] for row in first.table("samples")}.isdisjoint(
        row["sample_id"] for row in again.table("samples")[len(first.table("samples")) :]
    )
    assert again.asked["a"] == len(set(again.sent("a")) - set(first.sent("a"))) == len(again.sent("a"))


def test_vectors_are_asked_for_once_and_kept_by_their_text(tmp_path: Path) -> None:
    first = retrieving(tmp_path, BY_VECTORS, script=lengths)
    assert len(first.table("vectors")) == 7
    assert {row["status"] for row in first.table("vectors")} == {"ok"}
    assert first.planned["encoder"] == first.calls["encoder"] == 7
    bounds = {(request.settings.max_tokens, request.samples) for request in first.callers["e"].asked}
    assert bounds == {(0, 1)}, "of budgets"
    second = retrieving(tmp_path, BY_VECTORS.replace("top 1", "top 2"), script=lengths, before=first)
    assert second.asked == {"a": 3, "e": 0}


def test_a_text_without_a_vector_leaves_what_needs_it_to_the_next_run(tmp_path: Path) -> None:

    def failing(request: Request) -> str | ModelError:
        if request.model == "e" and "Two thirds" in request.messages[0].content:
            return ModelError("R0111", "down", "try again", retryable=True)
        return lengths(request)

    first = retrieving(tmp_path, BY_VECTORS, script=failing)
    assert first.asked["a"] == 2
    second = retrieving(tmp_path, BY_VECTORS, script=lengths, before=first)
    assert second.asked == {"a": 1, "e": 1}


@pytest.mark.parametrize("text", ["not base64!", "", "AAAA"])
def test_what_is_no_vector_is_no_answer(tmp_path: Path, text: str) -> None:
    run = retrieving(tmp_path, BY_VECTORS, script=lambda request: text)
    assert run.asked["a"] == 0
    assert {row["status"] for row in run.table("vectors")} == {"provider_error"}


def test_a_measure_may_look_at_what_was_retrieved(tmp_path: Path) -> None:
    step = """retrieve near from distinct(pool.title) as t { top 1 by bm25(q.stem, t) }
    measure hit = mean(recall(near, q.points))"""
    run = retrieving(tmp_path, step)
    assert len([row for row in run.table("scores") if row["metric"].startswith("hit")]) == 3


def lengths(request: Request) -> str:
    """Return a vector that says how long a text is, of an encoder; of anybody else the last message."""
    if request.model in ("e", "other"):
        length = float(len(request.messages[0].content))
        return to_text([1.0, length] if request.model == "e" else [length, length * length])
    return request.messages[-1].content


def test_a_judge_of_what_was_retrieved_is_asked_about_every_row(tmp_path: Path) -> None:
    spec = (
        HEAD.replace("role encoder", "role encoder\nrole judge")
        + BY_VECTORS
        + TAIL.replace(
            "score found =", 'score judged = helps(first(near)) and contains(tags.text, "x")\n  score found ='
        )
    )
    spec += 'scorer helps(text: text) by judge { prompt "{{ text }}", gives bool }'

    def script(request: Request) -> str:
        return '{"score": true, "reason": "so"}' if request.model == "j" else lengths(request)

    files: dict[str, Any] = {"items.jsonl": ITEMS, "pool.jsonl": POOL}
    run = run_small(tmp_path, spec, files, script=script, encoder="e", judge="j")
    assert len({row["judgement_id"] for row in run.table("judgements")}) == 3
