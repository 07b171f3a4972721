"""RULER by its own metrics: the score of every reply, and of every task, with the digits that they give."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from tests.gallery.originals.ruler import reply, rows
from tests.gallery.playing import GALLERY, facts_of, is_answer, play, verdicts_of


def test_scores_are_those_of_the_original(tmp_path: Path) -> None:
    *lines, by_task = verdicts_of("ruler")
    said = {row["input"] + row["answer_prefix"]: reply(row) for row in rows()}
    (made,) = (GALLERY / "ruler" / "rows").iterdir()
    figures = play(tmp_path, "ruler", {f"rows/{made.name}": rows()}, lambda messages: said[messages[-1]])
    apart = facts_of("ruler").apart
    found = {tuple(s.fields[name] for name in ("task", "length", "index")): s.value for s in figures.scores}
    empty = {tuple(row[name] for name in ("task", "length", "index")) for row in rows() if not is_answer(reply(row))}
    scores = {tuple(each["id"]): each["score"] / 100 for each in lines}
    assert found == {
        place: None if place in empty else pytest.approx(score, abs=apart) for place, score in scores.items()
    }
    assert len(found) == facts_of("ruler").replies
    whole = {task: fmean(score for place, score in scores.items() if place[0] == task) for task in by_task}
    assert whole == pytest.approx({task: score / 100 for task, score in by_task.items()}, abs=apart)
    scores = {place: score for place, score in scores.items() if place not in empty}
    shares = {task: fmean(score for place, score in scores.items() if place[0] == task) for task in by_task}
    assert figures.by("retrieval.by_task") == pytest.approx(shares, abs=apart)
    assert figures["retrieval.average"].value == pytest.approx(fmean(shares.values()), abs=apart)
    for length, value in figures.by("retrieval.by_length").items():
        cells = [
            fmean(score for place, score in scores.items() if place[:2] == (task, int(length))) for task in by_task
        ]
        assert value == pytest.approx(fmean(cells), abs=apart)


def test_what_must_be_found_stands_in_the_text() -> None:
    for row in rows():
        assert all(output in row["input"] for output in row["outputs"][: 1 if row["task"] == "qa" else None])
        assert not any(output in row["answer_prefix"] for output in row["outputs"])
