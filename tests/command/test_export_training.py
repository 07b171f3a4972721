"""Training data: which replies it has, what a line is, and where it says it comes from."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.answers import ask
from tests.conftest import ITEMS, QUIZ, Command
from tripos_warehouse.exports.replies import ExportedReply
from tripos_warehouse.exports.training import choose_best, choose_pairs
from tripos_warehouse.store.store import Store

MODELS = ("--model", "mock/careful,mock/careful:b", "--role", "judge=mock/careful:j,mock/careful:k")


def run(tripos: Command, *options: str) -> str:
    done = tripos("run", "quiz.tripos", *(options or MODELS), "--json")
    assert done.code in (0, 1), done.err
    return str(done.data["run_id"])


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(name).read_text("utf-8").splitlines()]


def provenance(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(f"{name}.provenance.json").read_text("utf-8"))
    return data


def samples(name: str) -> list[list[str]]:
    return [line["samples"] for line in provenance(name)["lines"]]


def test_the_best_model_of_each_scenario_gives_its_replies(quiz: Path, tripos: Command, once: Command) -> None:
    run(once)
    assert tripos("export", "distillation", "--per", "scenario", "-o", "t.jsonl").code == 0
    told = provenance("t.jsonl")
    means = ask(
        tripos,
        "select scenario, max_by(model, mean) as best from (select scenario, model, avg(value) as mean"
        " from quiz.scores where scorer = 'rubric' group by all) group by all order by all",
    )
    assert {each["cell"]["scenario"]: each["model"] for each in told["best"]} == {
        each["scenario"]: each["best"] for each in means
    }
    wanted = {
        (each["prompt"], each["reply"])
        for best in means
        for each in ask(
            tripos,
            "select messages ->> '$[0].content' as prompt, reply from quiz.samples"
            f" where scenario = '{best['scenario']}' and model = '{best['best']}'",
        )
    }
    found = lines("t.jsonl")
    assert {(each["messages"][0]["content"], each["messages"][1]["content"]) for each in found} == wanted
    assert [message["role"] for message in found[0]["messages"]] == ["user", "assistant"]
    assert told["by_scenario"] == {"sums": 3, "words": 2}


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_training_exports_the_best_replies_of_a_spec(
    form: tuple[str, ...], quiz: Path, tripos: Command, once: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--json` the document of the training is the only output. The training itself is replaced here."""
    text = Path("quiz.tripos").read_text("utf-8")
    text += "measure mark = mean(rubric)\nexport best_of_all {\n best of candidate by length\n rows reply\n}\n"
    Path("quiz.tripos").write_text(text, "utf-8")
    run(once)
    made = {"loss": {"held_out_after": None}, "data": {"grouped_by": "item"}, "steps": 1, "model_sha256": "ab"}
    report = {**made, "seconds": {"training": 1}}
    monkeypatch.setitem(sys.modules, "tripos.training.sft", SimpleNamespace(fine_tune=lambda *_: report))
    monkeypatch.setattr("tripos.training.environment.choose_device", lambda wanted: wanted)
    for name in ("require_extra", "silence_libraries"):
        monkeypatch.setattr(f"tripos.cli.train.{name}", lambda: None)
    done = tripos("train", "sft", "quiz.tripos", "--model", "m", "-o", "out", *form)
    assert done.code == 0, done.err
    assert (done.data == report) if form else ("replies by length, written to out" in done.out)
    assert tripos("export", "best_of_all", "-o", "same.jsonl").code == 0
    assert lines("out/data.jsonl") == lines("same.jsonl")


