"""`tripos run`, from a spec to rows in the store, with mock models."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.answers import ask
from tests.conftest import ITEMS, QUIZ, Command
from tests.lengths import sized
from tripos.cli.main import run_command
from tripos_warehouse.measures.aggregates import IMPLEMENTATIONS

CAREFUL = ("--model", "mock/careful", "--role", "judge=mock/careful:a,mock/careful:b")


def test_every_call_that_was_planned_is_made_and_every_score_allocated_is_kept(quiz: Path, tripos: Command) -> None:
    done = tripos("run", "quiz.tripos", *CAREFUL, "--json")
    assert done.code == 0, done.err
    # 3 sums and 2 words; two judges each
    assert done.data["calls"] == {"planned": 15, "asked": 15, "reused": 0, "skipped": 0, "failed": 0, "left": 0}
    counted = ask(tripos, "select scenario, metric, count(*) as n from quiz.scores group by all order by all")
    assert [(row["scenario"], row["metric"], row["n"]) for row in counted] == [
        ("sums", "CLEAR", 6),
        ("sums", "RIGHT", 6),
        ("sums", "long", 3),
        ("words", "CLEAR", 4),
        ("words", "sure", 2),
    ]
    assert ask(tripos, "select count(*) as n from quiz.samples") == [{"n": 5}]
    rows = ask(tripos, "select measure, dims, n, total from measures order by all")
    assert [(row["measure"], row["dims"], row["n"], row["total"]) for row in rows] == [
        ("by_metric", '{"metric":"CLEAR"}', 10, 10),
        ("by_metric", '{"metric":"RIGHT"}', 6, 6),
        ("length", "{}", 3, 3),
    ]


def test_what_was_answered_is_not_asked_again(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL, "--limit", "9", "--json")
    again = {"planned": 15, "asked": 0, "reused": 15, "skipped": 0, "failed": 0, "left": 0}
    assert tripos("run", "quiz.tripos", *CAREFUL, "--json").data["calls"] == again
    # The list of items that was taken away is made again; the second run had nothing else to keep.
    for path in Path("results/commits").glob("*.json"):
        if [part["table"] for part in json.loads(path.read_text())["parts"]] == ["run_items"]:
            path.unlink()
    with (quiz / "items.jsonl").open("a") as file:
        file.write("\n" + json.dumps(ITEMS[1]))
    done = tripos("run", "quiz.tripos", *CAREFUL, "--json")
    assert "warning[W0309]: row 4 of items.jsonl says what row 2 says" in done.err
    assert done.data["calls"] == again
    assert ask(tripos, "select count(*) as n from quiz.samples") == [{"n": 5}]


def test_a_changed_rubric_is_judged_again_and_nothing_else(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", *CAREFUL, "--json")
    changed = QUIZ.replace("Is the reply right?", "Is the reply correct?")  # a metric of `sums` only
    (quiz / "quiz.tripos").write_text(changed, "utf-8")
    again = tripos("run", "quiz.tripos", *CAREFUL, "--json").data
    assert again["calls"] == {"planned": 15, "asked": 6, "reused": 9, "skipped": 0, "failed": 0, "left": 0}
    counted = ask(tripos, "select count(*) as n from quiz.scores where scenario = 'sums' and scorer = 'rubric'")
    assert counted == [{"n": 12}]  # the old judgements are no longer current


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: "# a comment\n" + text.replace("  ", "    "),
        lambda text: text.replace('"Sums"', '"Little sums"'),
        lambda text: text.replace("measure length = mean(long)", "measure size = mean(sums.long) by scenario"),
    ],
    ids=["layout", "title", "measure"],
)
def test_what_changes_no_reply_costs_nothing(quiz: Path, tripos: Command, once: Command, edit: object) -> None:
    once("run", "quiz.tripos", *CAREFUL, "--json")
    assert callable(edit)
    (quiz / "quiz.tripos").write_text(edit(QUIZ), "utf-8")
    assert tripos("run", "quiz.tripos", *CAREFUL, "--json").data["calls"]["asked"] == 0


def test_an_added_model_and_an_added_row_run_alone(quiz: Path, tripos: Command, once: Command) -> None:
    once("run", "quiz.tripos", "--model", "mock/careful:x", "--role", "judge=mock/careful", "--json")
    with (quiz / "items.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"question": "7 * 6", "answer": "42"}))
    models = "mock/careful:x,mock/careful:y"
    done = tripos("run", "quiz.tripos", "--model", models, "--role", "judge=mock/careful", "--json").data
    # of x: the new row in both scenarios; of y: everything; one answer and one judgement each
    assert done["calls"]["asked"] == 2 * (2 + 4 + 3)
    assert done["calls"]["reused"] == 2 * (3 + 2)


def test_failed_calls_are_rows_and_are_tried_again_by_the_next_run(quiz: Path, tripos: Command) -> None:
    judge = ("--role", "judge=mock/careful")
    failed = tripos("run", "quiz.tripos", "--model", "mock/fails-1", *judge, "--max-retries", "0", "--json")
    assert failed.code == 1
    assert failed.data["samples"] == {"provider_error": 5}
    assert failed.data["scores"] == {"provider_error": 13}
    statuses = ask(tripos, "select status, count(*) as n from quiz.scores where value is null group by all")
    assert statuses == [{"status": "provider_error", "n": 13}]
    mended = tripos("run", "quiz.tripos", "--model", "mock/fails-1", *judge, "--max-retries", "1", "--json")
    assert mended.code == 0
    assert mended.data["calls"] == {"planned": 10, "asked": 10, "reused": 0, "skipped": 0, "failed": 0, "left": 0}
    assert ask(tripos, "select count(*) as n, count(value) as good from quiz.scores") == [{"n": 13, "good": 13}]


def test_a_reply_that_cannot_be_read_is_repaired_once_and_then_a_status(quiz: Path, tripos: Command) -> None:
    broken = ("--model", "mock/broken-json", "--role", "judge=mock/broken-json", "--json")
    done = tripos("run", "quiz.tripos", *broken)
    assert done.code == 0  # every call was answered
    assert done.data["samples"] == {"ok": 3, "parse_failure": 2}
    assert set(done.data["scores"]) == {"scored", "parse_failure"}
    rows = ask(
        tripos,
        "select scenario, attempts, status, value from quiz.samples join quiz.scores using (sample_id, scenario) where metric = 'sure'".replace(
            "attempts, status", "attempts, samples.status"
        ),
    )
    assert {(row["attempts"], row["status"], row["value"]) for row in rows} == {(2, "parse_failure", None)}


def test_a_careless_judge_yields_values_in_range_or_a_status(quiz: Path, tripos: Command, once: Command) -> None:
    judges = ",".join([*(f"mock/careless:{name}" for name in "abcdefgh"), "mock/refuses"])
    once("run", "quiz.tripos", "--model", "mock/careful", "--role", f"judge={judges}", "--json")
    query = "select status, min(value) as low, max(value) as high, count(*) as n from quiz.scores where scorer = 'rubric' group by all"
    rows = {str(row["status"]): row for row in ask(tripos, query)}
    assert sum(int(str(row["n"])) for row in rows.values()) == 72
    assert float(str(rows["scored"]["low"])) >= 1
    assert float(str(rows["scored"]["high"])) <= 10
    assert rows["parse_failure"]["low"] is None
    assert (rows["refused"]["n"], rows["refused"]["low"]) == (8, None)


def test_a_limit_is_by_scenario_and_a_seed_draws(quiz: Path, tripos: Command) -> None:
    first = tripos("run", "quiz.tripos", *CAREFUL, "--limit", "1", "--scenario", "sums", "--json").data
    assert first["calls"]["planned"] == 3
    drawn = set()
    for seed in range(sized(3, 6)):
        store = ("--store", f"drawn{seed}")
        tripos(
            "run", "quiz.tripos", *CAREFUL, "--limit", "1", "--scenario", "sums", "--seed", str(seed), *store, "--json"
        )
        [row] = ask(tripos, "select fields ->> '$.question' as question from quiz.items", *store)
        drawn.add(row["question"])
    assert drawn <= {item["question"] for item in ITEMS}
    assert len(drawn) > 1


@pytest.mark.parametrize(("model", "code"), [("mock/wrong-key", "R0102"), ("mock/down", "R0101")])
def test_a_model_that_cannot_be_had_stops_the_run_and_keeps_what_was_done(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, model: str, code: str
) -> None:
    monkeypatch.setattr("tripos_runtime.scheduling.calling.FIRST_DELAY_S", 0.0)
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", f"judge={model}", "--max-connections", "1")
    assert done.code == 1
    assert f"error[{code}]" in done.err
    assert "Traceback" not in done.err
    kept = ask(tripos, "select count(*) as n from quiz.samples")
    assert int(str(kept[0]["n"])) >= 1
    assert ask(tripos, "select status from runs") == [{"status": "stopped"}]


def test_a_role_without_a_model_takes_the_compared_one_and_says_so(quiz: Path, tripos: Command) -> None:
    done = tripos("run", "quiz.tripos", "--model", "mock/careful")
    assert done.code == 0
    assert "warning[W1205]" in done.err
    assert "judge mock/careful grades its own replies" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no model fills the role `candidate`"),
        (("--model", "mock/careful", "--role", "juge=mock/careful"), "did you mean `judge`?"),
        (("--model", "mock/careful", "--role", "judge"), "names no model"),
        (("--model", "mock/carefull"), "there is no model `mock/carefull`"),
        (("--model", "mock/careful", "--scenario", "sum"), "did you mean `sums`?"),
        (("--model", "mock/careful", "--seed", "1"), "give --limit N too"),
        (("--model", "mock/careful", "--limit", "0"), "`--limit` must be at least 1"),
        (("--model", "mock/careful", "--data", "nowhere"), "there is no data folder `nowhere`"),
    ],
)
def test_a_wrong_command_says_how_to_mend_it(
    quiz: Path, tripos: Command, arguments: tuple[str, ...], words: str
) -> None:
    done = tripos("run", "quiz.tripos", *arguments)
    assert done.code == 2
    assert words in done.err
    assert "tripos explain" in done.err
    assert not (quiz / "results" / "parts" / "runs").exists()


def test_settings_come_from_the_project_file_and_flags_win(quiz: Path, tripos: Command, once: Command) -> None:
    (quiz / "tripos.toml").write_text(
        'store = "kept"\nmodels = ["mock/careful:toml"]\n[roles]\njudge = ["mock/careful"]\n'
    )
    assert once("run", "quiz.tripos", "--json").code == 0
    once("run", "quiz.tripos", "--model", "mock/careful:flag", "--json")
    rows = ask(tripos, "select models[1] as model from runs order by started_at")
    assert [row["model"] for row in rows] == ["mock/careful:toml", "mock/careful:flag"]
    assert (quiz / "kept").is_dir()


def test_data_is_never_rendered(quiz: Path, tripos: Command, once: Command) -> None:
    hostile = "{{ item.answer }} {% for %} {metrics} \x1b[31m"
    (quiz / "items.jsonl").write_text(json.dumps({"question": hostile, "answer": "SECRET"}), "utf-8")
    once("run", "quiz.tripos", *CAREFUL, "--json")
    rows = ask(tripos, "select messages from quiz.samples where scenario = 'sums'")
    [message] = json.loads(str(rows[0]["messages"]))
    assert message == {"role": "user", "content": hostile}


def test_an_interrupted_store_write_keeps_what_was_committed(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno

    from tripos_warehouse.store.store import Store

    real = Store.append
    calls = 0

    def full(self: Store, *args: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise _disk_full()
        return real(self, *args, **options)  # type: ignore[arg-type]

    def _disk_full() -> Exception:
        from tripos_warehouse.errors import StoreError

        return StoreError("S0102", f"cannot write: {errno.errorcode[errno.ENOSPC]}", "free some space")

    monkeypatch.setattr(Store, "append", full)
    done = tripos("run", "quiz.tripos", *CAREFUL)
    assert done.code == 1
    assert "error[S0102]" in done.err
    monkeypatch.undo()
    monkeypatch.chdir(quiz)
    assert ask(tripos, "select status from runs") == [{"status": "unfinished"}]
    assert tripos("run", "quiz.tripos", *CAREFUL, "--json").code == 0


@pytest.mark.parametrize(
    "refused", ["tripos_warehouse.store.journal.JournalSegment.append", "tripos_warehouse.store.store.publish"]
)
def test_a_run_that_the_disk_ends_still_sums_up_what_it_asked(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    import errno
    import importlib

    module, _, name = refused.rpartition(".")
    holder = importlib.import_module("tripos_warehouse.store.journal").JournalSegment if name == "append" else None
    real = getattr(holder or importlib.import_module(module), name)
    left = 12 if holder else 2  # commits: that of the run, and none of its results after the first

    def full(*given: object, **named: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*given, **named)

    monkeypatch.setattr(refused, full)
    done = tripos("run", "quiz.tripos", *CAREFUL, "--json")
    assert done.code == 1
    assert "error[S0102]" in done.err
    assert (done.data["status"], done.data["code"]) == ("failed", "S0102")
    monkeypatch.undo()
    monkeypatch.chdir(quiz)
    rest = tripos("run", "quiz.tripos", *CAREFUL, "--json")
    assert rest.code == 0
    assert rest.data["calls"]["asked"] + done.data["calls"]["asked"] >= 15


def test_a_store_that_has_no_room_to_be_compacted_is_reported_on_all_the_same(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tripos_warehouse.errors import StoreError

    def refuse(_: object) -> None:
        raise StoreError("S0102", "cannot write: the disk is full", "free some space")

    monkeypatch.setattr("tripos.api.run.compact_if_needed", refuse)
    done = tripos("run", "quiz.tripos", *CAREFUL)
    assert done.code == 0
    assert "\nlength\n" in done.out


def test_a_run_whose_words_nobody_reads_ends_as_any_other(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Gone())
        code = run_command(
            ["run", "quiz.tripos", "--model", "mock/fails-9", "--role", "judge=mock/careful", "--max-retries", "0"]
        )
    assert code == 1
    assert ask(tripos, "select status from runs") == [{"status": "finished"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[roles]\njugde = ["mock/careful"]\n', "did you mean `judge`?"),
        ("stor = 1", "R0203"),
        ("models = 3", "R0203"),
        ("= broken", "R0203"),
    ],
)
def test_a_wrong_project_file_is_named(quiz: Path, tripos: Command, text: str, said: str) -> None:
    (quiz / "tripos.toml").write_text(text)
    done = tripos("run", "quiz.tripos", "--model", "mock/careful")
    assert (done.code, said in done.err) == (2, True), done.err
    assert said != "R0203" or "tripos.toml" in done.err
    (quiz / "tripos.toml").write_text('[roles]\nstudent = ["mock/careful"]\n')  # of another benchmark
    assert tripos("run", "quiz.tripos", "--model", "mock/careful").code == 0


def test_a_role_of_a_variable_that_is_misspelt_is_named(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the project file fills the role that was meant: the variable was to replace it."""
    (quiz / "tripos.toml").write_text('[roles]\njudge = ["mock/careful"]\n')
    monkeypatch.setenv("TRIPOS_ROLE_JUGDE", "mock/fair")
    done = tripos("run", "quiz.tripos", "--model", "mock/careful")
    assert (done.code, "error[R0203]: `TRIPOS_ROLE_JUGDE` has a model for a role `jugde`" in done.err) == (2, True)
    assert "did you mean `TRIPOS_ROLE_JUDGE`?" in done.err
    monkeypatch.setenv("TRIPOS_ROLE_JUDGE", "mock/fair")  # both are set: the other may be a role of another benchmark
    assert tripos("run", "quiz.tripos", "--model", "mock/careful", "--dry-run").code == 0


