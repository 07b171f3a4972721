"""`tripos judges`: judges beside people and beside themselves, as a stranger sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import load_workbook

from tests.annotation.conftest import JUDGE, MODELS, Rows, cells, fill, grades_sheet
from tests.conftest import Command

KIND = """\
benchmark tutor "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text }
scorer kind(reply: text) by judge { prompt "Is this kind? {{ reply }}", gives bool, samples 3, seed 5 }
scenario turn {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score kind = kind(reply.text)
}
measure kindly = mean(kind)
"""


def judges(tripos: Command, *options: str) -> dict[str, Any]:
    done = tripos("judges", *options, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_judges_stand_beside_the_person_who_graded_the_same(
    ran: Path, tripos: Command, once: Command, ask: Rows
) -> None:
    assert once("annotate", "--name", "anna").code == 0
    fill("anna.xlsx")
    book = load_workbook("anna.xlsx")
    for place, cell in enumerate(cells(grades_sheet(book), "mark:CLEAR")):
        if not cell.protection.locked:
            cell.value = 3 + place % 5
    book.save("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    found = judges(tripos)
    assert found["people"] == ["human/anna"]
    clear = next(each for each in found["metrics"] if each["metric"] == "CLEAR")
    pairs = ask(
        f"""select a.value as judge, b.value as person from quiz.scores a join quiz.scores b using (sample_id, metric)
        where a.evaluator = '{JUDGE}' and b.evaluator = 'human/anna' and metric = 'CLEAR'"""
    )
    assert len(pairs) == 10
    apart = sum(each["judge"] - each["person"] for each in pairs) / 10
    curve = clear["calibrations"][JUDGE]
    assert curve["n"] == 10
    assert abs(curve["bias"]["value"] - apart) < 1e-9
    severity = {each["rater"]: each["severity"]["value"] for each in clear["raters"]}
    assert abs(severity[JUDGE] - apart / 2) < 1e-9, "of two raters each is half of the difference off the mean"
    shown = tripos("judges").out
    assert "beside people" in shown
    assert "people say" in shown


def test_another_judge_of_the_same_replies_is_held_against_the_one_before(
    ran: Path, tripos: Command, ask: Rows
) -> None:
    first = judges(tripos)["run_id"]
    again = ("--model", ",".join(MODELS), "--role", f"judge={MODELS[0]}:later", "--json")
    assert tripos("run", "quiz.tripos", *again).code == 0
    found = judges(tripos, "--since", first)
    assert found["since"] == first
    drifts = [each for metric in found["metrics"] for each in metric["drifts"]]
    assert {(each["before"], each["after"]) for each in drifts} == {(JUDGE, f"{MODELS[0]}:later")}
    assert {each["drift"]["difference"]["n"] for each in drifts} == {6, 10}
    assert "difference" in tripos("judges", "--since", first).out


def test_a_panel_has_coefficients_of_the_mean_of_so_many_judges(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "tutor.tripos").write_text(KIND.replace("gives bool, samples 3, seed 5", "gives 1..5"), "utf-8")
    rows = "".join(json.dumps({"question": f"What is {n} + {n}?"}) + "\n" for n in range(12))
    (tmp_path / "items.jsonl").write_text(rows, "utf-8")
    panel = ("mock/careful:a", "mock/careful:b", "mock/severe:c")
    roles = ("--model", ",".join(MODELS), "--role", f"judge={','.join(panel)}")
    assert tripos("run", str(tmp_path / "tutor.tripos"), *roles).code == 0
    [metric] = judges(tripos)["metrics"]
    sql = "select sample_id, evaluator, value from tutor.scores order by all"
    found: dict[str, dict[str, float]] = {}
    for row in tripos("sql", sql, "--json").data:
        found.setdefault(row["sample_id"], {})[row["evaluator"]] = row["value"]
    scores = np.array([[each[judge] for judge in panel] for each in found.values()])
    # Mean squares of replies, judges, and the rest (Brennan 2001, section 2.1).
    n, k = scores.shape
    of_replies, of_judges = (scores.mean(axis=axis, keepdims=True) - scores.mean() for axis in (1, 0))
    rest = float(((scores - scores.mean() - of_replies - of_judges) ** 2).sum()) / ((n - 1) * (k - 1))
    judged = max(float((of_judges**2).sum()) / (k - 1) - rest / n, 0.0)
    replies = max(float((of_replies**2).sum()) / (n - 1) - rest / k, 0.0)
    assert min(judged, replies, rest) > 0
    assert metric["panel"]["components"] == pytest.approx({"replies": replies, "judges": judged, "residual": rest})
    designs = {each["judges"]: each for each in metric["panel"]["designs"]}
    assert list(designs) == [1, 2, 3, 5]
    for many, design in designs.items():
        assert design["relative"]["value"] == pytest.approx(replies / (replies + rest / many))
        assert design["absolute"]["value"] == pytest.approx(replies / (replies + (rest + judged) / many))
        assert design["relative"]["low"] < design["relative"]["value"] < design["relative"]["high"]
    shown = tripos("judges").out
    assert "order of replies (G)" in shown
    assert "of the variance of a score: replies " in shown


def test_a_report_says_how_often_a_judge_contradicts_itself(tmp_path: Path, tripos: Command, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text("".join(f'{{"question": "What is {n} + {n}?"}}\n' for n in range(12)), "utf-8")
    Path("tutor.tripos").write_text(KIND, "utf-8")
    roles = ("--model", "mock/careful", "--role", "judge=mock/noisy,mock/severe")
    assert tripos("run", "tutor.tripos", *roles, "--json").code == 0
    rows = json.loads(tripos("sql", "from tutor.judgements", "--format", "json").out)
    by_judge: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        told = json.loads(row["parsed"]) if isinstance(row["parsed"], str) else row["parsed"]
        by_judge.setdefault((row["evaluator"], row["sample_id"]), []).append(int(told["verdict"]["score"]))
    assert {len(values) for values in by_judge.values()} == {3}
    [metric] = judges(tripos)["metrics"]
    for judge in ("mock/noisy", "mock/severe"):
        stable = [len(set(values)) == 1 for (name, _), values in by_judge.items() if name == judge]
        assert metric["stability"][judge]["stable"]["value"] == sum(stable) / 12
    remarks = json.loads(tripos("report", "--json").out)["remarks"]
    assert {each["kind"] for each in remarks} >= {"repeats"}


def test_drift_since_a_run_of_another_benchmark_is_refused(ran: Path, tripos: Command) -> None:
    first = judges(tripos)["run_id"]
    Path("items.jsonl").write_text('{"question": "What is 2 + 2?"}\n', "utf-8")
    Path("tutor.tripos").write_text(KIND, "utf-8")
    roles = ("--model", "mock/careful", "--role", "judge=mock/severe")
    assert tripos("run", "tutor.tripos", *roles, "--json").code == 0
    done = tripos("judges", "--since", first)
    assert done.code != 0
    assert "R0202" in done.err


CASCADE = KIND.replace("role judge panel", "role judge\nrole strong").replace(
    'by judge { prompt "Is this kind? {{ reply }}", gives bool, samples 3, seed 5 }',
    """by judge then strong when unsure {
  prompt  "Is this kind? {{ reply }}"
  gives   bool
  samples 3
  seed    5
  unsure  below 0.9
}""",
)


def test_a_cascade_shows_what_was_escalated_and_saved(tmp_path: Path, tripos: Command, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text("".join(f'{{"question": "What is {n} + {n}?"}}\n' for n in range(12)), "utf-8")
    Path("tutor.tripos").write_text(CASCADE, "utf-8")
    roles = ("--model", "mock/careful", "--role", "judge=mock/noisy", "--role", "strong=mock/severe")
    planned = json.loads(tripos("plan", "tutor.tripos", *roles, "--json").out)
    done = tripos("run", "tutor.tripos", *roles, "--json")
    assert done.code == 0, done.err
    [use] = judges(tripos)["cascades"]
    rows = json.loads(
        tripos("sql", "select evaluator, count(*) as n from tutor.judgements group by 1", "--format", "json").out
    )
    counts = {row["evaluator"]: row["n"] for row in rows}
    assert counts["mock/noisy"] == 36
    assert 0 < counts["mock/severe"] < 12
    assert (use["calls"], use["saved_calls"]) == (counts["mock/severe"], 12 - counts["mock/severe"])
    assert use["escalated"]["value"] == counts["mock/severe"] / 12
    strong = [each for each in planned["calls"] if each["role"] == "strong"]
    assert [(each["least"], each["most"]) for each in strong] == [(0, 12)]
    assert "were escalated" in tripos("judges").out
    first = judges(tripos)["run_id"]
    Path("tutor.tripos").write_text(CASCADE.replace("samples 3", "samples 4").replace("below 0.9", "below 1"), "utf-8")
    assert tripos("run", "tutor.tripos", *roles, "--json").code == 0
    assert judges(tripos, first)["cascades"] == [use], "verdicts that another threshold asked for are not this run's"


def test_a_cascade_of_names_counts_verdicts_that_agree_as_sure(
    tmp_path: Path, tripos: Command, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text("".join(f'{{"question": "What is {n} + {n}?"}}\n' for n in range(12)), "utf-8")
    spec = CASCADE.replace("gives   bool", "gives   choice(good, poor)").replace("mean(kind)", "share(kind == good)")
    Path("tutor.tripos").write_text(spec, "utf-8")
    roles = ("--model", "mock/careful", "--role", "judge=mock/noisy", "--role", "strong=mock/severe")
    done = tripos("run", "tutor.tripos", *roles, "--json")
    assert done.code == 0, done.err
    rows = tripos("sql", "from tutor.judgements", "--format", "json").data
    said: dict[str, dict[str, list[str]]] = {"mock/noisy": {}, "mock/severe": {}}
    for row in rows:
        told = json.loads(row["parsed"]) if isinstance(row["parsed"], str) else row["parsed"]
        said[row["evaluator"]].setdefault(row["sample_id"], []).append(told["verdict"]["choice"])
    unsure = {sample for sample, names in said["mock/noisy"].items() if len(set(names)) > 1}
    assert 0 < len(unsure) < 12 == len(said["mock/noisy"])
    assert set(said["mock/severe"]) == unsure
    [use] = judges(tripos)["cascades"]
    assert use["escalated"]["value"] == len(unsure) / 12
    assert (use["calls"], use["saved_calls"]) == (len(unsure), 12 - len(unsure))


def test_a_threshold_is_learned_from_another_evaluator(tmp_path: Path, tripos: Command, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text("".join(f'{{"question": "What is {n} + {n}?"}}\n' for n in range(12)), "utf-8")
    Path("tutor.tripos").write_text(KIND, "utf-8")
    roles = ("--model", "mock/careful", "--role", "judge=mock/noisy,mock/severe")
    assert tripos("run", "tutor.tripos", *roles, "--json").code == 0
    found = judges(tripos, "--against", "mock/severe", "--agree", "0.2")
    assert found["people"] == ["mock/severe"]
    [threshold] = found["thresholds"]
    tested = threshold["learned"]["tested"]
    rows = json.loads(tripos("sql", "from tutor.judgements", "--format", "json").out)
    said: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        told = json.loads(row["parsed"]) if isinstance(row["parsed"], str) else row["parsed"]
        said.setdefault(row["evaluator"], {}).setdefault(row["sample_id"], []).append(told["verdict"]["score"])
    most = {judge: {key: float(sum(v) >= 2) for key, v in some.items()} for judge, some in said.items()}
    sure = [key for key, values in said["mock/noisy"].items() if len(set(values)) == 1]
    for each in tested:
        keys = sure if each["threshold"] == 1 else list(said["mock/noisy"])
        agreed = sum(most["mock/noisy"][key] == most["mock/severe"][key] for key in keys)
        assert (each["n"], each["agreed"]) == (len(keys), agreed)
    assert tripos("judges", "--against", "nobody").code != 0
    assert tripos("judges", "--agree", "1").code != 0
