"""C-Eval by its own evaluator: every verdict of few-shot, answer-only replies, and the accuracy of each subject."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from tests.conftest import SHARED_DATA
from tests.gallery.originals.ceval import reply, rows
from tests.gallery.playing import facts_of, is_answer, play, table_of, verdicts_of

REAL = SHARED_DATA / "ceval"
CATEGORIES = {
    "high_school_physics": "stem",
    "college_programming": "stem",
    "high_school_geography": "social_science",
    "chinese_language_and_literature": "humanities",
    "high_school_history": "humanities",
    "accountant": "other",
}


def test_verdicts_and_figures_are_those_of_the_original(tmp_path: Path) -> None:
    original = verdicts_of("ceval")
    said = {row["question"]: reply(row) for found in rows("val").values() for row in found}
    sent: list[list[str]] = []

    def answer(messages: list[str]) -> str:
        sent.append(messages)
        return said[messages[-1].split("\n")[0]]

    files = {
        f"{split}/{name}_{split}.csv": table_of(found)
        for split in ("dev", "val")
        for name, found in rows(split).items()
    }
    figures = play(tmp_path, "ceval", files, answer)
    right: dict[str, dict[int, int]] = defaultdict(dict)
    for score in figures.scores:
        is_read = is_answer(said[score.fields["question"]])
        assert score.status == ("scored" if is_read else "parse_failure")
        if is_read:
            right[score.fields["subject"]][score.fields["id"]] = int(score.value or 0)
    verdicts = {
        each["subject"]: {
            at: correct
            for at, (row, correct) in enumerate(zip(rows("val")[each["subject"]], each["correct"], strict=True))
            if is_answer(reply(row))
        }
        for each in original
    }
    assert right == verdicts
    assert len(figures.scores) == facts_of("ceval").replies
    apart = facts_of("ceval").apart
    assert all(each["accuracy"] / 100 == pytest.approx(fmean(each["correct"]), abs=apart) for each in original)
    accuracy = {subject: fmean(each.values()) for subject, each in verdicts.items()}
    assert figures.by("by_subject") == pytest.approx(accuracy, abs=apart)
    assert figures["average"].value == pytest.approx(fmean(accuracy.values()), abs=apart)
    for category, found in figures.by("by_category").items():
        mean = fmean(value for subject, value in accuracy.items() if CATEGORIES[subject] == category)
        assert found == pytest.approx(mean, abs=apart)
    # a system message, five worked examples, the question; the first example has the instruction too
    assert {len(messages) for messages in sent} == {12}
    assert all(messages[1].startswith(messages[0]) and messages[2] in "ABCD" for messages in sent)


@pytest.mark.skipif(not REAL.exists(), reason="the files of C-Eval are not here")
def test_the_real_files_are_read(tmp_path: Path) -> None:
    files = {path.relative_to(REAL).as_posix(): path.read_bytes() for path in REAL.glob("[dv]*/*.csv")}
    figures = play(tmp_path, "ceval", files, lambda _: "A.")
    for path in REAL.glob("val/*.csv"):
        answers = [row["answer"] for row in csv.DictReader(path.open(encoding="utf-8"))]
        subject = path.name.removesuffix("_val.csv")
        assert figures.by("by_subject")[subject] == pytest.approx(answers.count("A") / len(answers))