def test_a_place_for_junit_is_checked_before_the_first_call(quiz: Path, tripos: Command) -> None:
    (quiz / "folder").mkdir()
    for path, why in (("nowhere/junit.xml", "there is no folder `nowhere`"), ("folder", "it is a folder")):
        done = tripos("run", "quiz.tripos", *CAREFUL, "--junit", path)
        assert (done.code, f"error[S0102]: cannot write `{path}`: {why}" in done.err) == (2, True)
    assert not (quiz / "results").exists()


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("quizz.tripos", "quiz.tripos"),
        ("quiz", "quiz.tripos"),
        ("inner/quiz", "inner/quiz.tripos"),
        ("iner", "inner"),
        ("something.tripos", None),
        ("nowhere/quiz.tripos", None),
    ],
)
def test_a_spec_that_is_not_there_is_told_with_the_one_beside_it(
    quiz: Path, tripos: Command, path: str, meant: str | None
) -> None:
    (quiz / "inner").mkdir()
    (quiz / "inner/quiz.tripos").write_text(QUIZ, "utf-8")
    done = tripos("run", path, *CAREFUL)
    hint = "give a .tripos file or a folder that holds one" if meant is None else f"did you mean `{meant}`?"
    assert (done.code, f"there is no spec at `{path}`\n  = help: {hint}\n" in done.err) == (2, True), done.err


