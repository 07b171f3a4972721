"""Results in a notebook: short displays, tables in other forms, and pictures as charts."""

from __future__ import annotations

from pathlib import Path

import altair
import pandas
import polars
import pyarrow as pa
import pytest

import tripos
from tests.plots.conftest import MODELS
from tripos_warehouse.query.relations import SHOWN, preview


def test_a_report_shows_its_headline_in_few_lines(lessons: Path) -> None:
    with tripos.open("results") as store:
        report = store.report()
        assert len(repr(report)) < 200 and "lessons 1.0.0" in repr(report)
        shown = report._repr_mimebundle_()
        assert shown["text/plain"] in f"<{shown['text/plain']}>" == repr(report)
        assert len(shown["text/html"]) < 20_000 and len(shown["text/markdown"]) < 6_000
        assert shown["text/markdown"].index("tutoring.gain") < shown["text/markdown"].index("tutoring.by_arm")
        assert "lab/&lt;tiny&gt; &amp; co" in shown["text/html"] and "<tiny>" not in shown["text/html"]
        assert report.to_arrow().num_rows == len(MODELS) * (1 + 2 + 1 + 2 + 3)


def test_results_show_their_runs(lessons: Path) -> None:
    with tripos.open("results") as store:
        assert repr(store) == f"<Results in {lessons / 'results'}>"
        assert "1 run in" in store._repr_mimebundle_()["text/plain"]
        assert "lessons 1.0.0" in store._repr_mimebundle_()["text/html"]


def test_a_table_shows_its_first_rows_and_is_whole_in_other_forms(lessons: Path) -> None:
    with tripos.open("results") as store:
        table = store.sql("from lessons.scores")
        shown = table._repr_mimebundle_()
        assert shown["text/html"].count("<tr>") == 1 + SHOWN and f"the first {SHOWN} rows" in shown["text/html"]
        whole = (table.to_pandas(), table.to_polars(), table.to_arrow())
        assert isinstance(whole[0], pandas.DataFrame) and isinstance(whole[1], polars.DataFrame)
        assert isinstance(whole[2], pa.Table)
        assert {len(each) for each in whole} == {len(table.fetchall())} and len(whole[0]) > SHOWN
        some = table.filter("metric = 'right'").limit(2)
        assert preview(some).height == 2 and len(some.to_pandas()) == 2
        with pytest.raises(tripos.StoreError, match="S0205"):
            table.to_parquet("x.parquet")


def test_a_run_shows_itself_its_measures_and_its_samples(quiz: Path) -> None:
    run = tripos.compile("quiz.tripos").run("mock/careful", roles={"judge": "mock/fair"})
    shown = run._repr_mimebundle_()
    assert run.id in shown["text/plain"] and "by_metric" in shown["text/markdown"]
    assert shown["text/html"].count("<tr>") < 30
    assert {"measure", "value", "low"} <= set(run.measures.to_pandas().columns)
    assert run.samples.to_arrow().num_rows == sum(run.report().samples.values())
    assert set(run.samples.to_polars()["model"]) == {"mock/careful"}
    chart = run.plot("heatmap", size="column")
    assert isinstance(chart, altair.LayerChart)


@pytest.mark.filterwarnings("ignore::tripos.plots.plot.FontWarning")  # not every machine has a Chinese font
def test_a_picture_is_a_chart_and_a_file(lessons: Path) -> None:
    with tripos.open("results") as store:
        chart = store.plot("radar", size="slide", width="20cm", language="zh", out="radar.svg")
        assert isinstance(chart, altair.LayerChart) and "清晰程度" in Path("radar.svg").read_text("utf-8")
        assert "清晰程度" in chart.to_json(ensure_ascii=False)
        single = store.plot("gain", models=MODELS[1], bare=True)
        assert "title" not in single.to_dict() and MODELS[0] not in single.to_json()


def test_a_picture_that_there_is_not_is_told(lessons: Path) -> None:
    with tripos.open("results") as store:
        with pytest.raises(ValueError, match="choose from leaderboard"):
            store.plot("pie")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="choose from column"):
            store.plot("gain", size="poster")  # type: ignore[typeddict-item]
        with pytest.raises(ValueError, match=r"such as 8\.4cm"):
            store.plot("gain", width="wide")
        with pytest.raises(TypeError, match="colour"):
            store.plot("gain", colour="red")  # type: ignore[call-arg]
        with pytest.raises(tripos.StoreError, match="S0602"):
            store.plot("gain", measure="none")
