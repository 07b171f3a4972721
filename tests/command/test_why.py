"""`tripos why`: the chain of inputs that made a result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.answers import ask
from tests.conftest import Command
from tripos.terminal import escape_controls
from tripos_warehouse.tables.text import fold

CHAIN = """\
benchmark chain "1.0.0" { languages en }
role candidate compared
role helper
role judge panel
dataset item from "items.jsonl" { question text, answer text secret }
scorer grader(response: text) by judge {
  prompt "Grade: {{ response }}"
  gives 1..10
}
scenario sums {
  over item
  ask hint by helper { prompt "Hint at {{ item.question }}", temperature 0.5 }
  ask draft by candidate { prompt "{{ item.question }} {{ hint.text }}", samples 2 }
  ask reply by candidate { prompt "Better: {{ draft.text }}", samples 2 }
  score long = length(reply.text) > 3
  score good = grader(response: reply.text)
}
measure m = mean(long)
measure g = mean(good)
"""
CAREFUL = ("--model", "mock/careful", "--role", "judge=mock/careful:a")


@pytest.fixture
def ran(quiz: Path, once: Command) -> Path:
    """The quiz, run once with one judge."""
    assert once("run", "quiz.tripos", *CAREFUL, "--json").code == 0
    return quiz


@pytest.fixture
def chain(quiz: Path, once: Command) -> Path:
    """A benchmark of three steps, run once by two models."""
    (quiz / "quiz.tripos").write_text(CHAIN, "utf-8")
    others = ("--role", "judge=mock/careful:a", "--role", "helper=mock/careful:h")
    assert once("run", "quiz.tripos", "--model", "mock/careful:x,mock/careful:y", *others, "--json").code == 0
    return quiz


def test_a_score_is_followed_to_its_judge_its_reply_and_its_item(ran: Path, tripos: Command) -> None:
    [row] = ask(tripos, "from quiz.scores where metric = 'RIGHT' limit 1")
    found = tripos("why", row["score_id"], "--json").data
    assert (found["table"], found["id"], found["score"]["value"]) == ("scores", row["score_id"], row["value"])
    assert found["made_from"]["judgement_id"] == row["judgement_id"]
    assert found["sample"]["sample_id"] == row["sample_id"]
    assert found["item"]["item_id"] == row["item_id"]
    assert "Is the reply right?" in found["rubric"]
    assert found["item"]["fields"]["question"] in found["sample"]["messages"][0]["content"]
    [row] = ask(tripos, "from quiz.samples where scenario = 'sums' limit 1")
    found = tripos("why", row["sample_id"], "--json").data["made_from"]
    assert {score["metric"] for score in found["scores"]} == {"long", "CLEAR", "RIGHT"}
    assert [judgement["evaluator"] for judgement in found["judgements"]] == ["mock/careful:a"]
    assert "error[S0101]" in tripos("why", "abcdef", "--store", "empty").err


def test_the_replies_that_a_reply_builds_on_are_the_ones_it_was_made_from(chain: Path, tripos: Command) -> None:
    for row in ask(tripos, "from chain.samples where step = 'reply'"):
        found = tripos("why", row["sample_id"], "--json").data["made_from"]
        [draft] = found["builds_on"]
        assert (draft["step"], draft["model"], draft["sample_number"]) == ("draft", row["model"], row["sample_number"])
        assert found["messages"][0]["content"] == f"Better: {draft['reply']}"
        [hint] = draft["builds_on"]
        assert (hint["step"], hint["model"], hint["settings"]["temperature"]) == ("hint", "mock/careful:h", 0.5)
        assert draft["messages"][0]["content"].endswith(hint["reply"])
    [row] = ask(tripos, "from chain.scores where metric = 'long' limit 1")
    done = tripos("why", row["score_id"])
    assert (done.code, "builds on" in done.out, "draft" in done.out) == (0, True, True), done.err
    found = tripos("why", row["score_id"], "--json").data
    assert (found["made_from"]["sample_id"], found["sample"]) == (row["sample_id"], None)


def test_a_reply_that_was_asked_for_again_shows_its_first_try(quiz: Path, tripos: Command, once: Command) -> None:
    broken = ("--model", "mock/broken-json", "--role", "judge=mock/careful:a")
    assert once("run", "quiz.tripos", *broken, "--json").code == 0
    [row] = ask(tripos, "from quiz.samples where scenario = 'words' limit 1")
    done = tripos("why", row["sample_id"])
    assert "first try" in done.out
    assert "asked for again" in done.out
    assert "parse_failure" in done.out


@pytest.mark.parametrize("column", ["sample_id", "judgement_id", "score_id"])
def test_six_characters_are_enough_and_the_text_fits_80_columns(ran: Path, tripos: Command, column: str) -> None:
    [row] = ask(tripos, f"from quiz.scores where {column} is not null limit 1")
    done = tripos("why", row[column][:6])
    assert done.code == 0, done.err
    assert row[column] in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_long_texts_are_shortened_unless_all_is_wanted(quiz: Path, tripos: Command, once: Command) -> None:
    question = " ".join(f"word{number}" for number in range(400))
    (quiz / "items.jsonl").write_text(json.dumps({"question": question, "answer": "42"}), "utf-8")
    once("run", "quiz.tripos", *CAREFUL, "--json")
    [row] = ask(tripos, "from quiz.samples where scenario = 'sums'")
    short, whole = tripos("why", row["sample_id"]).out, tripos("why", row["sample_id"], "--full").out
    assert ("word399" in short, "word399" in whole) == (False, True)
    assert "--full" in short


def test_hostile_text_is_shown_harmlessly(quiz: Path, tripos: Command, once: Command) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07 \u202eevil [bold]no[/bold]\r\x00\x9b31m {{ item.answer }}"
    (quiz / "items.jsonl").write_text(json.dumps({"question": hostile, "answer": "42"}), "utf-8")
    assert once("run", "quiz.tripos", *CAREFUL, "--json").code == 0
    [row] = ask(tripos, "from quiz.samples where scenario = 'sums'")
    done = tripos("why", row["sample_id"])
    assert not set(done.out) & {"\x1b", "\x07", "\x9b", "\r", "\x00", "\u202e"}
    assert "\\x1b[2J" in done.out
    assert "[bold]no[/bold]" in done.out
    assert tripos("why", row["sample_id"], "--json").data["item"]["fields"]["question"] == hostile


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("ffffffffffff", "no sample, judgement, score or comparison"),
        ("abc", "too short"),
        ("%%%%%%", "no sample"),
        ("\x1b[2Jabcdef", "\\x1b"),
    ],
)
def test_what_is_not_there_is_an_error_with_a_hint(ran: Path, tripos: Command, key: str, words: str) -> None:
    done = tripos("why", key)
    assert done.code == 2
    assert done.err.startswith("error[S0302]")
    assert words in done.err
    assert "help" in done.err


def test_a_beginning_that_fits_several_names_some(ran: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos.runs.provenance.SHORTEST", 1)
    ids = [
        row["id"]
        for row in ask(tripos, "select score_id as id from main.scores union all select sample_id from main.samples")
    ]
    first = next(each[0] for each in ids if sum(other[0] == each[0] for other in ids) > 1)
    done = tripos("why", first)
    assert (done.code, done.err.startswith("error[S0303]")) == (2, True)
    assert sum(each in done.err for each in ids) >= 2


def test_an_item_of_wide_characters_is_folded_by_their_width(quiz: Path, tripos: Command, once: Command) -> None:
    (quiz / "items.jsonl").write_text(
        json.dumps({"question": "请计算十五加二十七等于多少" * 20, "answer": "42"}), "utf-8"
    )
    once("run", "quiz.tripos", *CAREFUL, "--json")
    [row] = ask(tripos, "from quiz.samples where scenario = 'sums'")
    from rich.cells import cell_len

    done = tripos("why", row["sample_id"], "--full")
    assert max(map(cell_len, done.out.splitlines())) <= 80


def test_folding_loses_no_character() -> None:
    line = "四十二 forty-two 🎓 and some-very-long-word-without-any-space-in-it 就是答案"
    for room in range(4, 60):
        assert "".join(fold(line, room)).replace(" ", "") == line.replace(" ", "")


def test_joiners_of_scripts_that_need_them_stay() -> None:
    assert escape_controls("می\u200cخواهم\tok") == "می\u200cخواهم\tok"


def test_the_benchmark_need_not_lie_beside_the_store(
    ran: Path, tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = ask(tripos, "from quiz.scores limit 1")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert tripos("why", row["score_id"], "--store", str(ran / "results")).code == 0


def test_a_score_that_nothing_was_asked_for_says_so(quiz: Path, tripos: Command) -> None:
    failing = ("--model", "mock/fails-9", "--role", "judge=mock/careful:a", "--max-retries", "0", "--json")
    assert tripos("run", "quiz.tripos", *failing).code == 1
    [row] = ask(tripos, "from quiz.scores where metric = 'RIGHT' limit 1")
    done = tripos("why", row["score_id"])
    assert done.code == 0, done.err
    assert "provider_error" in done.out
    assert "R0111" in done.out


def test_a_score_of_a_step_that_a_condition_ruled_out_has_no_reply(quiz: Path, tripos: Command, once: Command) -> None:
    text = CHAIN.replace("ask reply by candidate {", "ask reply by candidate when length(draft.text) < 0 {")
    (quiz / "quiz.tripos").write_text(text, "utf-8")
    options = ("--model", "mock/careful:x", "--role", "judge=mock/careful:a", "--role", "helper=mock/careful:h")
    assert once("run", "quiz.tripos", *options, "--json").code == 0
    [row] = ask(tripos, "from chain.scores where metric = 'long' limit 1")
    done = tripos("why", row["score_id"])
    assert done.code == 0, done.err
    assert "none (not_applicable: the condition of `reply` does not hold" in done.out
    assert "no reply: a condition ruled it out" in " ".join(done.out.split())


def test_a_score_of_elements_is_followed_to_what_its_judges_said_of_each(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = CHAIN.replace("answer text secret", "parts list<text> secret").replace(
        "score good = grader(response: reply.text)",
        'score good = sum(grader(response: join((p, reply.text), " ")) each p in item.parts)',
    )
    Path("items.jsonl").write_text('{"question": "Why?", "parts": ["one", "two", "three"]}\n', "utf-8")
    Path("chain.tripos").write_text(spec, "utf-8")
    run = tripos("run", "chain.tripos", *CAREFUL, "--role", "helper=mock/careful")
    assert run.code == 0, run.err
    scores = ask(tripos, "select score_id, value from scores where metric = 'good'")
    assert len(scores) == 2
    for score in scores:
        told = json.loads(tripos("why", score["score_id"], "--json").out)
        given = [each["parsed"] for each in told["further_replies"]]
        assert sum(each["verdict"]["score"] for each in given) == score["value"]
        assert [each["element_place"] for each in told["further_replies"]] == ["0", "1", "2"]


def test_many_steps_by_several_models_are_traced_to_the_first(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2 ** 17 ways to put their replies together are more than can be tried."""
    steps = "".join(
        f'  ask s{n} by candidate {{ prompt "Step {n} after {{{{ s{n - 1}.text }}}}" }}\n' for n in range(1, 18)
    )
    (tmp_path / "rows.jsonl").write_text('{"question": "Why?"}\n', "utf-8")
    (tmp_path / "long.tripos").write_text(
        'benchmark long "1.0.0" { languages en }\nrole candidate compared\n'
        'dataset item from "rows.jsonl" { question text }\nscenario chain {\n  over item\n'
        f'  ask s0 by candidate {{ prompt "{{{{ item.question }}}}" }}\n{steps}'
        "  score size = words(s17.text)\n}\nmeasure size = mean(size)\n",
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    assert tripos("run", "long.tripos", "--model", "mock/careful:a,mock/careful:b").code == 0
    for model in ("mock/careful:a", "mock/careful:b"):
        query = f"select score_id from long.scores where model = '{model}'"
        score = tripos("sql", query, "--format", "csv").out.splitlines()[1]
        traced = tripos("why", score, "--json").data["made_from"]
        names = []
        while traced:
            names.append((traced["step"], traced["model"]))
            traced = traced["builds_on"][0] if traced["builds_on"] else None
        assert names == [(f"s{n}", model) for n in range(17, -1, -1)]
