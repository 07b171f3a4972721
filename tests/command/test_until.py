"""Runs that stop when they are settled: when, at what, the same after an interruption, and what is told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos import compile as tripos_compile

SPEC = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
axis level { low, high }
dataset item from "items.jsonl" { question text, A text, B text, answer text secret, level level }
scenario sums {
  over item
  context level
  ask reply by candidate { prompt "{{ item.question }}\\nA. {{ item.A }}\\nB. {{ item.B }}\\nLevel: {{ level }}" }
  score right = contains(reply.text, item.answer)
}
measure accuracy = mean(right)
measure by_level = mean(right) by level
"""
MANY = 80
MODELS = "mock/student-95-0,mock/student-20-0"


@pytest.fixture
def sums(tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "question": f"{n} + 7 = ?",
            "A": str(n + 7),
            "B": str(n + 8),
            "answer": str(n + 7),
            "level": ("low", "high")[n % 2],
        }
        for n in range(MANY)
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (tmp_path / "s.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def run(tripos: Command, *options: str, models: str = MODELS) -> Any:
    return json.loads(tripos("run", "s.tripos", "--model", models, "--json", *options).out)


def settled(tripos: Command, *options: str) -> Any:
    told = tripos("sql", "select settled from runs order by run_id desc limit 1", "--format", "json", *options).out
    return json.loads(json.loads(told)[0]["settled"])


def test_a_clear_comparison_stops_early_and_the_rest_is_asked_by_a_later_run_once(sums: Path, tripos: Command) -> None:
    first = run(tripos, "--until", "settled", "--max-connections", "2")
    told = settled(tripos)
    assert told["items"] < told["of"] == MANY
    [pair] = [each for each in told["figures"] if each["kind"] == "comparison" and each["name"] == "accuracy"]
    assert pair["settled"]
    assert pair["p"] <= 0.05
    assert pair["low"] > 0
    report = tripos("report").out
    assert f"stopped after {told['items']} of {MANY} items: --until settled" in report
    values = {row["model"]: row for row in json.loads(tripos("report", "--json").out)["measures"][0]["rows"]}
    for each in told["figures"]:
        if each["kind"] == "measure" and each["name"] == "accuracy":
            row = values[each["model"]]
            assert (row["low"], row["high"], row["method"]) == (each["low"], each["high"], "sequence")
            assert row["value"] == pytest.approx(each["value"])
            assert row["coverage"] is None
            assert row["items"] == told["items"]
    assert f"stopped after {told['items']} of {MANY} items" in tripos("leaderboard").out
    again = run(tripos, "--until", "settled")
    assert again["calls"]["asked"] == 0
    assert settled(tripos) == told
    whole = run(tripos)
    assert first["calls"]["asked"] + whole["calls"]["asked"] == 2 * MANY
    assert "stopped after" not in tripos("report").out


def test_a_model_is_asked_no_more_once_it_is_settled(sums: Path, tripos: Command) -> None:
    models = "mock/student-95-0,mock/student-10-0,mock/student-0-0"
    done = run(tripos, "--until", "settled", "--max-connections", "2", models=models)
    told = settled(tripos)
    items = told["models"]
    assert items["mock/student-95-0"] < max(items.values()) <= MANY
    assert done["calls"]["asked"] < 3 * max(items.values()) + 12
    assert done["calls"]["left"] == 0

    def shown() -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(tripos("report", "--json").out)["measures"][0]["rows"]
        return rows

    alone = shown()
    assert {row["model"]: row["items"] for row in alone} == items
    for row in alone:
        assert (row["method"] == "sequence") == (items[row["model"]] < MANY)
        assert (row["coverage"] is None) == (items[row["model"]] < MANY)
    board = {row["model"]: row for row in json.loads(tripos("leaderboard", "--json").out)["boards"][0]["models"]}
    apart = {
        frozenset(each[name] for name in ("model", "other"))
        for each in told["figures"]
        if each["kind"] == "comparison" and each["settled"]
    }
    for pair in apart:
        one, other = (set(board[model]["letters"]) for model in pair)
        assert not one & other
    # Whatever else is in the store: a run that stops shows the items before it stopped, and no others.
    run(tripos, models=models)
    assert run(tripos, "--until", "settled", models=models)["calls"]["asked"] == 0
    assert shown() == alone
    run(tripos, "--until", "settled", "--seed", "1", models=models)
    assert {row["model"]: row["items"] for row in shown()} == settled(tripos)["models"]


def test_the_board_of_a_release_is_whole(sums: Path, tripos: Command) -> None:
    licensed = SPEC.replace("{ languages en }", '{\n  languages en\n  license   "CC0-1.0"\n}')
    (sums / "s.tripos").write_text(licensed, "utf-8")
    assert tripos("release", "s.tripos", "--to", "released").code == 0
    (folder,) = (path for path in (sums / "released").iterdir() if path.is_dir())
    models = ("--model", MODELS)
    assert tripos("run", str(folder), *models, "--until", "settled", "--max-connections", "2").code == 0
    board = tripos("leaderboard").out
    items = settled(tripos)["models"]["mock/student-95-0"]
    assert items < MANY
    told = f"left out: mock/student-95-0, whose run stopped after {items} of {MANY} items"
    assert told in " ".join(board.split())
    (said,) = json.loads(tripos("leaderboard", "--json").out)["boards"]
    assert not said["models"]
    assert len(said["unfinished"]) == 2
    (ranked,) = json.loads(tripos("leaderboard", "--json", "--anyway").out)["boards"]
    assert len(ranked["models"]) == 2
    assert tripos("run", str(folder), *models, "--until", "end").code == 0
    (whole,) = json.loads(tripos("leaderboard", "--json").out)["boards"]
    assert len(whole["models"]) == 2
    assert not whole["unfinished"]


def test_when_it_stops_follows_from_order_and_replies_alone(sums: Path, tripos: Command) -> None:
    run(tripos, "--until", "settled", "--seed", "3", "--store", "wide", "--max-connections", "16")
    seeded = ("--until", "settled", "--seed", "3", "--store", "cut")
    tripos("run", "s.tripos", "--model", MODELS, *seeded, "--budget", "7calls")
    run(tripos, *seeded, "--max-connections", "1")
    told = settled(tripos, "--store", "wide")
    assert told == settled(tripos, "--store", "cut")
    assert told["seed"] == 3


def test_workers_stop_at_the_item_at_which_one_process_stops(sums: Path, tripos: Command) -> None:
    run(tripos, "--until", "settled", "--store", "one")
    shared = run(tripos, "--until", "settled", "--store", "two", "--workers", "2")
    told = settled(tripos, "--store", "two")
    assert told == settled(tripos, "--store", "one")
    assert told["items"] * 2 < shared["calls"]["asked"] < 2 * MANY
    assert shared["calls"]["left"] == 0
    listed = "select scenario, item_id, models from run_items order by all"
    rows = [tripos("sql", listed, "--format", "json", "--store", store).out for store in ("one", "two")]
    assert rows[0] == rows[1]
    assert len(json.loads(rows[0])) == told["items"]


def test_no_item_is_asked_far_ahead_of_what_was_read(sums: Path, tripos: Command) -> None:
    done = run(tripos, "--until", "settled", models="baseline/constant:8,baseline/constant:none")
    items = settled(tripos)["items"]
    assert items * 2 <= done["calls"]["asked"] <= 2 * (items + 4)


def test_a_margin_stops_one_model_once_all_its_cells_are_known(sums: Path, tripos: Command) -> None:
    run(tripos, "--until", "settled", "--margin", "0.2", models="mock/student-95-0")
    told = settled(tripos)
    assert told["items"] < MANY
    assert [each["name"] for each in told["figures"]] == ["accuracy", "by_level", "by_level"]
    assert all(each["high"] - each["low"] <= 0.4 + 1e-9 for each in told["figures"])
    cells = [each for each in told["figures"] if each["by"]]
    assert {each["by"]["level"]: each["of"] for each in cells} == {"low": MANY // 2, "high": MANY // 2}
    assert sum(each["items"] for each in cells) == told["items"]


def test_an_expectation_is_settled_too(sums: Path, tripos: Command) -> None:
    (sums / "s.tripos").write_text(SPEC + "expect accuracy < 0.8\n", "utf-8")
    run(tripos, "--until", "settled", models="mock/student-95-0")
    told = settled(tripos)
    [gate] = [each for each in told["figures"] if each["kind"] == "expect"]
    assert gate["settled"]
    assert gate["high"] < 0.8
    assert told["items"] < MANY


def test_an_expectation_on_an_end_is_held_to_the_interval_of_its_sequence(sums: Path, tripos: Command) -> None:
    (sums / "s.tripos").write_text(SPEC + "expect upper(accuracy) <= 0.8 until settled\n", "utf-8")
    run(tripos, models="mock/student-95-0")
    told = settled(tripos)
    [followed] = [each for each in told["figures"] if each["kind"] == "expect"]
    assert followed["settled"] and told["items"] < MANY
    [gate] = tripos("report", "--json").data["expectations"]
    [outcome] = gate["outcomes"]
    assert (outcome["low"], outcome["high"]) == (followed["low"], followed["high"])
    assert outcome["held"] and followed["high"] < 0.8
    assert outcome["margin"] == pytest.approx(0.8 - followed["high"])


def test_a_run_that_is_never_settled_is_an_ordinary_one(sums: Path, tripos: Command) -> None:
    done = run(tripos, "--until", "settled", "--limit", "6", models="mock/student-60-0:a,mock/student-60-0:b")
    assert done["calls"]["asked"] == 12
    assert settled(tripos)["items"] == 6
    report = tripos("report").out
    assert "stopped after" not in report
    assert "on 6 of 80 items: --limit 6" in report


def test_a_comparison_counts_an_item_of_two_scenarios_once_and_closes_at_the_difference(
    sums: Path, tripos: Command
) -> None:
    scenario = SPEC[SPEC.index("scenario sums") : SPEC.index("measure accuracy")]
    again = scenario.replace("scenario sums", "scenario again").replace(
        "{{ item.question }}", "Add: {{ item.question }}"
    )
    (sums / "s.tripos").write_text(SPEC + again, "utf-8")
    done = run(tripos, "--until", "settled", models="mock/student-60-0:a,mock/student-60-0:b")
    assert done["calls"]["asked"] == 4 * MANY
    told = settled(tripos)
    [pair] = [each for each in told["figures"] if each["kind"] == "comparison"]
    assert (told["of"], pair["of"], pair["items"]) == (2 * MANY, MANY, MANY)
    values = {
        each["model"]: each["value"] for each in told["figures"] if each["name"] == "accuracy" and "other" not in each
    }
    assert pair["value"] == pytest.approx(values[pair["model"]] - values[pair["other"]])


def test_a_headline_that_no_sequence_follows_is_refused_and_other_measures_are_named(
    sums: Path, tripos: Command
) -> None:
    extra = "measure twice = median(right)\n"
    (sums / "s.tripos").write_text(SPEC + extra, "utf-8")
    done = tripos("run", "s.tripos", "--model", MODELS, "--until", "settled", "--limit", "4")
    assert "no interval if the run stops: twice" in " ".join(done.err.split())
    (sums / "s.tripos").write_text(
        SPEC.replace("{ languages en }", "{\n  languages en\n  headline twice\n}") + extra, "utf-8"
    )
    refused = tripos("run", "s.tripos", "--model", MODELS, "--until", "settled")
    assert refused.code == 2
    assert "`twice` is no plain mean of scores" in " ".join(refused.err.split())


def test_the_spec_says_what_a_run_goes_on_for(sums: Path, tripos: Command) -> None:
    said = SPEC.replace("mean(right) by level", "mean(right) until settled by level")
    said = said.replace("contains(reply.text, item.answer)", 'choice_letters(reply.text) == choice_letters("A")')
    (sums / "s.tripos").write_text(said + "expect accuracy > 0.1\n", "utf-8")
    done = run(tripos, "--max-connections", "2")
    told = settled(tripos)
    assert told["until"] == "spec"
    assert told["items"] < MANY
    pairs = [each for each in told["figures"] if each["kind"] == "comparison"]
    assert [(each["name"], each["by"]["level"], each["settled"]) for each in pairs] == [
        ("by_level", "low", True),
        ("by_level", "high", True),
    ]
    report = " ".join(tripos("report").out.split())
    assert f"stopped after {told['items']} of {MANY} items: `until settled` in the spec" in report
    assert "is above mock/student-20-0 by" in report
    assert "in by_level [level low]" in report
    whole = run(tripos, "--until", "end")
    assert done["calls"]["asked"] + whole["calls"]["asked"] == 2 * MANY
    assert "stopped after" not in tripos("report").out
    one = tripos("run", "s.tripos", "--model", "mock/student-95-0", "--seed", "2")
    assert "one model alone is compared with none: the run goes on to its last item" in " ".join(one.err.split())
    refused = tripos("run", "s.tripos", "--model", MODELS, "--shard", "1/2")
    assert (refused.code, "share the run with --workers, or give --until end" in refused.err) == (2, True)


def test_the_spec_asks_for_a_margin_a_gate_or_the_leaderboard(sums: Path, tripos: Command) -> None:
    close = "mean(right) until settled within 0.2\nmeasure by_level"
    (sums / "s.tripos").write_text(SPEC.replace("mean(right)\nmeasure by_level", close), "utf-8")
    run(tripos, models="mock/student-95-0")
    told = {each["name"]: each for each in settled(tripos)["figures"] if not each["by"]}
    assert told["accuracy"]["settled"]
    assert told["accuracy"]["items"] < MANY
    (sums / "s.tripos").write_text(SPEC + "expect accuracy < 0.8 until settled\n", "utf-8")
    run(tripos, models="mock/student-95-0")
    [gate] = [each for each in settled(tripos)["figures"] if each["kind"] == "expect"]
    assert (gate["settled"], gate["items"] < MANY) == (True, True)
    board = SPEC.replace("{ languages en }", "{\n  languages en\n  headline accuracy\n  until settled\n}", 1)
    (sums / "s.tripos").write_text(board, "utf-8")
    run(tripos)
    [pair] = [each for each in settled(tripos)["figures"] if each["kind"] == "comparison"]
    assert (pair["name"], pair["settled"]) == ("accuracy", True)


MADE = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
role judge
arm hint { none, some }
axis level { low, high }
dimension taught "Taught" {
  metric clear "Clear" { scale 0..4, asks "Is it clear?" }
  metric warm "Warm" { scale 0..4, asks "Is it warm?" }
}
scorer marks(reply: text) by judge { prompt "{{ metrics }} {{ reply }}", gives allocated metrics }
allocate marks {
  |      | clear | warm |
  | sums |   3   |  x   |
}
dataset item from "items.jsonl" { question text, A text, B text, answer text secret, level level, kind text }
scenario sums {
  over item
  context level
  arms hint
  ask reply by candidate {
    system "Think." when hint == some
    prompt "({{ level }}) {{ item.question }}\\nA. {{ item.A }}\\nB. {{ item.B }}"
  }
  score right = choice_letters(reply.text) == choice_letters("A")
  score marks(reply.text)
  measure by_kind = mean(right) by item.kind
  measure macro = mean(mean(right) by item.kind)
}
measure accuracy = mean(right)
measure taught = mean(marks)
measure by_dimension = mean(clear) by dimension
measure gain = accuracy[hint: some] - accuracy[hint: none] by level
measure half = (1 + accuracy[level: low] - accuracy[level: high]) / 2
"""


def test_a_sum_of_means_closes_at_what_the_report_says(sums: Path, tripos: Command) -> None:
    rows = [json.loads(line) for line in (sums / "items.jsonl").read_text("utf-8").splitlines()][:23]
    made = [json.dumps({**row, "kind": "abbccc"[n % 6]}) for n, row in enumerate(rows)]
    (sums / "items.jsonl").write_text("\n".join(made), "utf-8")
    (sums / "s.tripos").write_text(MADE, "utf-8")
    run(tripos, "--until", "settled", "--margin", "0.0001", "--role", "judge=mock/careful")
    shown = {table["name"]: table["rows"] for table in json.loads(tripos("report", "--json").out)["measures"]}
    told = settled(tripos)
    assert told["items"] == told["of"] == 23
    assert {each["name"] for each in told["figures"]} == {*shown}
    for each in told["figures"]:
        if each["kind"] == "measure":
            own = [
                row
                for row in shown[each["name"]]
                if row["model"] == each["model"] and all(row[name] == value for name, value in each["by"].items())
            ]
            assert (own[0]["value"], len(own)) == (pytest.approx(each["value"]), 1)
            assert (each["low"], each["high"]) == (pytest.approx(each["value"]), pytest.approx(each["value"]))


def test_the_plan_tells_what_earlier_runs_show_of_the_saving(sums: Path, tripos: Command) -> None:
    plan = ("plan", "s.tripos", "--until", "settled", "--model", MODELS)
    assert "nothing is known of what it saves: there is no store yet" in " ".join(tripos(*plan).out.split())
    run(tripos)
    told = " ".join(tripos(*plan, "--seed", "4").out.split())
    found = tripos_compile("s.tripos").plan(MODELS, until="settled", seed=4).settling
    assert found is not None
    assert f"asked for {round(found.share * MANY)} of {MANY} items" in told
    assert 0 < found.share < 1
    run(tripos, "--until", "settled", "--seed", "4")
    assert settled(tripos)["items"] in {round(each) for each in found.items}
    other = tripos("plan", "s.tripos", "--until", "settled", "--model", "mock/student-95-0:b,mock/student-20-0:b")
    assert "The store has no scores of mock/student-95-0:b, mock/student-20-0:b" in " ".join(other.out.split())
    assert f"of {2 * MANY} calls" in " ".join(other.out.split())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--margin", "0.1"), "`--margin` says when a run is settled"),
        (("--until", "settled", "--shard", "1/2"), "`--shard` asks for items at once"),
        (("--until", "settled"), "nothing of this benchmark can be settled"),
    ],
)
def test_what_cannot_be_settled_is_refused(sums: Path, tripos: Command, options: tuple[str, ...], told: str) -> None:
    done = tripos("run", "s.tripos", "--model", "mock/student-95-0", *options)
    assert done.code == 2
    assert told in done.err
