"""Logs that are not whole, or that say of a part that it does not count: nothing is left out without a word."""

from __future__ import annotations

import copy
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

HELM = Path(__file__).parents[1] / "data" / "logs" / "helm" / "suite" / "quiz"
Json = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def sample(number: int, **more: Any) -> Json:
    """Return a sample of Inspect, which is right where its number is odd."""
    reply = {"role": "assistant", "content": str(number)}
    return {
        "id": number,
        "epoch": 1,
        "input": f"What is {number}?",
        "target": str(number),
        "messages": [{"role": "user", "content": f"What is {number}?"}, reply],
        "output": {"model": "m", "choices": [{"message": reply, "stop_reason": "stop"}]},
        "scores": {"match": {"value": "C" if number % 2 else "I"}},
        **more,
    }


def header(status: str, **more: Any) -> Json:
    """Return the header of a log of Inspect."""
    return {"version": 2, "status": status, "eval": {"task": "quiz", "model": "mock/m"}, **more}


NO_END = "the log did not come to its end: "
BROKEN = {"error": {"message": "Boom\nat line 2", "traceback": ""}}


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (header("success"), None),
        (header("cancelled"), f"{NO_END}cancelled"),
        (header("started"), f"{NO_END}started"),
        (header("error", **BROKEN), f"{NO_END}error: Boom at line 2"),
        (header("another"), f"{NO_END}another"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_log_of_inspect_that_has_no_end_says_so(
    folder: Path, tripos: Command, head: Json, told: str | None, packed: bool
) -> None:
    samples = [sample(1), sample(2), sample(3)]
    if packed:
        with zipfile.ZipFile("quiz.eval", "w") as archive:
            archive.writestr("header.json" if told is None else "_journal/start.json", json.dumps(head))
            for each in samples:
                archive.writestr(f"samples/{each['id']}_epoch_1.json", json.dumps(each))
    else:
        Path("quiz.json").write_text(json.dumps({**head, "samples": samples}), "utf-8")
    done = tripos("import", "logs", "quiz.eval" if packed else "quiz.json")
    assert done.code == 0, done.err
    assert (NO_END in done.out) == (told is not None)
    if told is not None:
        assert told in done.out.splitlines()
    report = tripos("report", "--json").data
    assert report["run"]["status"] == ("finished" if told is None else "interrupted")
    assert [(row["value"], row["n"]) for row in report["measures"][0]["rows"]] == [(pytest.approx(2 / 3), 3)]


def test_samples_of_inspect_that_are_invalidated_or_failed_are_told(folder: Path, tripos: Command) -> None:
    failed = {"error": {"message": "boom"}, "output": {"model": "m", "choices": []}, "scores": None}
    limited = {"limit": {"type": "token", "limit": 9}, "output": {"model": "m", "choices": []}, "scores": {}}
    samples = [sample(1), sample(3, invalidation={"reason": "bad"}), sample(2, **failed), sample(4, **limited)]
    Path("quiz.json").write_text(json.dumps({**header("success"), "samples": samples}), "utf-8")
    [log] = tripos("import", "logs", "quiz.json", "--json").data["logs"]
    told = {each["what"]: (each["count"], each["first"]) for each in log["left_out"]}
    assert told == {"invalidation of samples, which count as others do": (1, "sample 2")}
    assert log["statuses"] == {"ok": 2, "provider_error": 2}
    [row] = tripos("report", "--json").data["measures"][0]["rows"]
    assert (row["value"], row["n"], row["total"]) == (1.0, 2, 4)


def edited(name: str, edit: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Return what edits a file of a run of HELM."""

    def change(run: Path) -> None:
        value = json.loads((run / name).read_text("utf-8"))
        found = edit(value)
        (run / name).write_text(json.dumps(value if found is None else found), "utf-8")

    return change


def without(name: str) -> Callable[[Path], None]:
    """Return what removes a file of a run of HELM."""
    return lambda run: (run / name).unlink()


TYPOS = {"name": "typos", "robustness": True, "fairness": False, "prob": 0.1}


def perturbed(run: Path) -> None:
    """Ask the first instance under a perturbation too, to a reply that is wrong."""

    def requests(state: Json) -> None:
        more = copy.deepcopy(state["request_states"][0])
        more["instance"]["perturbation"] = TYPOS
        state["request_states"].append(more)

    def scores(stats: list[Json]) -> list[Json]:
        more = copy.deepcopy(stats[0]) | {"perturbation": TYPOS}
        for stat in more["stats"]:
            stat["mean"] = 0
            stat["name"]["perturbation"] = TYPOS
        return [*stats, more]

    def means(stats: list[Json]) -> list[Json]:
        named = {each["name"]["name"]: each for each in stats}
        about = {"name": "exact_match", "split": "test", "perturbation": TYPOS | {"computed_on": "perturbed"}}
        worst = {**about, "perturbation": TYPOS | {"computed_on": "worst"}}
        assert "exact_match" in named
        return [*stats, {"name": about, "mean": 0.0}, {"name": worst, "mean": 0.5}]

    for name, edit in (("scenario_state.json", requests), ("per_instance_stats.json", scores), ("stats.json", means)):
        edited(name, edit)(run)


def import_helm(tripos: Command, change: Callable[[Path], None]) -> Any:
    run = Path("logs") / "suite" / "quiz"
    shutil.copytree(HELM, run)
    change(run)
    return tripos("import", "logs", "logs", "--json").data


def test_a_perturbation_of_helm_is_a_scenario_with_the_figures_of_the_log(folder: Path, tripos: Command) -> None:
    [log] = import_helm(tripos, perturbed)["logs"]
    assert [(each["task"], each["log"], each["same"]) for each in log["figures"] if each["score"] == "exact_match"] == [
        ("quiz:subject=sums", pytest.approx(2 / 3), True),
        ("quiz:subject=sums [typos, prob=0.1]", 0.0, True),
    ]
    measures = tripos("report", "--json").data["measures"]
    assert {each["name"]: [row["value"] for row in each["rows"]] for each in measures} == {
        "quiz_subject_sums.exact_match": [pytest.approx(2 / 3)],
        "quiz_subject_sums.quasi_exact_match": [pytest.approx(5 / 6)],
        "quiz_subject_sums_typos_prob_0_1.exact_match": [0.0],
        "quiz_subject_sums_typos_prob_0_1.quasi_exact_match": [0.0],
    }


@pytest.mark.parametrize(
    "change",
    [
        without("per_instance_stats.json"),
        edited("per_instance_stats.json", lambda stats: {"stats": stats}),
        edited("per_instance_stats.json", lambda stats: []),
    ],
)
def test_a_run_of_helm_without_scores_says_so(folder: Path, tripos: Command, change: Callable[[Path], None]) -> None:
    [log] = import_helm(tripos, change)["logs"]
    assert log["scores"] == 0
    assert log["figures_without_scores"] == ["exact_match", "quasi_exact_match"]
    assert [each["what"] for each in log["left_out"]] == ["scores: `per_instance_stats.json` is not there, or has none"]


def test_a_run_of_helm_without_requests_is_named_beside_others(folder: Path, tripos: Command) -> None:
    shutil.copytree(HELM, Path("logs") / "suite" / "other")
    found = import_helm(tripos, without("scenario_state.json"))
    assert [each["file"] for each in found["logs"]] == ["logs/suite/other"]
    assert found["unread"] == [
        {"file": "logs/suite/quiz/run_spec.json", "reason": "there is no `scenario_state.json` beside it"}
    ]


@pytest.mark.parametrize(
    "change",
    [
        edited("scenario_state.json", lambda state: [each.pop("result") for each in state["request_states"]] and None),
        edited(
            "scenario_state.json",
            lambda state: [each["result"].update(completions=[]) for each in state["request_states"]] and None,
        ),
        edited(
            "scenario_state.json",
            lambda state: [each["result"].update(success=False) for each in state["request_states"]] and None,
        ),
    ],
)
def test_requests_of_helm_without_completions_are_replies_that_failed(
    folder: Path, tripos: Command, change: Callable[[Path], None]
) -> None:
    [log] = import_helm(tripos, change)["logs"]
    assert log["statuses"] == {"provider_error": 6}
    assert all(each["same"] for each in log["figures"])
