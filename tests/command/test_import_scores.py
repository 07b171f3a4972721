"""`tripos import scores`: scores by people come in whole or not at all, once, and stand beside those of judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import Workbook

from tests.conftest import QUIZ, Command, Outcome
from tests.lengths import spread
from tripos_warehouse.ledger.imported_scores import exclusive_import
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect, connect_run

LONG = [
    {"scenario": "sums", "question": "1+1", "metric": "CLEAR", "score": "7", "reason": "short"},
    {"scenario": "sums", "question": "1+1", "metric": "Correctness", "score": "9", "reason": ""},
    {"scenario": "words", "question": "12 + 30", "metric": "CLEAR", "score": "3.5", "reason": ""},
]
WIDE = """\
scenario,question,Clarity,RIGHT,Clarity reason
sums,1+1,7,9,short
words,12 + 30,3.5,,
"""


@pytest.fixture
def graded(quiz: Path, once: Command) -> Path:
    """A folder whose store has a run with a judge."""
    assert once("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a", "--json").code == 0
    return quiz


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    """Return a CSV file of some rows."""
    names = list(rows[0])
    lines = [",".join(names), *(",".join(f'"{row.get(name, "")}"' for name in names) for row in rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def sheet_of(lines: list[list[Any]], path: Path) -> str:
    """Return a workbook of some lines, as a spreadsheet program saves it."""
    book = Workbook()
    sheet = book.worksheets[0]
    for line in lines:
        sheet.append(line)
    book.save(path)
    return str(path)


def take(tripos: Command, path: str, *more: str) -> Outcome:
    return tripos("import", "scores", path, "--evaluator", "human/alice", *more)


def parts(root: str = "results") -> dict[str, list[Path]]:
    """Return every committed file of a store."""
    store = Store.open(root, create=False)
    return {table: store.parts(table) for table in TABLES}


def scores(where: str = "round is not null") -> list[tuple[Any, ...]]:
    """Return the imported scores that the benchmark's view shows."""
    with connect(Store.open("results", create=False)) as connection:
        return connection.execute(
            f"select scenario, metric, evaluator, round, value from quiz.scores "
            f"where {where} and status <> 'not_given' order by all"
        ).fetchall()


IMPORTED = [
    ("sums", "CLEAR", "human/alice", 1, 7.0),
    ("sums", "RIGHT", "human/alice", 1, 9.0),
    ("words", "CLEAR", "human/alice", 1, 3.5),
]


def test_a_file_is_imported_once_whatever_its_layout(graded: Path, tripos: Command) -> None:
    path, before = write(graded / "long.csv", LONG), parts()
    done = take(tripos, path, "--dry-run")
    assert (done.code, "nothing was written" in done.out, parts()) == (0, True, before)
    done = take(tripos, path)
    assert (done.code, done.out.splitlines()[0]) == (0, "3 scores of 2 replies by human/alice")
    assert scores() == IMPORTED
    written = parts()
    done = take(tripos, path)
    assert (done.code, "nothing was written" in done.out) == (0, True)
    (graded / "wide.csv").write_text(WIDE, "utf-8")
    lines = [["scenario", "question", "Clarity", "RIGHT", "Clarity reason"], ["sums", "1+1", 7, 9.0, "short"]]
    for wide in ("wide.csv", sheet_of([*lines, ["words", "12 + 30", 3.5]], graded / "wide.xlsx")):
        told = take(tripos, wide, "--json").data
        assert (told["new"], told["changed"], told["same"], told["blank"]) == (0, 0, 3, 1)
    assert parts() == written


@pytest.mark.parametrize("suffix", spread(["jsonl", "json", "parquet", "xlsx"], 2))
def test_other_formats_say_the_same(graded: Path, tripos: Command, suffix: str) -> None:
    path = graded / f"long.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(LONG), path)
    elif suffix == "json":
        path.write_text(json.dumps(LONG), "utf-8")
    elif suffix == "xlsx":
        sheet_of(
            [list(LONG[0]), *([*list(row.values())[:3], float(row["score"]), row["reason"]] for row in LONG)], path
        )
    else:
        path.write_text("\n".join(map(json.dumps, LONG)), "utf-8")
    assert take(tripos, str(path)).code == 0
    assert scores() == IMPORTED


