"""The files of a view say what the warehouse says, and every reply finds what belongs to it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.answers import ask
from tests.conftest import Command
from tests.warehouse.small_run import small_plan
from tripos.releases import opening
from tripos.view import files
from tripos.view.files import ViewFiles, spec_file, translations
from tripos.view.tables import TABLES
from tripos_compiler.source.text import Source
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.items import analysed_items
from tripos_warehouse.report.remarks import STAND_IN_NOTE
from tripos_warehouse.store.store import Store

ARMS = """\
benchmark armed "1.0.0" {
  languages en
}
role candidate compared
arm hint { none "no hint", some "a hint" }
dataset item from "items.jsonl" {
  question text
  answer   text secret
}
scenario sums "Sums" {
  over item
  arms hint
  ask plain by candidate {
    prompt "{{ item.question }}"
  }
  ask helped by candidate when hint == some {
    prompt "Think first. {{ item.question }}"
  }
  score long = length(plain.text) > 3
}
measure longs = mean(long) by hint
"""

LOWER = "\nmeasure wrong = 1 - mean(CLEAR) / 10 lower is better\n"


def read(view: ViewFiles, path: str) -> Any:
    data = view.json(path)
    assert data is not None
    return json.loads(data)


def tables(view: ViewFiles, run: str) -> dict[str, list[dict[str, Any]]]:
    listed = view.tables(run)["tables"]
    found = {}
    for name in TABLES:
        path = view.table(listed[name]["path"])
        assert path is not None and path.stat().st_size == listed[name]["bytes"]
        found[name] = pq.read_table(path).to_pylist()
        assert len(found[name]) == listed[name]["rows"]
    return found


def test_the_index_lists_runs_with_their_headline(view: ViewFiles) -> None:
    index = read(view, "index.json")
    assert index["format"] == "tripos.view/1"
    (run,) = index["runs"]
    assert run["models"] == ["mock/careful", "mock/careless"]
    assert run["scored_share"] == 1.0
    assert run["roles"]["judge"] == ["mock/fair", "mock/severe"]


def test_the_report_is_that_of_the_command(view: ViewFiles, tripos: Command) -> None:
    (run,) = read(view, "index.json")["runs"]
    made = read(view, f"runs/{run['run_id']}/report.json")
    printed = tripos("report", "--json").data
    assert {name: made[name] for name in printed} == printed
    about = read(view, f"runs/{run['run_id']}/about.json")
    assert about["evaluators"] == ["mock/fair", "mock/severe"] and {"CLEAR", "RIGHT"} <= set(about["metrics"])
    boards = read(view, f"runs/{run['run_id']}/boards.json")["boards"]
    ranked = tripos("leaderboard", "--json").data["boards"]
    # The page shows what the command says at the end of its notes, that the models are mock models, above all boards.
    said = [[*board["notes"], STAND_IN_NOTE] for board in boards]
    assert [
        {**{name: board[name] for name in ranked[0]}, "notes": notes} for board, notes in zip(boards, said, strict=True)
    ] == ranked


def test_a_table_is_made_when_it_is_asked_for(view: ViewFiles) -> None:
    (run,) = read(view, "index.json")["runs"]
    listed = read(view, f"runs/{run['run_id']}/tables.json")["tables"]
    assert listed["samples"]["rows"] == 10 and listed["texts"] == {**listed["texts"], "rows": None, "bytes": None}
    path = view.table(listed["texts"]["path"])
    assert path is not None and pq.read_table(path).num_rows == 10
    assert view.table(listed["texts"]["path"].replace(run["run_id"], "nobody")) is None


def test_means_of_the_grid_are_those_of_the_scores_on_their_scales(view: ViewFiles, tripos: Command) -> None:
    (run,) = read(view, "index.json")["runs"]
    made = {
        (cell["scenario"], cell["metric"], cell["model"]): cell["score"]
        for cell in read(view, f"runs/{run['run_id']}/report.json")["grid"]
        if cell["metric"] in ("CLEAR", "RIGHT")
    }
    query = """select scenario, metric, model, avg((value - 1) / 9) as score from quiz.scores
      where metric in ('CLEAR', 'RIGHT') group by all"""
    rows = ask(tripos, query)
    assert len(rows) == 6
    assert made == pytest.approx({(row["scenario"], row["metric"], row["model"]): row["score"] for row in rows})


def test_every_reply_finds_its_scores_and_judgements(view: ViewFiles) -> None:
    (run,) = read(view, "index.json")["runs"]
    found = tables(view, run["run_id"])
    assert len(found["samples"]) == len(found["texts"]) == 10
    for name in ("scores", "judgements"):
        seen = 0
        for n, sample in enumerate(found["samples"]):
            start = sample[f"{name}_at"]
            mine = found[name][start : start + sample[name]] if start is not None else []
            assert [row["n"] for row in mine] == [n] * sample[name]
            seen += len(mine)
        assert seen == len(found[name])
    assert {row["evaluator"] for row in found["judgements"]} == {"mock/fair", "mock/severe"}
    assert all(sample["reply"] is not None for sample in found["texts"])


def test_the_disagreement_of_judges_is_the_widest_over_metrics(view: ViewFiles) -> None:
    (run,) = read(view, "index.json")["runs"]
    found = tables(view, run["run_id"])
    for n, sample in enumerate(found["samples"]):
        grades: dict[str, list[float]] = {}
        for row in found["scores"]:
            if row["n"] == n and row["evaluator"] is not None:
                grades.setdefault(row["metric"], []).append((row["value"] - 1) / 9)
        widest = max(max(each) - min(each) for each in grades.values())
        assert sample["spread"] == pytest.approx(widest, abs=1e-6)


def test_a_reply_that_arms_share_is_a_row_in_each_with_its_own_scores(
    quiz: Path, tripos: Command, tmp_path: Path
) -> None:
    (quiz / "armed.tripos").write_text(ARMS, "utf-8")
    assert tripos("run", "armed.tripos", "--model", "mock/careful", "--store", "armed").code == 0
    view = ViewFiles(lambda: Store.open(quiz / "armed", create=False), tmp_path / "made")
    (run,) = read(view, "index.json")["runs"]
    found = tables(view, run["run_id"])
    plain = [sample for sample in found["samples"] if sample["step"] == "plain"]
    assert sorted(sample["hint"] for sample in plain) == ["none"] * 3 + ["some"] * 3
    assert len({sample["sample_id"] for sample in plain}) == 3
    assert [sample["scores"] for sample in plain] == [1] * 6
    assert len(found["scores"]) == 6
    axes = read(view, f"runs/{run['run_id']}/report.json")["axes"]
    assert {(cell["axis"], cell["value"], cell["n"]) for cell in axes} == {("hint", "none", 3), ("hint", "some", 3)}


def test_a_paired_comparison_is_that_of_the_command(view: ViewFiles, tripos: Command) -> None:
    (run,) = read(view, "index.json")["runs"]
    made = read(view, f"compare/{run['run_id']}.0~{run['run_id']}.1.json")
    printed = tripos("compare", "--json").data
    assert made["pairs"] == printed["pairs"] and made["items"] == printed["items"]
    told = {row["name"]: row["verdict"] for section in made["sections"] for row in section["rows"]}
    assert set(told.values()) == {row["verdict"] for row in printed["rows"]}
    assert view.json(f"compare/{run['run_id']}.0~{run['run_id']}.9.json") is None


def test_runs_by_other_judges_are_not_compared_as_if_they_had_the_same(view: ViewFiles, tripos: Command) -> None:
    """The page refuses what the command refuses, in the same words."""
    [before] = read(view, "index.json")["runs"]
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    after = read(view, "index.json")["runs"][0]
    said = read(view, f"compare/{before['run_id']}.0~{after['run_id']}.0.json")["error"]
    printed = tripos("compare", before["run_id"], after["run_id"], "--models", "mock/careful,mock/careful")
    assert said["code"] == "S0615" and f"S0615]: {said['message']}" in printed.err.replace("\n", " ")
    assert read(view, f"compare/{before['run_id']}.0~{before['run_id']}.1.json")["changes"] == []


def test_sentences_are_in_the_languages_of_readers(quiz: Path, tripos: Command, tmp_path: Path) -> None:
    """Notes of a run that stopped, verdicts of a comparison, and reasons of measures without a value."""
    spec = Path("quiz.tripos")
    spec.write_text(spec.read_text("utf-8").replace("languages en", "languages en\n  headline length"), "utf-8")
    chosen = ("--model", "mock/careful,mock/careless", "--role", "judge=mock/fair")
    assert tripos("run", "quiz.tripos", *chosen, "--budget", "9calls").code == 1
    view = ViewFiles(lambda: Store.open(quiz / "results", create=False), tmp_path / "made")
    (run,) = read(view, "index.json")["runs"]
    assert run["status"] == "stopped"
    boards = read(view, f"runs/{run['run_id']}/boards.json")
    notes = [note for board in boards["boards"] for note in board["notes"]]
    stopped = f"run {run['run_id']} is stopped, so some is missing"
    assert any(note.endswith(stopped) for note in notes)
    assert set(boards["said"]["zh"]) == set(notes)
    assert boards["said"]["zh"][next(note for note in notes if note.endswith(stopped))].endswith(
        "已停止，因此缺少一部分"
    )
    made = read(view, f"compare/{run['run_id']}.0~{run['run_id']}.1.json")
    told = {row["verdict"] for section in made["sections"] for row in section["rows"]}
    assert told and told <= set(made["said"]["zh"])
    # A text that is not ours is not looked up: that takes longer the more signs it has.
    assert translations({"text": "a: b; c, d. " * 100_000, "of": "x: y\n" * 60}) == {}
    assert "said" not in read(view, f"runs/{run['run_id']}/spec.json")


def test_judges_have_agreement_and_severity(view: ViewFiles, tripos: Command) -> None:
    (run,) = read(view, "index.json")["runs"]
    made = read(view, f"runs/{run['run_id']}/judges.json")
    rows = ask(tripos, "from quiz.agreement(per := 'metric')")
    assert made["agreement"] == rows
    assert {(each["evaluator"], each["metric"]) for each in made["severity"]} == {
        (judge, metric) for judge in ("mock/fair", "mock/severe") for metric in ("CLEAR", "RIGHT")
    }


def test_the_items_of_a_long_run_keep_nobody_from_the_replies(view: ViewFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    run = read(view, "index.json")["runs"][0]["run_id"]
    about: list[bytes | None] = []

    def slow_items(*given: Any) -> Any:
        asking = threading.Thread(target=lambda: about.append(view.json(f"runs/{run}/about.json")), daemon=True)
        asking.start()
        asking.join(60)
        return analysed_items(*given)

    monkeypatch.setattr(files, "analysed_items", slow_items)
    assert read(view, f"runs/{run}/items.json")["items"]
    assert about and about[0]


def test_paths_that_the_view_has_not_give_nothing(view: ViewFiles) -> None:
    for path in ("../index.json", "runs/../../x.json", "runs/x/y.json", "", "benchmarks/none.json", "x"):
        assert view.json(path) is None
        assert view.table(path) is None
    with pytest.raises(StoreError) as raised:
        view.json("runs/nothing/report.json")
    assert raised.value.code == "S0301"


def test_a_state_that_is_read_stays_while_the_store_grows(view: ViewFiles, tripos: Command) -> None:
    (run,) = read(view, "index.json")["runs"]
    before = read(view, f"runs/{run['run_id']}/tables.json")
    assert tripos("run", "quiz.tripos", "--model", "mock/student", "--role", "judge=mock/fair").code == 0
    after = read(view, f"runs/{run['run_id']}/tables.json")
    assert before["state"] != after["state"]
    assert len(read(view, "index.json")["runs"]) == 2
    path = view.table(before["tables"]["samples"]["path"])
    assert path is not None and pq.read_table(path).num_rows == 10


def points(view: ViewFiles, model: str) -> list[tuple[int | None, list[str]]]:
    """Return of every run what segment its figure is in, and the names of what broke the line."""
    (history,) = read(view, "benchmarks/quiz.json")["history"]
    (line,) = (each for each in history["lines"] if each["model"] == model)
    return [(point["segment"], [each["name"] for each in point["broken_by"]]) for point in line["points"]]


def test_the_history_has_a_line_for_every_model(view: ViewFiles, tripos: Command) -> None:
    text = Path("quiz.tripos").read_text("utf-8")
    graded = text.replace("measure length =", "measure overall = mean(CLEAR)\nmeasure length =")
    judges = ("--role", "judge=mock/fair", "--role", "judge=mock/severe")
    Path("quiz.tripos").write_text(graded, "utf-8")
    for model in ("mock/careful", "mock/student"):
        assert tripos("run", "quiz.tripos", "--model", model, *judges).code == 0
    assert points(view, "mock/careful") == points(view, "mock/student") == [(1, [])]
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    assert points(view, "mock/careful") == [(1, []), (2, ["judge"])], "another panel of judges"
    Path("quiz.tripos").write_text(graded.replace('"1.0.0"', '"2.0.0"') + "# a comment\n", "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    assert points(view, "mock/careful")[2:] == [(2, [])], "neither a number nor a comment changes a meaning"
    changed = graded.replace("{{ metrics }} Task", "{{ metrics }} The task")
    assert changed != graded
    Path("quiz.tripos").write_text(changed, "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    assert points(view, "mock/careful")[3:] == [(3, ["sums.rubric", "words.rubric"])]
    assert points(view, "mock/student") == [(1, [])]


def test_the_history_is_whole_where_the_command_refuses_to_compare_what_it_does_not_take(
    view: ViewFiles, tripos: Command
) -> None:
    """Judges have no say in how long replies are."""
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    assert points(view, "mock/careful") == [(1, []), (1, [])]
    last, first = (run["run_id"] for run in read(view, "index.json")["runs"])
    assert "S0615" in tripos("compare", first, last).err


def test_the_names_say_of_which_measures_a_lower_value_is_better(view: ViewFiles, tripos: Command) -> None:
    Path("quiz.tripos").write_text(Path("quiz.tripos").read_text("utf-8") + LOWER, "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/fair").code == 0
    after, before = (run["run_id"] for run in read(view, "index.json")["runs"])
    assert read(view, f"runs/{before}/about.json")["about"]["lower_is_better"] == []
    assert read(view, f"runs/{after}/about.json")["about"]["lower_is_better"] == ["wrong"]
    measures = {each["name"]: each for each in read(view, f"runs/{after}/report.json")["measures"]}
    assert [name for name, each in measures.items() if each["lower_is_better"]] == ["wrong"]


def test_the_spec_is_kept_as_it_was_run_with_the_lines_of_its_declarations(view: ViewFiles, tripos: Command) -> None:
    (run,) = read(view, "index.json")["runs"]
    main = Path("quiz.tripos")
    text = main.read_text("utf-8")
    main.write_text(text.replace("measure", "# another measure\nmeasure", 1), "utf-8")
    made = read(view, f"runs/{run['run_id']}/spec.json")
    assert {each["path"]: each["text"] for each in made["files"]}["quiz.tripos"] == text
    assert made["missing"] == [] and str(Path.cwd()) not in json.dumps(made)
    assert made["labels"]["mean"] == {"en": "mean", "zh": "平均值"}
    places = {(each["kind"], each["name"]): each for each in made["places"]}
    for measure in made["measures"]:
        place = places["measure", measure["name"]]
        lines = text.splitlines()[place["from"] - 1 : place["to"]]
        assert lines[0].strip().startswith("measure ") and measure["name"].rpartition(".")[2] in lines[0]
    assert {name for kind, name in places if kind == "metric"} >= {"CLEAR", "RIGHT"}


def test_a_text_for_which_there_is_no_room_is_named_and_a_path_elsewhere_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "MOST_TEXT", 10)
    main = tmp_path / "spec/bench/main.tripos"
    elsewhere = tmp_path.parents[1] / "cache/quiz-1.0.0/spec/quiz.tripos"
    sources = [Source(str(main), "12345678"), Source(str(main.parent / "b.tripos"), "345"), Source(str(elsewhere), "6")]
    told = json.loads(opening.spec_text(main, sources) or "")
    assert told == [
        {"path": "main.tripos", "text": "12345678"},
        {"path": "b.tripos", "text": None},
        {"path": "quiz-1.0.0/spec/quiz.tripos", "text": "6"},
    ]
    assert spec_file(small_plan(), json.dumps(told))["missing"] == ["b.tripos"]


def test_the_headline_of_a_run_is_in_the_order_of_the_spec(quiz: Path, tripos: Command, tmp_path: Path) -> None:
    spec = Path("quiz.tripos")
    text = spec.read_text("utf-8")
    text = text.replace("languages en", "languages en\n  headline length, clarity")
    spec.write_text(f"{text}measure clarity = mean(sure)\n", "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful,mock/careless", "--role", "judge=mock/fair").code == 0
    view = ViewFiles(lambda: Store.open(quiz / "results", create=False), tmp_path / "made")
    (run,) = read(view, "index.json")["runs"]
    assert [each["measure"] for each in run["headline"]] == ["length", "length", "clarity", "clarity"]
