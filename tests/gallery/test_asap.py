"""ASAP by the competition's own kappas (ml_metrics), and by the figures of bias of RSMTool: `originals/asap.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.gallery.playing import GALLERY, facts_of, play
from tripos_warehouse.statistics import user_functions


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.long)])
def test_scores_and_figures_are_those_of_the_original_scorers(tmp_path: Path, step: int) -> None:
    told = [
        json.loads(line) for line in (Path(__file__).parent / "verdicts/asap.jsonl").read_text("utf-8").splitlines()
    ]
    *rows, few, every = told
    expected, facts = (every if step == 1 else few)["figures"], facts_of("asap")
    assert len(rows) == facts.replies
    rows = rows[::step]
    said: dict[str, str] = {}
    files: dict[str, list[list[Any]]] = {"sets": [], "groups": []}
    for number, row in enumerate(rows):
        name = f"essay {number:03}"
        said[name] = row["said"] if isinstance(row["said"], str) else json.dumps({"reason": "", "score": row["said"]})
        if row["scenario"] == "sets":
            files["sets"].append([row["essay_set"], name, row["true"]])
        else:
            groups = [row[key] for key in ("gender", "race", "learner", "poor")]
            files["groups"].append([name, row["true"], "Argue.", row["prompt"], *groups])
    heads = {"sets": ["essay_set", "essay", "domain1_score"]}
    heads["groups"] = ["full_text", "score", "assignment", "prompt_name", "gender", "race_ethnicity", "ell_status"]
    heads["groups"] += ["economically_disadvantaged"]
    text = {key: [heads[key], *files[key]] for key in heads}
    user_functions.admit_python((GALLERY / "asap" / "metrics.py").read_text("utf-8"), "group_r2")
    figures = play(
        tmp_path,
        "asap",
        {
            "training_set_rel3.tsv": "".join("\t".join(map(str, row)) + "\n" for row in text["sets"]),
            "ASAP2_train_sourcetexts.csv": "".join(",".join(map(str, row)) + "\n" for row in text["groups"]),
        },
        lambda messages: next((said[name] for name in re.findall(r"essay \d{3}", messages[0])), ""),
    )
    grades = {}
    for score in figures.scores:
        if score.metric == "grade":
            essay = score.fields["essay"] if score.scenario == "sets" else score.fields["full_text"]
            grades[essay] = score.value if score.status == "scored" else None
    assert grades == {f"essay {number:03}": row["grade"] for number, row in enumerate(rows)}
    near = lambda value: pytest.approx(value, abs=facts.apart)  # noqa: E731
    assert figures.by("sets.kappa") == near(expected["kappa"])
    assert figures["sets.plain_mean"].value == near(sum(expected["kappa"].values()) / 8)
    assert figures["mean_kappa"].value == near(expected["fisher"])
    assert figures["groups.kappa"].value == near(expected["groups kappa"])
    for column in ("gender", "learner"):
        assert figures.by(f"groups.smd_{column}") == near(expected[f"smd {column}"])
    for column in ("gender", "learner", "race", "poor"):
        assert figures[f"groups.bias_{column}"].value == near(expected[f"r2 {column}"])
    if step == 1:  # the dice mark learners down, and nobody else
        assert expected["r2 learner"] > 0.05 > abs(expected["r2 poor"])


def test_the_kappa_that_the_competition_gave_as_a_check_comes_out(tmp_path: Path) -> None:
    true, said = [1, 4, 2, 2, 5, 2, 5, 4, 5, 3, 1], [3, 4, 4, 4, 4, 4, 6, 7, 8, 9, 10]
    rows = ["essay_set\tessay\tdomain1_score", *(f"1\tessay {n}.\t{mark}" for n, mark in enumerate(true))]
    text = (GALLERY / "asap" / "asap.tripos").read_text(
        "utf-8"
    )  # its marks lie off every set's range, and are kept here
    sets = text[: text.index('scenario groups "')].replace("on_scale(reply.score, low, high)", "reply.score")
    files = {"training_set_rel3.tsv": "\n".join(rows) + "\n", "asap.tripos": sets}
    figures = play(
        tmp_path,
        "asap",
        files,
        lambda messages: json.dumps({"reason": "", "score": said[int(re.findall(r"essay (\d+)\.", messages[0])[0])]}),
    )
    assert figures.by("sets.kappa") == {"1": pytest.approx(0.041025641025641, abs=1e-14)}
