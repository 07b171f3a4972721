"""MMMU: options and open answers are read as the authors' script reads them, over subjects and disciplines."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.gallery.playing import answered, facts_of, is_answer, play, verdicts_of

IMAGE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQMAAAD+wSzIAAAAA1BMVEX/AAAZ4gk3AAAAC0lEQVQI12NggAAAAAgA"
    "AYq4KFYAAAAASUVORK5CYII="
)
DISCIPLINES = {"Math": "Science", "Physics": "Science", "Art": "Art and Design", "Finance": "Business"}


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_every_score_is_that_of_the_authors_script(tmp_path: Path) -> None:
    said = verdicts_of("mmmu")
    facts = facts_of("mmmu")
    assert len(said) == facts.replies
    rows = defaultdict(list)
    for each in said:
        rows[each["subject"]].append({**each["row"], "image_1": IMAGE})

    def answers(messages: list[str]) -> str:
        (text,) = messages
        each = said[int(re.findall(r"Question (\d+)\?", text)[0])]
        for letter, option in zip("ABCDE", each["row"]["options"], strict=False):
            assert f"({letter}) {option}\n" in text
        return str(each["reply"])

    files = {f"validation/{subject}.jsonl": some for subject, some in rows.items()}
    figures = play(tmp_path, "mmmu", {**files, "validation/Economics.jsonl": rows.pop("Economics", [])}, answers)
    scores = {(score.metric, score.fields["id"]): score.value for score in figures.scores if score.status == "scored"}
    values = defaultdict(list)
    for each in said:
        name, closed = each["row"]["id"], "letter" in each
        if not is_answer(each["reply"]):
            assert not {("read", name), ("right", name)} & scores.keys()
            continue
        if closed:
            assert scores["read", name] == (each["letter"] is not None), each
        if not closed or each["letter"] is not None:
            assert scores["right", name] == each["right"], each
        # A reply that names no option is a guess, as the authors have it; theirs is another draw of the same chance.
        values[each["subject"]].append(scores["right", name])
    guessed = [scores["right", each["row"]["id"]] for each in answered(said) if each.get("letter", "") is None]
    assert len(guessed) > 10
    assert 0 < sum(guessed) < len(guessed) * 0.6
    assert figures["accuracy"].n == len(answered(said))
    assert figures["accuracy"].value == pytest.approx(
        mean([value for some in values.values() for value in some]), abs=facts.apart
    )
    assert figures.by("by_subject") == pytest.approx({each: mean(some) for each, some in values.items()})
    whole = defaultdict(list)
    for subject, some in values.items():
        whole[DISCIPLINES[subject]] += some
    assert figures.by("by_discipline") == pytest.approx({each: mean(some) for each, some in whole.items()})