def test_per_metric_a_reply_belongs_to_the_metrics_that_it_is_scored_on(
    quiz: Path, tripos: Command, once: Command
) -> None:
    run(once)
    done = tripos("export", "distillation", "--per", "metric", "-o", "t.jsonl", "--json")
    best = {each["cell"]["metric"]: each["model"] for each in done.data["best"]}
    assert set(best) == {"CLEAR", "RIGHT"}
    known = {each["sample_id"]: each for each in ask(tripos, "from quiz.samples")}
    for (sample,) in samples("t.jsonl"):
        metrics = ["CLEAR", "RIGHT"] if known[sample]["scenario"] == "sums" else ["CLEAR"]
        assert known[sample]["model"] in {best[metric] for metric in metrics}


def test_the_best_has_a_value_in_every_cell_and_names_those_that_are_as_good() -> None:
    values = [("a", ("s", "easy"), 9.0), ("a", ("s", "hard"), 2.0), ("b", ("s", "hard"), 3.0)]
    [best] = choose_best(("scenario", "level"), values, ("scenario",), ("a", "b"))
    assert (best.model, best.value) == ("b", 3.0)
    [best] = choose_best((), [("a", (), 0.1 + 0.2), ("b", (), 0.3), ("c", (), 0.1)], (), ("b", "a", "c"))
    assert (best.model, best.ties) == ("b", ("a",))


def test_pairs_are_of_one_prompt_and_apart_by_the_margin(quiz: Path, tripos: Command, once: Command) -> None:
    run(once)
    for name in ("p.jsonl", "again.jsonl"):
        assert tripos("export", "preferences", "--margin", "0.5", "-o", name).code == 0
    assert Path("p.jsonl").read_bytes() == Path("again.jsonl").read_bytes()
    assert provenance("p.jsonl") | {"file": ""} == provenance("again.jsonl") | {"file": ""}
    marks = {
        each["sample_id"]: each
        for each in ask(
            tripos,
            "select sample_id, any_value(item_id) as item, avg(value) as mean from quiz.scores"
            " where scorer = 'rubric' group by all",
        )
    }
    replies = {each["sample_id"]: each for each in ask(tripos, "from quiz.samples")}
    found = lines("p.jsonl")
    assert found
    for line, (good, bad) in zip(found, samples("p.jsonl"), strict=True):
        assert set(line) == {"prompt", "chosen", "rejected", "margin"}
        assert marks[good]["mean"] - marks[bad]["mean"] == pytest.approx(line["margin"])
        assert line["margin"] >= 0.5
        assert marks[good]["item"] == marks[bad]["item"]
        assert line["chosen"] == [{"role": "assistant", "content": replies[good]["reply"]}]
        assert line["rejected"] == [{"role": "assistant", "content": replies[bad]["reply"]}]
        assert [each["content"] for each in line["prompt"]] == [
            each["content"] for each in json.loads(replies[good]["messages"])
        ]


def reply(name: str, text: str, item: str = "1", asked: str = "Why?") -> ExportedReply:
    return ExportedReply(name, item, "m", 0, ({"role": "user", "content": asked},), text, {"scenario": "s"})


@pytest.mark.parametrize(
    ("replies", "pairs", "left_out"),
    [
        ([("a", "x", 5), ("b", "x", 3)], [], {"the same text": 1}),
        ([("a", "x", 5), ("b", "y", 5)], [], {"ties": 1}),
        ([("a", "x", 5), ("b", "y", 3), ("c", "x", 2)], [], {"contradicted": 2, "the same text": 1}),
        ([("a", "x", 5), ("b", "y", 3), ("c", "x", 5)], [("a", "b")], {"doubles": 1, "the same text": 1}),
    ],
)
def test_a_pair_is_of_two_texts_that_are_ranked_one_way_and_there_once(
    replies: list[tuple[str, str, float]], pairs: list[tuple[str, str]], left_out: dict[str, int]
) -> None:
    marks = {name: {("RIGHT", "j"): mark} for name, _, mark in replies}
    found, omitted = choose_pairs([reply(name, text) for name, text, _ in replies], marks, {}, 0.0)
    assert [(good.sample_id, bad.sample_id) for good, bad, _ in found] == pairs
    assert {reason: count for reason, count in omitted.items() if count} == left_out