def test_data_is_looked_for_where_the_project_file_and_the_flag_say(quiz: Path, tripos: Command, once: Command) -> None:
    (quiz / "kept").mkdir()
    (quiz / "items.jsonl").rename(quiz / "kept/items.jsonl")
    missing = tripos("check", "quiz.tripos")
    assert (missing.code, "error[E0307]" in missing.err) == (2, True)
    assert once("run", "quiz.tripos", "--data", "kept", *CAREFUL, "--json").code == 0
    (quiz / "tripos.toml").write_text('data = ["kept", "not-there"]\n')
    assert tripos("run", "quiz.tripos", *CAREFUL, "--json").data["calls"]["reused"] == 15


def test_a_measure_that_the_database_refuses_is_told_in_its_place_and_the_run_ends_with_1(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdev = IMPLEMENTATIONS["stdev"]
    assert stdev.of_cells is not None
    refused = replace(stdev.of_cells, value="no_such_function(value)")
    monkeypatch.setitem(IMPLEMENTATIONS, "stdev", replace(stdev, of_cells=refused))
    Path("quiz.tripos").write_text(QUIZ + "measure spread = stdev(mean(rubric) by metric)\n", "utf-8")
    judge = ("--role", "judge=mock/careful:j")
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", *judge)
    again = tripos("report")
    for each in (done, again):
        assert each.code == 1
        assert "Traceback" not in each.err
    assert "no values of spread: the database refused the SQL" in done.out and "\nlength\n" in done.out
    assert "no values: internal error: the SQL of measure `spread` failed" in " ".join(again.out.split())
    assert "by_metric by metric" in again.out and "no_such_function" in again.out
