"""What is asked again, what is kept, and that no result stands for another: specs with several steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

HEAD = """\
benchmark quiz "1.0.0" { languages en }
role candidate compared
role judge panel
role helper
axis stage { primary "primary school", high "high school" }
dataset item from "items.jsonl" { question text, answer text secret, n integer, stage }
scorer ok(r: text) by judge { prompt "{{ r }}", gives bool }
scorer pair(a: text, b: text) by judge { prompt "{{ a }} {{ b }}", gives 1..5 }
"""
ROWS = [
    {"question": "What is (0", "answer": "0", "n": 0, "stage": "primary"},
    {"question": "What is 2", "answer": "2", "n": 2, "stage": "high"},
]
REPLY = 'ask reply by candidate { prompt "Q {{ item.question }}" }\n'


class Folder:
    """A folder whose spec is written and run again and again."""

    def __init__(self, path: Path, tripos: Command, once: Command) -> None:
        self.path, self.tripos, self.once = path, tripos, once
        (path / "items.jsonl").write_text("\n".join(map(json.dumps, ROWS)), "utf-8")

    def write(self, body: str, head: str = HEAD, after: str = "") -> None:
        (self.path / "s.tripos").write_text(f"{head}scenario a {{ over item\n{body}\n}}\n{after}", "utf-8")

    def run(self, body: str, *options: str, head: str = HEAD, after: str = "") -> dict[str, Any]:
        self.write(body, head, after)
        models = options or ("--model", "mock/careful")
        done = self.once("run", "s.tripos", *models, "--json")
        assert done.code == 0, done.err
        data: dict[str, Any] = done.data
        return data

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        assert self.tripos("sql", query, "-o", "rows.json").code == 0
        return [tuple(row.values()) for row in json.loads((self.path / "rows.json").read_text())]

    def codes(self, body: str, head: str = HEAD) -> list[str]:
        """Return the codes of errors; what the head declares beyond need is no matter here."""
        self.write(body, head)
        found = self.tripos("check", "s.tripos", "--format", "json").data
        return [each["code"] for each in found if each["severity"] == "error"]


@pytest.fixture
def folder(tmp_path: Path, tripos: Command, once: Command, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, tripos, once)


def test_every_compared_model_and_sample_has_scores_of_its_own(folder: Folder) -> None:
    body = """ask reply by candidate { prompt "Q {{ item.question }}", samples 3 }
    ask verdict by helper { prompt "Judge {{ reply.text }}" }
    ask ref by helper { prompt "Solve {{ item.question }} {{ item.answer }}" }
    score long = length(reply.text) - length(ref.text)
    score v = length(verdict.text)
    score g = pair(a: reply.text, b: ref.text)"""
    models = (
        "--model",
        "mock/careful:x,mock/careful:y",
        "--role",
        "helper=mock/careful",
        "--role",
        "judge=mock/careful",
    )
    done = folder.run(body, *models)
    # 2 models × 2 rows × 3 samples of reply, verdict and g; ref once a row
    assert done["calls"] == {"planned": 38, "asked": 38, "reused": 0, "skipped": 0, "failed": 0, "left": 0}
    counted = folder.rows("select model, metric::text, count(*) from quiz.scores group by all order by all")
    assert counted == [(f"mock/careful:{m}", metric, 6) for m in "xy" for metric in ("g", "long", "v")]
    again = folder.run(body, *models)
    assert again["calls"]["reused"] == again["calls"]["planned"]


def test_another_helper_makes_what_builds_on_it_anew(folder: Folder) -> None:
    body = """ask ref by helper { prompt "S {{ item.question }}" }
    ask reply by candidate { prompt "Q {{ item.question }} {{ ref.text }}" }
    score q = length(reply.text)
    score g = ok(reply.text)"""
    base = ("--model", "mock/careful", "--role", "judge=mock/careful")
    folder.run(body, *base, "--role", "helper=mock/careful:a")
    assert folder.run(body, *base, "--role", "helper=mock/careful:b")["calls"]["asked"] == 6


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("let x = item.n", "let x = item.n + 100", 4),  # printed in `two`, so its reply and its grade change
        ('"One {{ item.question }}"', '"1 {{ item.question }}"', 4),  # `one` and the grade of both
        pytest.param(
            'primary "primary school"', 'primary "elementary school"', 2, marks=pytest.mark.long
        ),  # `two` prints the label, and of one item
        ("score s = ", "score t = ", 0),
        pytest.param("score h = ", "score i = ", 0, marks=pytest.mark.long),
        pytest.param("scorer pair(", "scorer duo(", 0, marks=pytest.mark.long),
        pytest.param("when item.n > 0", "when item.n > -1", 0, marks=pytest.mark.long),
    ],
)
def test_a_change_is_paid_for_once_and_shows_everywhere(folder: Folder, old: str, new: str, asked: int) -> None:
    body = """let x = item.n
    ask one by candidate { prompt "One {{ item.question }}" }
    ask two by candidate { prompt "Two {{ x }} {{ item.stage }}" }
    score s = length(one.text) + x
    score late = length(two.text) when item.n > 0
    score h = pair(a: one.text, b: two.text)"""
    folder.run(body)
    edit = [text.replace(old, new).replace("= pair(", "= duo(" if "duo" in new else "= pair(") for text in (body, HEAD)]
    again = folder.run(edit[0], head=edit[1])
    assert again["calls"]["asked"] == asked
    query = "select metric, value, status from quiz.scores order by metric, item_id, value"
    shown = folder.rows(query)
    (folder.path / "results").rename(folder.path / "old")
    folder.run(edit[0], head=edit[1])
    assert shown == folder.rows(query)  # as if it had never been run before


@pytest.mark.parametrize("settings", ["temperature 0", "temperature 1"])
def test_a_score_added_beside_another_of_the_same_judgement_shares_its_verdict(folder: Folder, settings: str) -> None:
    head = HEAD.replace("gives bool", f"gives bool, {settings}", 1)
    assert head != HEAD
    folder.run(REPLY + "score g = ok(reply.text)", head=head)
    again = folder.run(REPLY + "score g = ok(reply.text)\nscore h = ok(reply.text)", head=head)
    assert again["calls"]["asked"] == 0
    assert folder.rows("select metric, count(*) from quiz.scores group by all order by all") == [("g", 2), ("h", 2)]


def test_scores_of_one_name_that_share_the_items_each_keep_theirs(folder: Folder) -> None:
    body = REPLY + "score g = ok(reply.text) when item.n == 0\nscore g = ok(reply.text) when item.n != 0"
    folder.run(body)
    counted = folder.rows("select status, count(*) from quiz.scores group by all order by all")
    assert counted == [("not_applicable", 2), ("scored", 2)]


def test_fewer_samples_show_fewer(folder: Folder) -> None:
    body = 'ask reply by candidate { prompt "Q {{ item.question }}", samples 3 }\nscore q = length(reply.text)'
    folder.run(body)
    assert folder.run(body.replace("samples 3", "samples 1"))["calls"]["asked"] == 0
    assert folder.rows("select count(*) from quiz.samples") == [(2,)]
    assert folder.rows("select count(*) from quiz.scores") == [(2,)]


def test_a_renamed_benchmark_shows_its_results(folder: Folder) -> None:
    body = REPLY + "score q = length(reply.text)"
    folder.run(body)
    folder.run(body, head=HEAD.replace("benchmark quiz", "benchmark other"))
    assert folder.rows("select count(*) from other.scores") == [(2,)]


@pytest.mark.parametrize(
    "body",
    [
        REPLY + "score q = 1 / item.n",
        pytest.param(REPLY + "let x = 1 / item.n\nscore q = x + length(reply.text)", marks=pytest.mark.long),
        pytest.param(REPLY + "score q = length(reply.text) when 1 / item.n > 0", marks=pytest.mark.long),
        pytest.param(REPLY + "score q = matches(reply.text, item.question)", marks=pytest.mark.long),
        'ask reply by candidate { prompt "{{ 1 / item.n }}" }\nscore q = length(reply.text)',
        pytest.param(REPLY + "score q = length(reply.text) * 1e69 * (1 / item.n) * 1e69", marks=pytest.mark.long),
    ],
)
def test_what_has_no_value_is_a_status_and_not_a_crash(folder: Folder, body: str) -> None:
    body = body.replace("score q = 1 / item.n", "score q = length(reply.text) / item.n")
    folder.run(body)
    statuses = dict(folder.rows("select status, count(*) from quiz.scores group by all"))
    assert statuses.get("undefined" if "1e69" in body else "not_applicable", 0) >= 1
    assert folder.rows("select count(*) from quiz.scores where value is not null and not isfinite(value)") == [(0,)]


def test_a_set_equals_a_list_of_the_same(folder: Folder) -> None:
    folder.run(REPLY + 'score q = choice_letters("B A") == ("A", "B") and length(reply.text) > 0')
    assert folder.rows("select distinct value from quiz.scores") == [(1.0,)]


@pytest.mark.parametrize(
    ("old", "new", "body", "code"),
    [
        ("stage }", "stage secret }", 'context stage\nask r by candidate { prompt "{{ stage }}" }\nscore q = length(r.text)', "E0501"),
        ("by judge { prompt \"{{ a }}", "by candidate { prompt \"{{ a }}", REPLY + "score q = pair(reply.text, item.answer)", "E0501"),
        ("", "", 'ask ref by helper { prompt "{{ item.answer }}" }\nask r by candidate { prompt "{{ ref.text }}" }\nscore q = length(r.text)', "E0501"),
        ("", "", 'let s = item.answer\nask r by candidate { prompt "{{ s }}" }\nscore q = length(r.text)', "E0501"),
        ("", "", 'ask r by judge { prompt "x" }\n' + REPLY + "score q = length(reply.text)", "E0208"),
        ("", "", 'ask r by helper { prompt "x" }\nscore q = length(r.text)', "E0301"),
        ("", "", REPLY + "score pair = length(reply.text)", "E0202"),
        ("", "", REPLY + "score q = ok(reply.text)\nscore q = ok(reply.text)", "E0202"),
        (", stage }", ", stage text }", 'context stage\nask r by candidate { prompt "{{ stage }}" }\nscore q = length(r.text)', "E0301"),
        ("axis stage", "axis total { a, b }\naxis stage", REPLY + "score q = length(reply.text)", "E0207"),
    ],
)  # fmt: skip
def test_what_would_mislead_is_refused(folder: Folder, old: str, new: str, body: str, code: str) -> None:
    assert old in HEAD
    assert folder.codes(body, HEAD.replace(old, new) if old else HEAD) == [code]


def test_what_a_reply_chose_can_be_looked_into(folder: Folder) -> None:
    body = """ask reply by candidate { prompt "x", returns set<choice(A, B)> }
    score has = A in reply
    score known = item.stage in (primary, high) and B not in reply"""
    assert folder.codes(body, HEAD.replace(", stage }", ", stage stage? }")) == []
    assert folder.codes(body.replace("A in", "C in")) == ["E0201"]


def test_only_the_items_of_an_axis_value_are_planned_and_run(folder: Folder, tripos: Command) -> None:
    body = "context stage\n" + REPLY + "score q = length(reply.text)"
    assert folder.run(body, "--model", "mock/careful", "--only", "stage=high")["calls"]["planned"] == 1
    assert folder.rows("select context['stage'] as stage from items") == [("high",)]
    planned = tripos("plan", "s.tripos", "--only", "stage=high,primary", "--only", "language=en")
    assert [line.split()[2:4] for line in planned.out.splitlines() if line.startswith("total")] == [["2", "2"]]
    for wrong, words in (
        ("stag=high", "did you mean `stage`?"),
        ("stage=hih", "did you mean `high`?"),
        ("stage", "no value"),
    ):
        done = tripos("run", "s.tripos", "--model", "mock/careful", "--only", wrong)
        assert (done.code, words in done.err) == (2, True)