def test_replies_to_two_prompts_are_no_pair() -> None:
    given = [reply("a", "x"), reply("b", "y", asked="How?"), reply("c", "z", item="2")]
    found, left_out = choose_pairs(given, {name: {("RIGHT", "j"): n} for n, name in enumerate("abc")}, {}, 0)
    assert (found, left_out["alone"]) == ([], 3)


def test_replies_are_compared_on_what_both_were_given_with_the_weights_of_the_spec() -> None:
    marks = {
        "a": {("CLEAR", "j"): 9.0, ("RIGHT", "j"): 4.0, ("CLEAR", "k"): 1.0},
        "b": {("CLEAR", "j"): 5.0, ("RIGHT", "j"): 6.0},
    }
    [(good, bad, margin)], _ = choose_pairs(
        [reply("a", "x"), reply("b", "y")], marks, {"s": {"CLEAR": 1, "RIGHT": 3}}, 0
    )
    assert (good.sample_id, bad.sample_id, margin) == ("b", "a", 0.5)


def test_the_best_is_chosen_with_the_weights_of_the_spec(quiz: Path, tripos: Command, once: Command) -> None:
    Path("quiz.tripos").write_text(QUIZ.replace("|   x   |   x   |", "|   3   |   1   |"), "utf-8")
    run(once)
    done = tripos("export", "distillation", "--per", "scenario", "-o", "t.jsonl", "--json")
    means = ask(
        tripos,
        "select model, (3 * avg(value) filter (metric = 'CLEAR') + avg(value) filter (metric = 'RIGHT')) / 4 as mean"
        " from quiz.scores where scenario = 'sums' and scorer = 'rubric' group by all",
    )
    [best] = [each for each in done.data["best"] if each["cell"] == {"scenario": "sums"}]
    assert best["value"] == pytest.approx(max(each["mean"] for each in means))


def test_a_larger_margin_leaves_out_the_nearer_pairs(quiz: Path, tripos: Command, once: Command) -> None:
    run(once)
    assert tripos("export", "preferences", "-o", "all.jsonl").code == 0
    apart = sorted(line["margin"] for line in lines("all.jsonl"))
    assert tripos("export", "preferences", "--margin", str(apart[-1]), "-o", "few.jsonl").code == 0
    assert [line["margin"] for line in lines("few.jsonl")] == [each for each in apart if each == apart[-1]]
    assert provenance("few.jsonl")["left_out"]["below the margin"] == len([e for e in apart if e < apart[-1]])


def test_a_declared_export_is_run_by_its_name(quiz: Path, tripos: Command, once: Command) -> None:
    text = (
        QUIZ + "export first { pairs of candidate by rubric\nrows reply\nformat completion\nwhere scenario == sums }\n"
    )
    Path("quiz.tripos").write_text(text, "utf-8")
    run(once)
    assert tripos("export", "first", "-o", "p.jsonl").code == 0
    told = provenance("p.jsonl")
    assert (told["export"], told["filters"], told["line_format"]) == ("first", ["scenario == sums"], "completion")
    assert set(told["by_scenario"]) == {"sums"}
    assert all(isinstance(line[name], str) for line in lines("p.jsonl") for name in ("prompt", "chosen", "rejected"))


def test_options_change_parts_of_a_declared_export(quiz: Path, tripos: Command, once: Command) -> None:
    text = QUIZ + "export preferences { pairs of candidate by rubric margin 9\nrows reply }\n"
    Path("quiz.tripos").write_text(text, "utf-8")
    run(once)
    assert "S0603" in tripos("export", "preferences", "-o", "p.jsonl").err
    assert tripos("export", "preferences", "--margin", "0", "-o", "p.jsonl").code == 0