def test_a_file_that_grew_and_a_second_round_bring_in_what_is_new(
    graded: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(tripos, write(graded / "long.csv", LONG[:1]))
    told = take(tripos, write(graded / "long.csv", LONG), "--json").data
    assert (told["new"], told["same"]) == (2, 1)
    assert scores() == IMPORTED
    write(graded / "again.csv", [{**LONG[0], "score": "5"}])
    (graded / "below").mkdir()
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(graded / "below")
        assert take(tripos, "../again.csv", "--round", "2", "--store", "../results").code == 0
    assert [row[3:] for row in scores() if row[:2] == ("sums", "CLEAR")] == [(1, 7.0), (2, 5.0)]
    for scenario in ("sums", "words"):
        write(graded / f"by_{scenario}.csv", [{"question": "12 + 30", "metric": "CLEAR", "score": 4}] * 2)
    assert take(tripos, "by_{scenario}.csv", "--round", "3", "--json").data["new"] == 2
    cells = {"scenario": ["sums"], "question": ["1+1"], "CLEAR": [7.0], "RIGHT": [float("nan")], "round": [4.0]}
    pq.write_table(pa.table(cells), graded / "wide.parquet")
    told = take(tripos, "wide.parquet", "--json").data
    assert (told["new"], told["blank"]) == (1, 1)
    assert scores("round = 4") == [("sums", "CLEAR", "human/alice", 4, 7.0)]


def test_an_id_that_no_item_has_is_told_what_else_may_name_one(graded: Path, tripos: Command) -> None:
    done = take(tripos, write(graded / "ids.csv", [{"item": "1+1", "metric": "CLEAR", "score": "7"}]))
    told = "no item of the benchmark has this id; a column may say it by what it holds: question, answer"
    assert done.err.splitlines()[0] == f"row 2: item `1+1`: {told}"


def test_a_sheet_of_annotate_is_sent_where_it_is_taken(graded: Path, tripos: Command) -> None:
    assert tripos("annotate", "--name", "anna").code == 0
    told = take(tripos, "anna.xlsx").err
    assert "`anna.xlsx` is a sheet that `tripos annotate` handed out" in told
    assert "tripos annotate --take anna.xlsx" in told


@pytest.mark.long
def test_a_judgement_keeps_what_an_earlier_file_said_of_other_metrics(graded: Path, tripos: Command) -> None:
    take(tripos, write(graded / "a.csv", LONG[:1]))
    take(tripos, write(graded / "b.csv", [{**LONG[1], "reason": "right"}]))
    with connect(Store.open("results", create=False)) as connection:
        query = "select metric, reason from quiz.rationales where round = 1 order by all"
        assert connection.execute(query).fetchall() == [("CLEAR", "short"), ("RIGHT", "right")]


def test_rows_that_do_not_fit_are_named_and_then_nothing_is_imported(graded: Path, tripos: Command) -> None:
    bad = [
        {**LONG[0], "metric": "CLAER"},
        {**LONG[0], "score": "11"},
        {**LONG[0], "score": "very"},
        {**LONG[2], "metric": "RIGHT"},
        {**LONG[0], "question": "2+2"},
        {**LONG[0], "scenario": "summs"},
    ]
    before = parts()
    done = take(tripos, write(graded / "long.csv", [*LONG, *bad]), "--rejected", "rejected.jsonl")
    assert done.code == 1
    assert done.err.splitlines()[:7] == [
        "row 5: metric `CLAER`: no such metric; did you mean `CLEAR`?",
        "row 6: value `11`: not in 1..10",
        "row 7: value `very`: not a number",
        "row 8: metric `RIGHT`: not graded in scenario `words`",
        "row 9: question `2+2`: no item of the benchmark has this",
        "row 10: scenario `summs`: no such scenario; did you mean `sums`?",
        "error[S0503]: 6 of 9 rows do not fit, so no score was imported",
    ]
    assert parts() == before
    rejected = [json.loads(line) for line in (graded / "rejected.jsonl").read_text("utf-8").splitlines()]
    assert [each["row"] for each in rejected] == [5, 6, 7, 8, 9, 10]
    assert rejected[1]["record"]["score"] == "11"


def test_the_first_rejected_rows_are_shown_and_a_reason_that_many_share_once(graded: Path, tripos: Command) -> None:
    done = take(tripos, write(graded / "long.csv", [{**LONG[0], "score": str(11 + n)} for n in range(30)]))
    assert len([line for line in done.err.splitlines() if line.startswith("row ")]) == 20
    assert "and 10 more: `--rejected FILE` writes all" in done.err
    done = take(tripos, write(graded / "long.csv", [*LONG, *[{**LONG[0], "score": "11"}] * 30]))
    assert done.err.splitlines()[0] == "row 5 and 29 more: value `11`: not in 1..10"
    assert not [line for line in done.err.splitlines()[1:] if line.startswith("row ")]


@pytest.mark.parametrize(
    ("evaluator", "told"),
    [
        ((), "every row: evaluator: nothing says who gave the score"),
        (("--evaluator", "mock/careful:a"), "every row: evaluator `mock/careful:a`: this judge grades in runs"),
    ],
)
def test_an_option_that_all_rows_lack_is_a_wrong_command(
    graded: Path, tripos: Command, evaluator: tuple[str, ...], told: str
) -> None:
    done = tripos("import", "scores", write(graded / "long.csv", [LONG[0]] * 30), *evaluator)
    assert (done.code, done.err.startswith(told)) == (2, True), done.err
    assert "--skip-rejected" not in done.err
    assert done.err.count("evaluator:" if not evaluator else "this judge") == 1
    assert ("`mock/careful:a/published`" in done.err) == bool(evaluator)


def test_skipping_imports_the_rows_that_fit_and_says_so(graded: Path, tripos: Command) -> None:
    path = write(graded / "long.csv", [*LONG, {**LONG[0], "score": "11"}])
    done = take(tripos, path, "--json")
    assert (done.code, done.data["imported"]) == (1, False)
    [rejected] = done.data["rejected"]
    assert rejected == {"file": "long.csv", "row": 5, "field": "value", "value": "11", "reason": "not in 1..10"}
    done = take(tripos, path, "--skip-rejected")
    assert (done.code, "1 of 4 rows do not fit and are left out" in done.err) == (0, True)
    assert scores() == IMPORTED


def test_a_score_that_changed_is_refused_until_it_is_said_what_becomes_of_the_old_one(
    graded: Path, tripos: Command
) -> None:
    take(tripos, write(graded / "long.csv", LONG))
    path = write(graded / "long.csv", [{**LONG[0], "score": "2"}, *LONG[1:]])
    done = take(tripos, path)
    assert (done.code, "error[S0505]: 1 of 3 scores is in the store already" in done.err) == (1, True)
    assert "CLEAR was 7, is 2" in done.err
    [change] = take(tripos, path, "--json").data["changes"]
    assert (change["metric"], change["was"], change["value"], change["evaluator"]) == ("CLEAR", 7.0, 2.0, "human/alice")
    assert scores() == IMPORTED
    assert take(tripos, path, "--replace").code == 0
    replaced = [("sums", "CLEAR", "human/alice", 1, 2.0), *IMPORTED[1:]]
    assert scores() == replaced
    assert tripos("store", "compact").code == 0
    assert scores() == replaced
    assert tripos("store", "check").code == 0


def test_imported_scores_show_in_a_report_of_one_run_and_take_part_in_its_measures(
    quiz: Path, graded: Path, tripos: Command, once: Command
) -> None:
    spec = quiz / "quiz.tripos"
    spec.write_text(spec.read_text("utf-8").replace("judge panel", "judge panel with people"), "utf-8")
    once("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a", "--json")

    def by_metric() -> tuple[float, int]:
        told = tripos("report", "--json").data
        [row] = [row for each in told["measures"] if each["name"] == "by_metric" for row in each["rows"]
                 if row["metric"] == "RIGHT"]  # fmt: skip
        return row["value"], row["n"]

    value, n = by_metric()
    take(tripos, write(graded / "long.csv", LONG))
    assert by_metric() == (pytest.approx((value * n + 9) / (n + 1)), n + 1)


@pytest.mark.long
def test_a_report_of_one_run_still_leaves_out_judges_of_others(graded: Path, tripos: Command, once: Command) -> None:
    take(tripos, write(graded / "long.csv", LONG))
    once("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:b", "--json")
    connection, _ = connect_run(Store.open("results", create=False))
    with connection:
        found = connection.execute("select distinct evaluator from quiz.scores where evaluator is not null order by 1")
        assert found.fetchall() == [("human/alice",), ("mock/careful:b",)]


def test_a_reply_is_found_by_its_id(graded: Path, tripos: Command) -> None:
    with connect(Store.open("results", create=False)) as connection:
        query = "select sample_id from quiz.samples where scenario = 'words' order by 1 limit 1"
        [(sample_id,)] = connection.execute(query).fetchall()
    (graded / "ids.csv").write_text(f"sample_id,metric,value\n{sample_id},CLEAR,4\n", "utf-8")
    assert take(tripos, "ids.csv").code == 0
    assert scores() == [("words", "CLEAR", "human/alice", 1, 4.0)]


def test_a_row_that_could_mean_several_replies_says_what_tells_them_apart(
    graded: Path, tripos: Command, once: Command
) -> None:
    more = ("--model", "mock/careful,mock/careful:b", "--role", "judge=mock/careful:a", "--json")
    once("run", "quiz.tripos", *more)
    done = take(tripos, write(graded / "long.csv", LONG[:1]))
    assert (done.code, "2 replies to the item could be meant: name the model" in done.err) == (1, True)
    told = write(graded / "told.csv", [{**LONG[0], "model": "mock/careful:b"}])
    assert take(tripos, told, "--json").data["new"] == 1


def test_a_mapping_says_what_columns_and_words_mean(graded: Path, once: Command) -> None:
    (graded / "odd.csv").write_text("Q,Criterion,Mark,Who,System\n1+1,Clarity,6,bob,A\n", "utf-8")
    (graded / "odd.toml").write_text(
        '[columns]\nquestion = "Q"\nmetric = "Criterion"\nvalue = "Mark"\nevaluator = "Who"\nmodel = "System"\n'
        '[set]\nscenario = "sums"\n[values.model]\nA = "mock/careful"\n',
        "utf-8",
    )
    assert once("import", "scores", "odd.csv", "--mapping", "odd.toml").code == 0
    assert scores() == [("sums", "CLEAR", "bob", 1, 6.0)]


@pytest.mark.parametrize(
    ("path", "arguments", "said"),
    [
        ("long.csv", ("--column", "value=Scoer"), "should be in the column `Scoer`, which no row has"),
        ("long.csv", ("--column", "valeu=score"), "a score has no field `valeu`"),
        ("long.csv", ("--column", "value"), "`value` does not say which is which"),
        ("long.csv", ("--column", "round=score", "--round", "2"), "has a column and a fixed value"),
        ("long.csv", ("--mapping", "none.toml"), "cannot read the mapping `none.toml`"),
        ("long.csv", ("--each", "score"), "has no list of records in the column `score`"),
        ("wide.csv", ("--mapping", "claritty.toml"), "a score has no field `claritty`"),
        ("wide.csv", ("--mapping", "set.toml"), "the metric `CLEAR` has a value that is the same in every row"),
        ("nothing.csv", (), "error[S0501]"),
        ("odd.csv", (), "no column names the metric"),
    ],
)
def test_a_file_or_a_mapping_that_fits_nothing_is_an_error(
    graded: Path, tripos: Command, path: str, arguments: tuple[str, ...], said: str
) -> None:
    (graded / "claritty.toml").write_text("[values.claritty]\n1 = 5\n", "utf-8")
    (graded / "set.toml").write_text("[set]\nCLEAR = 5\n", "utf-8")
    (graded / "wide.csv").write_text(WIDE, "utf-8")
    (graded / "odd.csv").write_text("question,mark\n1+1,3\n", "utf-8")
    write(graded / "long.csv", LONG)
    done = take(tripos, path, *arguments)
    assert (done.code, "error[S0501]" in done.err or "error[S0502]" in done.err, said in done.err) == (2, True, True)


def test_the_words_of_a_level_of_one_number_are_that_number(quiz: Path, tripos: Command, once: Command) -> None:
    levels = 'asks "Is the reply clear?"\n    level 10..10 "Perfect"\n    level 1..9 "Less so"'
    (quiz / "quiz.tripos").write_text(QUIZ.replace('asks "Is the reply clear?"', levels), "utf-8")
    once("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a", "--json")
    assert take(tripos, write(quiz / "a.csv", [{**LONG[0], "score": "perfect"}])).code == 0
    assert scores()[0][4] == 10.0
    done = take(tripos, write(quiz / "b.csv", [{**LONG[0], "score": "Less so"}]))
    assert "this level has the scores from 1 to 9: give one of them" in done.err


def test_scores_need_replies_that_a_scorer_grades(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", "--model", "mock/down", "--role", "judge=mock/careful:a", "--json")
    done = take(tripos, write(quiz / "long.csv", LONG))
    assert (done.code, done.err.startswith("error[S0504]")) == (2, True)


def test_an_imported_score_tells_where_it_came_from(graded: Path, tripos: Command) -> None:
    take(tripos, write(graded / "long.csv", LONG[:1]))
    with connect(Store.open("results", create=False)) as connection:
        [(source, score_id)] = connection.execute(
            "select source, score_id from quiz.judgements join quiz.scores using (judgement_id) where source is not null"
        ).fetchall()
    assert source.startswith("long.csv ")
    assert f"imported    round 1, from {source}" in tripos("why", score_id).out


def test_one_import_of_scores_goes_after_the_other(graded: Path, tripos: Command) -> None:
    path = write(graded / "long.csv", LONG)
    with exclusive_import(Store.open("results", create=False)):
        done = take(tripos, path)
    assert (done.code, done.err.startswith("error[S0506]")) == (2, True)
    assert take(tripos, path).code == 0


GATE = """\
benchmark gate "1.0.0" { languages en }
role candidate compared
role judge panel with people
dataset item from "items.jsonl" {
  question  text
  answer    text secret
}
scorer passes(response: text) by judge { prompt "Pass? {{ response }}", gives bool }
scorer marks(response: text) by judge { prompt "Mark: {{ response }}", gives 0..3 }
scenario sums "Sums" {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score good = passes(response: reply.text)
  score mark = marks(response: reply.text)
}
measure share = mean(good)
"""


def test_what_a_judge_gives_without_metrics_is_called_like_its_score(
    quiz: Path, tripos: Command, once: Command
) -> None:
    (quiz / "gate.tripos").write_text(GATE, "utf-8")
    Path("replies.csv").write_text("question,model,reply\n1+1,a/x,2\n12 + 30,a/x,42\n", "utf-8")
    assert once("import", "samples", "replies.csv", "--spec", "gate.tripos").code == 0
    Path("scores.csv").write_text("question,good,mark\n1+1,yes,3\n12 + 30,no,0\n", "utf-8")
    assert take(tripos, "scores.csv").code == 0
    [share] = [row for each in tripos("report", "--json").data["measures"] for row in each["rows"]]
    assert (share["value"], share["n"]) == (0.5, 2)
    Path("scores.csv").write_text("question,good,mark\n1+1,perhaps,4\n", "utf-8")
    done = take(tripos, "scores.csv", "--round", "2")
    assert done.err.splitlines()[:2] == [
        "row 2: good `perhaps`: not yes, no, true, false, 1 or 0",
        "row 2: mark `4`: not in 0..3",
    ]


REVERSED = '[values.VALUES]\n1 = 5\n2 = 4\n"x" = 3\n'


@pytest.mark.parametrize("words", ["CLEAR", "Clarity", "value"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("wide", [True, False])
def test_the_words_of_a_mapping_count_in_every_layout(
    graded: Path, once: Command, words: str, form: str, wide: bool
) -> None:
    """A reversed scale that is taken as it stands is a wrong figure, so it is read wherever the number stands."""
    rows: list[dict[str, Any]] = [
        {"scenario": "sums", "question": "1+1", "Clarity": 1.0},
        {"scenario": "words", "question": "12 + 30", "Clarity": 2.0},
    ]
    if not wide:
        rows = [{**row, "metric": "CLEAR", "value": row.pop("Clarity")} for row in rows]
    if form == "csv":
        source = write(
            graded / "r.csv", [{k: int(v) if isinstance(v, float) else v for k, v in r.items()} for r in rows]
        )
    else:
        source = str(graded / "r.parquet")
        pq.write_table(pa.Table.from_pylist(rows), source)
    (graded / "r.toml").write_text(REVERSED.replace("VALUES", words), "utf-8")
    done = take(once, source, "--mapping", "r.toml")
    assert done.code == 0, done.err
    assert [score[-1] for score in scores()] == [5.0, 4.0]


TWICE = "row 3: CLEAR `6`: row 2 gives the same evaluator's score of it as 7"
COMMA = "row 2: Clarity `3,5`: not a number: write a decimal point"


@pytest.mark.parametrize(
    ("text", "told", "kept"),
    [
        ("CLEAR,RIGHT,Corectness\nsums,1+1,7,99,9\nsums,12 + 30,7,8,9\n", "not used: Corectness", [7.0, 8.0]),
        ("Clarity,RIGHT\nsums,1+1,7,\nsums,1+1,6,9\n", TWICE, [7.0]),
        ('Clarity\nsums,1+1,"3,5"\nwords,12 + 30,4\n', COMMA, [4.0]),
    ],
)
def test_a_row_of_which_one_score_does_not_fit_is_left_out_whole(
    graded: Path, tripos: Command, text: str, told: str, kept: list[float]
) -> None:
    (graded / "wide.csv").write_text(f"scenario,question,{text}", "utf-8")
    assert take(tripos, "wide.csv").code == 1
    done = take(tripos, "wide.csv", "--skip-rejected")
    assert told in done.out + done.err
    assert [value for *_, value in scores()] == kept
