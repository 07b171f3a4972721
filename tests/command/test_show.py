"""`tripos show`, and what a store has of conversations: views, replays, kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.answers import ask
from tests.conftest import Command

TALKS = """\
benchmark lessons "1.0.0" { languages en }
role teacher compared
role student
arm teaching { none, lesson }
dataset item from "items.jsonl" { topic text, question text secret, answer text secret }
scenario gain {
  over item as q
  arms teaching
  converse talk when teaching == lesson {
    teacher { system "Teach {{ q.topic }}. When it is understood, say LESSON OVER." }
    student { system "You know nothing of {{ q.topic }} yet." }
    opens  teacher
    until  teacher says "lesson over"
    limit  20 turns
    repeat 3
  }
  ask sitting by student {
    continue talk
    prompt "{{ q.question }}"
    samples 6
  }
  score learnt = contains(sitting.text, q.answer)
  measure pass   = mean(learnt)
  measure length = mean(turns(talk))
}
"""
ROWS = ({"topic": "halves", "question": "1/2 of 1/4?", "answer": "1/8"},)
MODELS = ("--model", "mock/teacher", "--role", "student=mock/careful")


@pytest.fixture(autouse=True)
def _talks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("talks.tripos").write_text(TALKS, "utf-8")
    Path("items.jsonl").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")


def test_a_conversation_is_printed_with_who_said_what_how_it_ended_and_what_followed(
    tripos: Command, once: Command
) -> None:
    assert once("run", "talks.tripos", *MODELS).code == 0
    key = ask(tripos, "select conversation_id from lessons.conversations where conversation_number = 0")
    shown = tripos("show", key[0]["conversation_id"][:10])
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert {"teacher: mock/teacher", "student: mock/careful", "1 teacher", "2 student"} <= set(lines)
    assert any(line.startswith("ended: after ") and line.endswith("said what ends it") for line in lines)
    assert "followed by 2 replies" in lines
    assert "  sitting 0 by mock/careful, ok: learnt 0" in lines
    assert max(map(len, lines)) <= 80


def test_a_reply_is_printed_with_its_dialogue_and_its_scores(tripos: Command, once: Command) -> None:
    once("run", "talks.tripos", *MODELS)
    query = "select sample_id from lessons.samples where step = 'sitting' and teaching = 'lesson' order by 1 limit 1"
    [row] = ask(tripos, query)
    data = tripos("show", row["sample_id"], "--json").data
    assert data["said"][-2]["text"].endswith("1/2 of 1/4?")
    assert [score["metric"] for score in data["scores"]] == ["learnt"]
    [before] = tripos("why", row["sample_id"], "--json").data["made_from"]["builds_on"]
    assert before["step"] == "talk"
    shown = tripos("show", "abcdef123")
    assert (shown.code, "S0302" in shown.err) == (2, True)


def test_a_conversation_is_a_row_of_its_arm_and_its_turns_are_rows_too(tripos: Command, once: Command) -> None:
    once("run", "talks.tripos", *MODELS)
    talks = ask(tripos, "select teaching, turns, ended, tokens_in from lessons.conversations order by all")
    assert [(row["teaching"], row["ended"]) for row in talks] == [("lesson", "said")] * 3
    [turns] = ask(tripos, "select count(*) as n, sum(tokens_in) as tokens from lessons.turns where teaching = 'lesson'")
    assert turns == {"n": sum(row["turns"] for row in talks), "tokens": sum(row["tokens_in"] for row in talks)}
    [none] = ask(tripos, "select count(*) as n from lessons.scores where teaching = 'none' and metric = 'learnt'")
    assert none == {"n": 6}


@pytest.mark.long
def test_a_replay_says_every_turn_again(tripos: Command) -> None:
    run = tripos("run", "talks.tripos", *MODELS, "--json").data["run_id"]
    replay = tripos("run", "talks.tripos", "--model", f"replay/results:{run}", "--store", "again", "--json")
    assert replay.code == 0, replay.err
    query = "select turn_id, text, left_out from main.turns order by all"
    assert ask(tripos, query) == ask(tripos, query, "--store", "again") != []


def test_the_store_is_whole_after_compacting_and_nothing_is_asked_again(tripos: Command, once: Command) -> None:
    once("run", "talks.tripos", *MODELS)
    before = ask(tripos, "select turn_id, text from main.turns order by all")
    assert tripos("store", "compact").code == 0
    assert tripos("store", "check").code == 0
    assert ask(tripos, "select turn_id, text from main.turns order by all") == before
    assert tripos("run", "talks.tripos", *MODELS, "--json").data["calls"]["asked"] == 0


def test_replies_that_follow_a_conversation_are_not_imported(tripos: Command) -> None:
    Path("replies.csv").write_text("question,reply,arm,step\n1/2 of 1/4?,1/8,lesson,sitting\n", "utf-8")
    done = tripos("import", "samples", "replies.csv", "--spec", "talks.tripos", "--column", "teaching=arm", *MODELS)
    assert done.code != 0
    assert "conversations cannot be imported" in " ".join((done.out + done.err).split())


@pytest.mark.long
def test_a_run_that_is_killed_in_a_conversation_asks_no_turn_twice(tripos: Command) -> None:
    slow = TALKS.replace('say LESSON OVER."', 'say GOOD BYE."')  # so it goes on to its limit
    Path("talks.tripos").write_text(slow, "utf-8")
    models = ("--model", "mock/slow", "--role", "student=mock/slow")
    command = [sys.executable, "-m", "tripos", "run", "talks.tripos", *models]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ.copy())
    journal = Path("results") / "journal"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if any(b'"turn_id"' in path.read_bytes() for path in journal.glob("*") if path.is_file()):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    again = tripos("run", "talks.tripos", *models, "--json").data["calls"]
    turns = ask(tripos, "select conversation_id, number, count(*) as n from main.turns group by all")
    assert len(turns) == 3 * 20
    assert {row["n"] for row in turns} == {1}
    assert again["reused"] > 0
    assert again["asked"] + again["reused"] == 3 * 20 + 12


def test_scores_of_an_outdated_rubric_are_not_counted_and_are_told_last(quiz: Path, tripos: Command) -> None:
    run = ("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a", "--limit", "1")
    assert tripos(*run).code == 0
    counted = _counted(tripos)
    text = Path("quiz.tripos").read_text("utf-8")
    Path("quiz.tripos").write_text(text.replace("Is the reply clear?", "Is the reply easy to read?"), "utf-8")
    assert tripos(*run).code == 0
    assert _counted(tripos) == counted == {"sums": "3", "words": "2"}
    [row] = ask(tripos, "select sample_id from quiz.samples where scenario = 'sums'")
    scores = tripos("show", row["sample_id"], "--json").data["scores"]
    assert [score["outdated"] for score in scores] == [False] * 3 + [True] * (len(scores) - 3) != [False] * 3
    current = ask(tripos, f"select score_id from quiz.scores where sample_id = '{row['sample_id']}'")
    assert {score["score_id"] for score in scores if not score["outdated"]} == {each["score_id"] for each in current}
    told = " ".join(tripos("show", row["sample_id"]).out.split())
    assert told.count("by mock/careful:a (outdated)") == len(scores) - 3


def _counted(tripos: Command) -> dict[str, str]:
    head, _, *rows = tripos("show").out.partition("\n\n")[0].splitlines()
    assert head.split()[:5] == ["key", "scenario", "model", "status", "scores"]
    return {row.split()[1]: row.split()[4] for row in rows}


def test_replies_without_scores_are_listed(quiz: Path, tripos: Command) -> None:
    run = ("run", "quiz.tripos", "--model", "mock/refuses", "--role", "judge=mock/careful:a", "--limit", "1")
    tripos(*run)
    assert _counted(tripos) == {"sums": "3", "words": "0"}  # no reply to `words` is the object that it asks for