def test_replies_that_failed_or_were_cut_off_are_never_exported(quiz: Path, tripos: Command, once: Command) -> None:
    run(once, "--model", "mock/careful,mock/broken-json", "--role", "judge=mock/careful:j")
    store = Store.open(quiz / "results", create=False)
    ids = [each["sample_id"] for each in ask(tripos, "from quiz.samples where scenario = 'sums' order by sample_id")]
    whole = [row for row in store.rows("samples", ids).values() if row["model"] == "mock/careful"]
    # One that was read in spite of being cut off: the same reply as the provider would have said it.
    store.append({"samples": [{**whole[0], "finish_reason": "length"}]})
    for model in ("mock/careful", "mock/broken-json"):
        done = tripos("export", "distillation", "--models", model, "-o", "t.jsonl", "--json")
        if done.code:
            continue
        exported = {sample for (sample,) in samples("t.jsonl")}
        statuses = {each["sample_id"]: each for each in ask(tripos, "from quiz.samples")}
        assert all(statuses[sample]["status"] == "ok" for sample in exported)
        assert whole[0]["sample_id"] not in exported


def test_no_secret_reaches_a_line(quiz: Path, tripos: Command, once: Command) -> None:
    secret = [{**item, "answer": f"SECRET{place}"} for place, item in enumerate(ITEMS)]
    Path("items.jsonl").write_text("\n".join(map(json.dumps, secret)), "utf-8")
    run(once)
    for kind in ("distillation", "preferences"):
        assert tripos("export", kind, "-o", f"{kind}.jsonl").code == 0
        assert "SECRET" not in Path(f"{kind}.jsonl").read_text("utf-8")


def test_a_line_is_there_once(quiz: Path, tripos: Command, once: Command) -> None:
    text = QUIZ.replace('prompt "{{ item.question }}"', 'prompt "{{ item.question }}"\nsamples 3', 1)
    Path("quiz.tripos").write_text(text, "utf-8")
    run(once)
    done = tripos("export", "distillation", "--scenario", "sums", "-o", "t.jsonl", "--json")
    assert done.data["examples"] == 3 == len({json.dumps(line) for line in lines("t.jsonl")})
    assert done.data["left_out"]["doubles"] == 6


def test_the_provenance_says_what_the_file_is_made_of(quiz: Path, tripos: Command, once: Command) -> None:
    import hashlib

    name = run(once)
    assert tripos("export", "distillation", "-o", "t.jsonl", "--scenario", "sums").code == 0
    told = provenance("t.jsonl")
    assert told["run_id"] == name
    assert told["sha256"] == hashlib.sha256(Path("t.jsonl").read_bytes()).hexdigest()
    assert told["plan_digest"] == ask(tripos, "select plan_digest from runs")[0]["plan_digest"]
    assert told["judges"] == {"judge": ["mock/careful:j", "mock/careful:k"]}
    assert told["filters"] == ["scenario in (sums)"]
    assert len(told["lines"]) == told["examples"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("distilation",), "S0601", "did you mean `distillation`?"),
        (("distillation", "--per", "subject"), "S0602", "there is no `subject`"),
        (("distillation", "--by", "length", "--per", "metric"), "S0602", "`length` does not go by `metric`"),
        (("distillation", "--by", "kindness"), "S0602", "no score or measure `kindness`"),
        (("distillation", "--rows", "question"), "S0602", "no `question` is asked of `candidate`"),
        (("distillation", "--models", "mock/other"), "S0602", "`mock/other` is not compared"),
        (("preferences", "--margin", "9"), "S0603", "below the margin"),
        (("preferences", "--models", "mock/careful"), "S0603", "pairs need two models"),
        (("preferences", "--per", "scenario"), "R0202", "`--per` has no meaning for `preferences`"),
        (("distillation", "--scenario", "sms"), "R0202", "did you mean `sums`?"),
    ],
)
def test_what_cannot_be_exported_is_said(
    quiz: Path, tripos: Command, once: Command, arguments: tuple[str, ...], code: str, said: str
) -> None:
    run(once)
    done = tripos("export", *arguments, "-o", "t.jsonl")
    assert done.code == 2
    assert code in done.err and said in done.err
    assert not Path("t.jsonl").exists()


