"""`tripos import samples`: replies from elsewhere are what a run would have made of them, and are not asked for again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.answers import fetch
from tests.command.test_import_scores import parts
from tests.conftest import SHARED_DATA, Command, Outcome
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

GPT = "openai/gpt-x"
REPLIES = [
    {"scenario": "sums", "question": "1+1", "model": GPT, "reply": "that is two, I think"},
    {"scenario": "sums", "question": "12 + 30", "model": GPT, "reply": "42"},
    {"scenario": "sums", "question": "half of 9", "model": GPT, "reply": "4.5"},
    {"scenario": "words", "question": "12 + 30", "model": GPT, "reply": {"said": "forty-two", "sure": True}},
    {"scenario": "words", "question": "half of 9", "model": GPT, "reply": "no JSON at all", "tokens_out": 9},
]
RUN = ("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a", "--json")


def take(tripos: Command, rows: list[dict[str, Any]], *more: str) -> Outcome:
    Path("replies.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return tripos("import", "samples", "replies.jsonl", "--spec", "quiz.tripos", *more)


def test_replies_are_read_and_scored_as_in_a_run(quiz: Path, tripos: Command) -> None:
    told = take(tripos, REPLIES, "--json").data
    assert (told["imported"], told["new"], told["replies"], told["items"]) == (True, 5, 5, 5)
    assert told["statuses"] == {"ok": 4, "parse_failure": 1}
    assert fetch("select scenario, metric, value, status from quiz.scores order by all") == [
        ("sums", "long", 0.0, "scored"),
        ("sums", "long", 0.0, "scored"),
        ("sums", "long", 1.0, "scored"),
        ("words", "sure", 1.0, "scored"),
        ("words", "sure", None, "parse_failure"),
    ]
    assert tripos("store", "check").code == 0
    [(status, options, models)] = fetch("select status, options, models from main.runs")
    assert (status, models) == ("finished", [GPT])
    assert json.loads(options)["imported"].startswith("replies.jsonl ")
    before = parts()
    done = take(tripos, REPLIES)
    assert (done.code, "nothing was written" in done.out) == (0, True)
    done = take(tripos, [{**REPLIES[0], "reply": "three"}])
    assert (done.code, "the store has another reply to the same question" in done.err) == (1, True)
    assert parts() == before


def test_an_imported_reply_has_the_row_that_a_run_would_have_made(quiz: Path, tripos: Command) -> None:
    assert tripos(*RUN).code == 0
    columns = "sample_id, fingerprint, item_id, step, role, model, sample_number, messages, reply, parsed, status"
    query = f"select {columns} from quiz.samples order by all"
    scored = "select score_id, sample_id, metric, value, status from quiz.scores where evaluator is null order by all"
    asked, given = fetch(query), fetch(scored)
    rows = fetch("select scenario, item_id, model, reply, finish_reason from quiz.samples order by all")
    names = ("scenario", "item_id", "model", "reply", "finish_reason")
    done = take(tripos, [dict(zip(names, row, strict=True)) for row in rows], "--store", "other")
    assert done.code == 0, done.err
    with connect(Store.open("other", create=False)) as connection:
        assert connection.execute(query).fetchall() == asked
        assert connection.execute(scored).fetchall() == given


def test_a_run_asks_for_none_of_what_was_imported(quiz: Path, tripos: Command) -> None:
    rows = [{**row, "model": "mock/careful"} for row in REPLIES[:3]]
    assert take(tripos, rows).code == 0
    done = tripos(*RUN)
    assert done.code == 0
    said = fetch("select reply from quiz.samples where scenario = 'sums' order by 1")
    assert said == [("4.5",), ("42",), ("that is two, I think",)]
    [(asked, reused)] = fetch("select asked, reused from main.runs where options not like '%imported%'")
    assert (asked, reused) == (2 + 5, 3)


def test_replies_that_do_not_fit_are_named_and_then_nothing_is_imported(quiz: Path, tripos: Command) -> None:
    bad = [
        {**REPLIES[0], "question": "2+2"},
        {**REPLIES[0], "step": "answer"},
        {**REPLIES[0], "sample": 1},
        {**REPLIES[1], "tokens_out": "many"},
        {**REPLIES[0], "model": None},
        {**REPLIES[1], "reply": "43"},
    ]
    done = take(tripos, [*REPLIES, *bad])
    assert done.code == 1
    assert done.err.splitlines()[:7] == [
        "row 6: question `2+2`: no item of the benchmark has this",
        "row 7: step `answer`: `sums` asks reply",
        "row 8: sample `1`: the spec asks for 1 of each, counted from 0",
        "row 9: tokens_out `many`: not a whole number",
        "row 10: model: nothing says whose reply it is: `--model NAME`, or a column of it",
        "row 11: reply `43`: row 2 has another reply to the same question",
        "error[S0503]: 6 of 11 rows do not fit, so no reply was imported",
    ]
    assert not Path("results").exists()


def test_an_item_is_told_by_its_position(quiz: Path, tripos: Command) -> None:
    take(tripos, [{"scenario": "words", "position": 1, "reply": "{}"}], "--model", GPT)
    assert fetch(
        "select scenario, fields ->> '$.question' from quiz.samples join quiz.items using (scenario, item_id)"
    ) == [("words", "12 + 30")]


def test_lists_of_replies_are_rows_of_their_own(quiz: Path, tripos: Command) -> None:
    said = [{"model": GPT, "response": "two"}, {"model": "mistral/m", "response": "2"}]
    done = take(tripos, [{"scenario": "Sums", "question": "1+1", "answers": said}], "--each", "answers")
    assert done.code == 0, done.err
    assert fetch("select model, reply from quiz.samples order by all") == [("mistral/m", "2"), (GPT, "two")]


def test_scores_of_imported_replies_can_be_imported(quiz: Path, tripos: Command, once: Command) -> None:
    take(tripos, REPLIES)
    Path("scores.csv").write_text("scenario,question,Clarity,Correctness\nsums,1+1,7,9\nwords,12 + 30,5,\n", "utf-8")
    assert once("import", "scores", "scores.csv", "--evaluator", "human/alice").code == 0
    measures = tripos("report", "--json").data["measures"]
    assert [(row.get("metric"), row["value"], row["n"]) for each in measures for row in each["rows"]] == [
        (None, pytest.approx(1 / 3), 3),
    ]
    assert [(row["metric"], row["value"], row["n"]) for each in measures for row in each.get("people") or ()] == [
        ("CLEAR", 6.0, 2),
        ("RIGHT", 9.0, 1),
    ]


def test_a_dry_run_and_a_file_that_says_too_little_make_no_store(quiz: Path, tripos: Command) -> None:
    done = take(tripos, REPLIES, "--dry-run")
    assert (done.code, "nothing was written" in done.out) == (0, True)
    done = take(tripos, [{"question": "1+1", "text": "2"}])
    assert (done.code, "error[S0502]: no column has the replies" in done.err) == (2, True)
    done = take(tripos, [{"question": "12 + 30", "model": GPT, "reply": "42"}])
    assert "items of 2 scenarios have this: sums, words; name one" in done.err
    assert not Path("results").exists()


TAUGHT = """\
benchmark openings "1.0.0" { languages en }
role candidate compared
role student
arm lesson { none, given }
axis subject { history, physics }
scenario opening {
  context subject
  arms lesson
  ask taught by candidate when lesson == given { prompt "Teach {{ subject }}." }
  ask answer by student {
    system "You were taught: {{ taught.text }}" when lesson == given
    prompt "What is {{ subject }}?"
    samples 2
  }
  score long = words(answer.text) > 3
}
measure fullness = mean(long) by lesson
"""
TALK = [
    {"subject": "history", "step": "taught", "model": GPT, "reply": "Long ago there were kings."},
    {"subject": "history", "step": "answer", "lesson": "given", "model": GPT, "reply": "It is about kings"},
    {"subject": "history", "step": "answer", "lesson": "given", "model": GPT, "reply": "Kings"},
    {"subject": "history", "step": "answer", "lesson": "none", "reply": "The past"},
    {"subject": "history", "step": "answer", "lesson": "none", "reply": "I do not know"},
]


@pytest.fixture
def taught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark in which a student answers, taught or not."""
    (tmp_path / "quiz.tripos").write_text(TAUGHT, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_replies_to_steps_that_build_on_each_other_are_kept_under_their_arms(taught: Path, tripos: Command) -> None:
    done = take(tripos, TALK, "--role", "student=local/s")
    assert done.code == 0, done.err
    found = fetch("select lesson, step, model, sample_number, reply from openings.samples order by all")
    assert found == [
        ("none", "answer", "local/s", 0, "The past"),
        ("none", "answer", "local/s", 1, "I do not know"),
        ("given", "answer", "local/s", 0, "It is about kings"),
        ("given", "answer", "local/s", 1, "Kings"),
        ("given", "taught", GPT, 0, "Long ago there were kings."),
    ]
    [(sent,)] = fetch("select messages from openings.samples where reply = 'Kings'")
    assert "You were taught: Long ago there were kings." in sent
    rows = [row for each in tripos("report", "--json").data["measures"] for row in each["rows"]]
    assert [(row["lesson"], row["model"], row["value"]) for row in rows] == [("none", GPT, 0.5), ("given", GPT, 0.5)]


@pytest.mark.parametrize(
    ("rows", "options", "code", "said"),
    [
        (TALK[1:], ("--role", "student=local/s"), 1, "`answer` builds on `taught`, to which there is no reply"),
        (
            [TALK[0], {**TALK[1], "lesson": None}],
            ("--role", "student=local/s"),
            1,
            "arms differ in what is asked here: name the arm",
        ),
        ([*TALK, {**TALK[0], "model": "mistral/m"}], (), 2, "error[R0201]: no model fills the role `student`"),
    ],
)
def test_replies_to_steps_of_which_too_little_is_said_are_refused(
    taught: Path, tripos: Command, rows: list[dict[str, Any]], options: tuple[str, ...], code: int, said: str
) -> None:
    done = take(tripos, rows, *options)
    assert (done.code, said in done.err) == (code, True), done.err


@pytest.mark.long
@pytest.mark.skipif(not (SHARED_DATA / "edubench").is_dir(), reason="the published items are not here")
def test_the_whole_published_set_is_loaded_and_every_measure_runs_on_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = str(Path(__file__).parents[2] / "specs/edubench/published.tripos")
    files = str(SHARED_DATA / "edubench" / "{language}_data_sampled.jsonl")
    told = tripos(
        "import", "samples", files, "--each", "answer", "--spec", spec, "--data", str(SHARED_DATA), "--json"
    ).data
    assert (told["new"], told["items"], len(told["models"]), told["rejected"]) == (990, 198, 5, [])
    replies = fetch("select sample_id, scenario from edubench_published.samples order by 1")
    metrics = {"question_answering": ("IFTC", "CRSC", "BFA", "RPR")}
    rows = ["sample_id,metric,value,evaluator"]
    for number, (sample_id, scenario) in enumerate(replies):
        for metric in metrics.get(scenario, ("指令遵循与任务完成",)):
            rows += [f'{sample_id},"{metric}",{1 + (number + rater) % 10},rater/{rater}' for rater in (1, 2)]
    Path("scores.csv").write_text("\n".join(rows), "utf-8")
    assert tripos("import", "scores", "scores.csv", "--json").data["new"] == len(rows) - 1
    measures = {each["name"]: each["rows"] for each in tripos("report", "--json").data["measures"]}
    assert {name: len(measures[name]) for name in ("by_metric", "by_scenario", "overall", "mean_by_evaluator")} == {
        "by_metric": 12 * 5,
        "by_scenario": 9 * 5,
        "overall": 5,
        "mean_by_evaluator": 2 * 5,
    }
    given = [row for row in measures["by_metric"] if row["n"]]
    assert len(given) == 4 * 5 and all(row["value"] is not None for row in given)
    # Eight metrics that are allocated were graded by nobody, and coverage says so.
    assert all(0 < row["coverage"] < 1 for row in measures["overall"])


def test_what_is_imported_is_marked_as_in_its_subsets(quiz: Path, tripos: Command) -> None:
    spec = Path("quiz.tripos")
    spec.write_text(spec.read_text("utf-8") + "subset few { take 1 per scenario }\n", "utf-8")
    assert take(tripos, REPLIES).code == 0
    assert tripos(*RUN, "--subset", "few", "--store", "own").code == 0
    query = "select distinct scenario, item_id from run_items where list_contains(subsets, 'few') order by all"
    with connect(Store.open("own", create=False)) as connection:
        own = connection.execute(query).fetchall()
        listed = connection.execute("select distinct scenario, item_id from run_items order by all").fetchall()
    there = fetch("select distinct scenario, item_id from run_items")
    assert own == listed and len(own) == 2
    assert fetch(query) == sorted(set(own) & set(there))
    assert fetch(query)


COLUMNS = """
benchmark quiz "2.0.0" { languages en }
role candidate compared
dataset item from "weighed.jsonl" { question text, weight number, kind choice(a, b) secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns { n 1..9, kind choice(a, b) }, samples 2 }
  score high = reply.n > 4
  measure rate   = weighted_mean(high, item.weight)
  measure far    = mean(abs(reply.n - item.weight))
  measure ranked = spearman(reply.n, item.weight)
  measure f1     = f1(reply.kind, item.kind)
  measure right  = accuracy(reply.kind, item.kind) by item.kind
}
"""


def test_the_figures_of_imported_replies_are_those_of_a_run(quiz: Path, tripos: Command) -> None:
    rows = [{"question": f"Which is {at}?", "weight": at, "kind": "ab"[at % 2]} for at in range(1, 8)]
    Path("weighed.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    Path("quiz.tripos").write_text(COLUMNS, "utf-8")
    assert tripos("run", "quiz.tripos", "--model", "mock/careful,mock/careless").code == 0
    found = fetch("select item_id, model, sample_number, reply from quiz.samples order by all")
    names = ("item_id", "model", "sample_number", "reply")
    done = take(tripos, [dict(zip(names, row, strict=True)) for row in found], "--store", "other")
    assert done.code == 0, done.err
    run, given = (tripos("report", "--json", "--store", store).data["measures"] for store in ("results", "other"))
    assert run == given
    assert all(row["n"] for table in given for row in table["rows"])


def test_replies_in_columns_of_other_types_are_the_texts_that_a_person_sees(quiz: Path, tripos: Command) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = {"scenario": ["sums", "sums"], "question": ["1+1", "half of 9"], "model": [GPT, GPT]}
    pq.write_table(pa.table({**keys, "reply": pa.array([2.0, 4.5])}), "numbers.parquet")
    assert tripos("import", "samples", "numbers.parquet", "--spec", "quiz.tripos").code == 0
    assert fetch("select reply from quiz.samples order by all") == [("2",), ("4.5",)]
    pq.write_table(pa.table({**keys, "reply": pa.array([b"2", b"4.5"])}), "bytes.parquet")
    done = tripos("import", "samples", "bytes.parquet", "--spec", "quiz.tripos")
    assert "S0503" in done.err and "no text, and no value of JSON" in done.err, done.err
