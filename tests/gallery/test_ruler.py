"""RULER by its own metrics: the score of every reply, and of every task, with the digits that they give."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from tests.gallery.originals.ruler import reply, rows
from tests.gallery.playing import GALLERY, facts_of, play

VERDICTS = Path(__file__).parent / "verdicts" / "ruler.jsonl"


def test_scores_are_those_of_the_original(tmp_path: Path) -> None:
    *lines, by_task = map(json.loads, VERDICTS.read_text("utf-8").splitlines())
    said = {row["input"] + row["answer_prefix"]: reply(row) for row in rows()}
    (made,) = (GALLERY / "ruler" / "rows").iterdir()
    figures = play(tmp_path, "ruler", {f"rows/{made.name}": rows()}, lambda messages: said[messages[-1]])
    apart = facts_of("ruler").apart
    found = {tuple(s.fields[name] for name in ("task", "length", "index")): s.value for s in figures.scores}
    assert found == {tuple(each["id"]): pytest.approx(each["score"] / 100, abs=apart) for each in lines}
    assert len(found) == facts_of("ruler").replies
    shares = {task: score / 100 for task, score in by_task.items()}
    assert figures.by("retrieval.by_task") == pytest.approx(shares, abs=apart)
    assert figures["retrieval.average"].value == pytest.approx(fmean(shares.values()), abs=apart)
    for length, value in figures.by("retrieval.by_length").items():
        cells = [
            fmean(each["score"] / 100 for each in lines if each["id"][:2] == [task, int(length)]) for task in by_task
        ]
        assert value == pytest.approx(fmean(cells), abs=apart)


def test_what_must_be_found_stands_in_the_text() -> None:
    for row in rows():
        assert all(output in row["input"] for output in row["outputs"][: 1 if row["task"] == "qa" else None])
        assert not any(output in row["answer_prefix"] for output in row["outputs"])