def test_a_file_that_cannot_be_written_is_said(quiz: Path, tripos: Command, once: Command) -> None:
    run(once)
    done = tripos("export", "distillation", "-o", "quiz.tripos/t.jsonl")
    assert done.code == 2 and "S0604" in done.err


def test_replies_of_scenarios_that_the_measure_says_nothing_of_are_left_out(
    quiz: Path, tripos: Command, once: Command
) -> None:
    local = "  score long = words(reply.text) > 3\n"
    assert local in QUIZ
    more = QUIZ.replace(local, local + "  measure own = mean(long)\n")
    (quiz / "quiz.tripos").write_text(more, "utf-8")
    run(once)
    done = tripos("export", "distillation", "--by", "sums.own", "-o", "t.jsonl", "--json")
    assert done.code == 0, done.err
    assert set(provenance("t.jsonl")["by_scenario"]) == {"sums"}


@pytest.mark.parametrize(
    ("name", "told"), [("lenght", "did you mean `length`?"), ("own", "did you mean `sums.own`?"), ("xyz", "and 3 more")]
)
def test_an_unknown_measure_is_answered_with_the_nearest(
    quiz: Path, tripos: Command, once: Command, name: str, told: str
) -> None:
    own = "".join(
        f"  measure {name} = mean(long)\n" for name in ("own", "b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8")
    )
    local = "  score long = words(reply.text) > 3\n"
    (quiz / "quiz.tripos").write_text(QUIZ.replace(local, local + own), "utf-8")
    run(once)
    done = tripos("export", "distillation", "--by", name, "-o", "t.jsonl")
    assert done.code == 2
    assert told in " ".join(done.err.split())


FORMED = """benchmark formed "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer integer secret }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns 1..9 }
  score right = reply == item.answer
}
"""
REPLIES = {"plain": '{"value": 4}', "fenced": '```json\n{"value": 4}\n```', "chatty": 'Two and two: {"value": 4}'}


def imported(tripos: Command, replies: dict[str, str]) -> None:
    """Write the benchmark and import replies by models of these names."""
    Path("s.tripos").write_text(FORMED, "utf-8")
    Path("items.jsonl").write_text(json.dumps({"question": "2 + 2?", "answer": 4}), "utf-8")
    given = [{"question": "2 + 2?", "model": f"lab/{name}", "reply": text} for name, text in replies.items()]
    Path("replies.jsonl").write_text("\n".join(map(json.dumps, given)), "utf-8")
    assert tripos("import", "samples", "replies.jsonl", "--spec", "s.tripos").code == 0


@pytest.mark.parametrize("export", ["distillation", "preferences"])
def test_replies_in_another_form_than_their_prompt_asks_for_are_left_out(
    export: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    imported(tripos, {**REPLIES, "wrong": '{"value": 5}'} if export == "preferences" else REPLIES)
    done = tripos("export", export, "--by", "right", "-o", "t.jsonl")
    assert done.code == 0, done.err
    told = provenance("t.jsonl")
    assert told["left_out"]["another form"] == 2
    assert {each["model"]: each["reason"] for each in told["another_form"]} == {
        "lab/fenced": "it is not JSON alone",
        "lab/chatty": "it is not JSON alone",
    }
    assert "replies in another form than their prompt asks for: 2" in done.out
    (line,) = lines("t.jsonl")
    last = line["messages"][-1] if export == "distillation" else line["chosen"][-1]
    assert last["content"] == REPLIES["plain"]


def test_an_export_of_replies_in_another_form_names_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    imported(tripos, {"chatty": REPLIES["chatty"]})
    done = tripos("export", "distillation", "--by", "right", "-o", "t.jsonl")
    assert "error[S0603]" in done.err
    assert "the reply of lab/chatty to item" in " ".join(done.err.split())
