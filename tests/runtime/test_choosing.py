"""A retrieving step chooses among many: equal values, more than one equality, what is included twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.runtime.small_runs import run_small
from tests.runtime.test_retrieval import HEAD, TAIL, found_by, shown

MANY = [{"title": f"t{n:03}", "subject": "maths" if n % 2 else "history", "level": n % 3} for n in range(300)]


def test_of_equal_values_those_that_come_first_are_kept_however_many_there_are(tmp_path: Path) -> None:
    first, *_ = found_by(tmp_path, "retrieve near from pool as p { top 40 by p.level }", pool=MANY)
    assert [each["title"] for each in first] == [row["title"] for row in MANY if row["level"] == 2][:40]


def test_a_condition_that_leaves_out_the_nearest_is_looked_for_further_down(tmp_path: Path) -> None:
    step = """retrieve near from pool as p {
      where not (p.level > 0)
      top   40 by p.level
    }"""
    first, *_ = found_by(tmp_path, step, pool=MANY)
    assert [each["title"] for each in first] == [row["title"] for row in MANY if row["level"] == 0][:40]


def test_all_equalities_hold_of_what_is_kept(tmp_path: Path) -> None:
    step = """retrieve near from pool as p {
      where p.subject == q.subject and p.level == 2
      top   99 by p.level
    }"""
    maths, _, history = found_by(tmp_path, step, pool=MANY)
    assert {(each["subject"], each["level"]) for each in maths} == {("maths", 2)}
    assert {(each["subject"], each["level"]) for each in history} == {("history", 2)}


def test_what_is_included_twice_or_was_found_stands_there_once(tmp_path: Path) -> None:
    step = """retrieve near from distinct(pool.title) as t {
      top     2 by bm25(q.stem, t)
      include reveal(q.points)
    }"""
    items = [{"stem": "circle", "subject": "maths", "points": ["truth", "circle", "truth"]}]
    pool = [{"title": title, "subject": "maths", "level": 1} for title in ("circle", "area of a circle", "king")]
    files: dict[str, Any] = {"items.jsonl": items, "pool.jsonl": pool}
    run = run_small(tmp_path, HEAD.replace("role encoder\n", "") + step + TAIL, files)
    assert [sorted(each) for each in shown(run)] == [["area of a circle", "circle", "truth"]]
