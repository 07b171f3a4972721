"""MRBench: labels of an annotator against those of people as scikit-learn scores them, and tutors in people's eyes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_DATA, Command
from tests.gallery.mrbench_rows import LABELS, annotations, conversations
from tests.gallery.playing import GALLERY, facts_of, play, verdicts_of

REAL = SHARED_DATA / "mrbench/MRBench_V1.json"
QUESTIONS = re.findall(r'^  "(.+\?)",?$', (GALLERY / "mrbench/abilities.tripos").read_text("utf-8"), re.MULTILINE)
WANTED = {"Revealing_of_the_Answer": "No", "Tutor_Tone": "Encouraging"}


def test_the_figures_are_those_of_scikit_learn(tmp_path: Path) -> None:
    asked = dict(zip(LABELS, QUESTIONS, strict=True))
    said = {(asked[ability], reply): text for ability, reply, _, _, text in annotations()}

    def annotate(messages: list[str]) -> str:
        return next(text for (asked, reply), text in said.items() if asked in messages[0] and reply in messages[0])

    figures = play(tmp_path, "mrbench", {"MRBench_V1.json": json.dumps(conversations())}, annotate)
    drawn = list(annotations())
    assert len(drawn) == len(figures.scores) == facts_of("mrbench").replies
    readable = [each for each in drawn if each[3] is not None]
    assert sum(score.status == "parse_failure" for score in figures.scores) == len(drawn) - len(readable)
    right = sum(LABELS[ability].index(true) + 1 == label for ability, _, true, label, _ in readable)
    assert sum(score.value or 0 for score in figures.scores) == right
    for verdict in verdicts_of("mrbench"):
        for name in ("exact_f1", "exact_accuracy", "lenient_f1", "lenient_accuracy"):
            row = next(row for row in figures.rows[f"annotation.{name}"] if row.by == (verdict["ability"],))
            assert row.value == pytest.approx(verdict[name], abs=facts_of("mrbench").apart), name
            assert row.n == verdict["n"]
            assert row.coverage == verdict["n"] * len(LABELS) / len(drawn)
    exact = figures.by("annotation.exact_f1")
    assert figures["providing_guidance"].value == exact["Providing_Guidance"]


def test_labels_of_all_replies_give_the_rates_of_people(tmp_path: Path, tripos: Command) -> None:
    """People labelled every reply, so the corrected figure is their own, whatever the judge says."""
    check_rates(tmp_path, tripos, conversations()[:6], ("T0", "T1"))


@pytest.mark.long
@pytest.mark.skipif(not REAL.exists(), reason="the real data are not here")
def test_the_rates_of_the_real_tutors(tmp_path: Path, tripos: Command) -> None:
    """Every tutor but the novice replied in all conversations. Four conversations are in the file twice."""
    check_rates(tmp_path, tripos, json.loads(REAL.read_text("utf-8")), ("GPT4", "Sonnet", "Expert", "Phi3"))


def check_rates(tmp_path: Path, tripos: Command, published: list[dict[str, Any]], tutors: tuple[str, ...]) -> None:
    """Take in the replies and labels of tutors, and hold the corrected rates against those counted here."""
    spec = shutil.copytree(GALLERY / "mrbench", tmp_path / "gallery/mrbench") / "tutors.tripos"
    rows = {row["conversation_id"]: row for row in published}
    (spec.parent / "MRBench_V1.json").write_text(json.dumps(list(rows.values())))
    replies, labels = [], []
    for name, row in rows.items():
        for tutor in tutors:
            said = row["anno_llm_responses"][tutor]
            whose = {"conversation_id": name, "model": f"mock/careful:{tutor}"}
            replies.append({**whose, "reply": said["response"]})
            labels += [{**whose, "ability": each, "label": said["annotation"][each]} for each in LABELS]
    (tmp_path / "replies.json").write_text(json.dumps(replies))
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    store = ("--store", str(tmp_path / "store"))
    tripos("import", "samples", str(tmp_path / "replies.json"), "--spec", str(spec), *store)
    models = ",".join(f"mock/careful:{tutor}" for tutor in tutors)
    assert tripos("run", str(spec), "--model", models, "--role", "judge=mock/fair", *store).code == 0
    assert tripos("import", "scores", str(tmp_path / "labels.json"), "--evaluator", "human/people", *store).code == 0
    report = tripos("report", "--json", *store).data
    found = {(row["model"], row["ability"]): row["value"] for row in report["measures"][0]["rows"]}
    counted = {
        (f"mock/careful:{tutor}", each): sum(
            row["anno_llm_responses"][tutor]["annotation"][each] == WANTED.get(each, "Yes") for row in rows.values()
        )
        / len(rows)
        for tutor in tutors
        for each in LABELS
    }
    assert found == pytest.approx(counted, abs=facts_of("mrbench").apart)
