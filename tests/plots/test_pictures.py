"""Figures of pictures: those that the report, the board and the macros have, and none of their own."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.conftest import Command
from tests.each import each
from tests.lengths import sized
from tests.plots.conftest import MODELS
from tripos.plots.picture import PlotOptions
from tripos.plots.plot import KINDS, make_picture
from tripos_warehouse.errors import StoreError
from tripos_warehouse.statistics.power import detectable_difference, power_of
from tripos_warehouse.store.store import Store


def test_a_leaderboard_has_the_figures_of_the_board(store: Store, tripos: Command) -> None:
    picture = make_picture("leaderboard", store, options=PlotOptions(measure="tutoring.accuracy"))
    [board] = tripos("leaderboard", "--measure", "lessons=tutoring.accuracy", "--json").data["boards"]
    drawn = [(row["model"], row["value"], row["low"], row["high"], row["letters"]) for row in picture.rows]
    assert drawn == [
        tuple(row[name] for name in ("model", "value", "low", "high", "letters")) for row in board["models"]
    ]
    assert picture.notes[0] == "n = 20 scores of 10 items; coverage 100%"


def test_a_picture_of_runs_has_the_figures_of_the_report_of_each(quiz: Path, tripos: Command) -> None:
    """The second run has another judge, so its scores mean something else; the last one was stopped."""
    spec = quiz / "quiz.tripos"
    spec.write_text(spec.read_text("utf-8") + "measure overall = mean(rubric)\n", "utf-8")
    for models, judge, more in (
        ("mock/careful,mock/careless", "mock/fair", ()),
        ("mock/careful", "mock/severe", ()),
        ("mock/careful", "mock/severe:b", ("--budget", "2calls")),
    ):
        tripos("run", "quiz.tripos", "--model", models, "--role", f"judge={judge}", *more)
    names = [row["run_id"] for row in tripos("list", "--json").data][::-1]
    store = Store.open(quiz / "results", create=False)
    wanted = []
    for name in names:
        measures = {each["name"]: each for each in tripos("report", name, "--json").data["measures"]}
        rows = [row for row in measures["overall"]["rows"] if row["value"] is not None]
        wanted += [(name, row["model"], row["value"], row["low"], row["n"]) for row in rows]
    for chosen in ((), names[::-1], [name[:20] for name in names]):
        picture = make_picture("runs", store, chosen, PlotOptions(measure="overall"))
        drawn = [tuple(row[key] for key in ("run", "model", "value", "low", "n")) for row in picture.rows]
        assert sorted(drawn, key=str) == sorted(wanted, key=str) and [row[0] for row in drawn] == sorted(
            row[0] for row in wanted
        )
    assert f"scores mean something else from run {names[1]} on" in picture.notes
    lines = {line["model"]: line["points"] for line in tripos("history", "overall", "--json").data["lines"]}
    assert {(row["run"], row["model"]): row["segment"] for row in picture.rows} == {
        (point["run_id"], model): point["segment"] for model, points in lines.items() for point in points
    }
    assert [row["segment"] for row in picture.rows if row["model"] == "mock/careful"] == [1, 2, None]
    assert tripos("plot", "runs", "--measure", "overall", "--out", "runs.svg").code == 0
    assert f"run {names[2]} is stopped, so some is missing" in picture.notes
    only = make_picture("runs", store, (), PlotOptions(measure="overall", models=("mock/careless",)))
    assert {row["run"] for row in only.rows} == {names[0]}
    assert tripos("plot", "heatmap", *names[:2], "--out", "x.svg").code == 2
    with pytest.raises(StoreError, match="these runs have no model"):
        make_picture("runs", store, (), PlotOptions(models=("mock/careles",)))


def test_a_gain_has_the_figures_of_the_report_without_what_it_starts_from(store: Store, tripos: Command) -> None:
    measures = {each["name"]: each for each in tripos("report", "--json").data["measures"]}
    picture = make_picture("gain", store)
    wanted = {
        (row["model"], row["value"], row["low"])
        for row in measures["tutoring.gains"]["rows"]
        if row["teaching"] == "lesson"
    }
    assert {row["model"]: (row["value"], row["low"]) for row in picture.rows} == {
        model: pytest.approx(ends) for model, *ends in wanted
    }
    assert {row["row"] for row in picture.rows} == {"lesson"} and picture.notes[0] == "against teaching: none"
    single = make_picture("gain", store, options=PlotOptions(measure="tutoring.gain"))
    assert {row["row"] for row in single.rows} == set(MODELS)


def test_a_radar_places_the_report_on_the_scale(store: Store, tripos: Command) -> None:
    [measure] = [each for each in tripos("report", "--json").data["measures"] if each["name"] == "tutoring.quality"]
    picture = make_picture("radar", store, options=PlotOptions(language="zh"))
    found = {(row["model"], row["metric"]): row for row in picture.rows}
    named = {"CLEAR": "清晰程度", "RIGHT": "准确程度", "WARM": "亲和程度"}
    assert len(found) == 9 == len(measure["rows"])
    for row in measure["rows"]:
        drawn = found[row["model"], named[row["metric"]]]
        assert [drawn[name] for name in ("value", "low", "high")] == pytest.approx(
            [row["value"], row["low"], row["high"]]
        )
        assert drawn["place"] == pytest.approx((row["value"] - 1) / 9)


def test_a_heat_map_has_the_means_of_the_page(store: Store) -> None:
    picture = make_picture("heatmap", store)
    found = {(row["model"], row["metric"]): (row["share"], row["n"]) for row in picture.rows}
    assert found[MODELS[0], "Warmth & <care>"] == (pytest.approx(5 / 9), 10)
    assert found[MODELS[2], "Correctness"][0] == pytest.approx((6 - 1) / 9)


def test_judges_stand_beside_people_with_the_agreement_of_the_macro(store: Store, tripos: Command) -> None:
    """Each metric has a plot of its own: two of unlike scales in one would look as if their grades were comparable."""
    picture = make_picture("judges", store)
    found = tripos("sql", "from lessons.agreement()", "--format", "json").data
    titles = {"CLEAR": "Clarity", "RIGHT": "Correctness", "WARM": "Warmth & <care>"}
    assert [row["metric"] for row in found] == list(titles)
    for row, note in zip(found, picture.notes, strict=False):
        drawn = [each for each in picture.rows if each["metric"] == titles[row["metric"]]]
        assert sum(each["scores"] for each in drawn) == row["n"] == 30
        same = sum(each["scores"] for each in drawn if each["given"] == each["judged"])
        assert same / row["n"] == row["exact"]
        r = "—" if row["correlation"] is None else f"{row['correlation']:.2f}"
        told = f"30 scores; the same {row['exact']:.0%}, at most one apart {row['within_1']:.0%}, r = {r}"
        assert note == f"judge/strict, {titles[row['metric']]}: {told}"
    other = make_picture("judges", store, options=PlotOptions(against="judge/strict", metric="WARM"))
    assert [(each["given"], each["judged"], each["scores"]) for each in other.rows] == [(6, 6, 30)]


def test_a_calibration_curve_has_the_figures_of_the_judges(store: Store, tripos: Command) -> None:
    picture = make_picture("calibration", store)
    told = tripos("judges", "--json").data
    bins = [
        (judge, each["judged"], each["graded"]["value"], each["graded"]["low"], each["graded"]["n"])
        for metric in told["metrics"]
        for judge, found in metric["calibrations"].items()
        for each in found["bins"]
    ]
    assert len(bins) > 1
    drawn = [(row["judge"], row["judged"], row["value"], row["low"], row["n"]) for row in picture.rows]
    assert [pytest.approx(each[1:]) for each in bins] == [each[1:] for each in drawn]


def test_a_power_curve_is_that_of_the_paired_error(store: Store) -> None:
    options = PlotOptions(measure="tutoring.accuracy", models=MODELS[::2])
    picture = make_picture("power", store, options=options)
    board = make_picture("leaderboard", store, options=options)
    assert {row["n"] for row in board.rows} == {20}
    at_items = {row["difference"]: row["power"] for row in picture.rows if row["items"] == 10}
    assert len(at_items) >= 3 and list(at_items.values()) == sorted(at_items.values())
    assert any(abs(power - 0.8) < 0.02 for power in at_items.values())
    assert detectable_difference(10, 0.25).value == pytest.approx(2.8016 * 0.5 / 10**0.5, rel=1e-3)
    assert power_of(0.0, 10, 0.25).value == pytest.approx(0.05)


def test_of_a_single_model_power_rests_on_the_largest_variance(store: Store) -> None:
    options = PlotOptions(measure="tutoring.accuracy", models=MODELS[:1])
    picture = make_picture("power", store, options=options)
    least = detectable_difference(10, 0.25).value
    assert f"{least:.2g}" in picture.notes[0] and "largest variance" in picture.notes[1]


def test_cost_is_that_of_a_thousand_replies_and_the_line_joins_the_unbeaten(store: Store) -> None:
    picture = make_picture("cost", store, options=PlotOptions(measure="tutoring.accuracy"))
    assert [(row["model"], round(row["cost"], 6)) for row in picture.rows] == list(
        zip(MODELS, (4, 0.4, 0.04), strict=True)
    )
    tokens = make_picture("cost", store, options=PlotOptions(measure="tutoring.accuracy", cost="tokens"))
    assert [row["cost"] for row in tokens.rows] == [10, 20, 30]


@given(unknown=st.lists(st.integers(0, 20), min_size=3, max_size=3))
@settings(max_examples=sized(3, 8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_replies_without_a_known_cost_are_counted_and_the_others_drawn(
    unknown: list[int], store: Store, tripos: Command
) -> None:
    """Of the 20 replies of each model so many have no cost."""
    with Path("replies.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for model, count in zip(MODELS, unknown, strict=True):
        own = [row for row in rows if row["model"] == model]
        for row in own[:count]:
            row["cost_usd"] = ""
    with Path("partial.csv").open("w", newline="") as file:
        written = csv.DictWriter(file, rows[0])
        written.writeheader()
        written.writerows(rows)
    shutil.rmtree("partial", ignore_errors=True)
    assert tripos("import", "samples", "partial.csv", "--spec", "lessons.tripos", "--store", "partial").code == 0
    told = PlotOptions(measure="tutoring.accuracy")
    if min(unknown) == 20:
        with pytest.raises(StoreError):
            make_picture("cost", Store.open("partial", create=False), options=told)
        return
    picture = make_picture("cost", Store.open("partial", create=False), options=told)
    costs = {row["model"]: row["cost"] for row in picture.rows}
    every = dict(zip(MODELS, (4, 0.4, 0.04), strict=True))
    left = {model for model, count in zip(MODELS, unknown, strict=True) if count < 20}
    assert costs == {model: pytest.approx(cost) for model, cost in every.items() if model in left}
    counts = [f"{model} {count}/20" for model, count in zip(MODELS, unknown, strict=True) if 0 < count < 20]
    notes = " ".join(picture.notes)
    assert all(count in notes for count in counts)
    assert ("without a known cost" in notes) == bool(counts)
    assert ("without a known price" in notes) == (left != set(MODELS))


def test_models_are_drawn_in_the_order_that_was_asked_for(store: Store) -> None:
    picture = make_picture("gain", store, options=PlotOptions(models=(MODELS[2], MODELS[0])))
    assert [row["model"] for row in picture.rows] == [MODELS[2], MODELS[0]]


@each(
    "kind, options, code",
    [
        ("radar", PlotOptions(measure="tutoring.accuracy"), "S0621"),
        ("gain", PlotOptions(measure="tutoring.accuracy"), "S0621"),
        ("judges", PlotOptions(metric="NONE"), "S0621"),
        ("judges", PlotOptions(against="nobody"), "S0621"),
        ("cost", PlotOptions(cost="seconds"), "S0621"),
        ("leaderboard", PlotOptions(measure="accurate"), "S0602"),
        ("radar", PlotOptions(measure="tutoring.qualty"), "S0602"),
        ("heatmap", PlotOptions(models=("lab/lage",)), "S0614"),
    ],
)
def test_what_a_run_has_no_figures_for_is_refused(kind: str, options: PlotOptions, code: str, store: Store) -> None:
    with pytest.raises(StoreError) as raised:
        make_picture(kind, store, options=options)
    assert raised.value.code == code and raised.value.hint


def test_the_command_knows_every_kind(lessons: Path) -> None:
    from tripos.settings.options import PlotParameters

    assert tuple(KINDS) == PlotParameters.kind.kind.choices
