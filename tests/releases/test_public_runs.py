"""A release of which items are withheld runs on the others, and says so wherever its figures stand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.answers import fetch
from tests.conftest import Command

SPEC = """
benchmark sums "1.0.0" { title "Sums", license "MIT", languages en }
role candidate compared
axis level { easy, hard }
dataset item from "items.jsonl" { level, question text, answer text secret, tags set<text> }
scenario sums {
  context level
  over item
  ask reply by candidate { prompt "{{ item.question }} ({{ level }})" }
  score long = words(reply.text) > 3
}
measure accuracy = mean(long)
subset private {
  take 1 per level
  seed 7
  withheld
}
subset shown {
  take 2 per level
  seed 8
}
"""
ITEMS = [
    {"level": level, "question": f"How much is {number} + {number}?", "answer": f"{2 * number}", "tags": ["b", "a"]}
    for number, level in enumerate(["easy", "hard"] * 5)
]
TOLD = "on 8 of 10 items, 2 withheld by the release"
RUN = ("--model", "mock/careful")


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command, once: Command) -> Path:
    """A release that somebody else has, without the data that it was made from, which lie in `owner`."""
    (tmp_path / "owner").mkdir()
    monkeypatch.chdir(tmp_path / "owner")
    Path("sums.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("\n".join(map(json.dumps, ITEMS)) + "\n", "utf-8")
    assert once("release", "sums.tripos").code == 0
    (tmp_path / "public").mkdir()
    monkeypatch.chdir(tmp_path / "public")
    return Path(shutil.copytree(tmp_path / "owner/releases/sums-1.0.0", "sums-1.0.0"))


def test_the_public_runs_the_items_that_are_public_and_is_told_of_the_others(release: Path, tripos: Command) -> None:
    done = tripos("run", str(release), *RUN)
    assert (done.code, TOLD in done.err) == (0, True), done.err
    report = tripos("report")
    assert f"items      {TOLD}" in report.out
    told = tripos("report", "--json").data
    assert (told["run"]["items"], told["run"]["withheld"]) == (8, 2)
    assert told["measures"][0]["rows"][0]["items"] == 8


def test_plan_list_and_leaderboard_say_so_too(release: Path, tripos: Command, once: Command) -> None:
    assert TOLD in tripos("plan", str(release)).out
    dry = tripos("run", str(release), *RUN, "--dry-run", "--json").data
    assert (dry["items"], dry["items_withheld"]) == ({"sums": 8}, {"sums": 2})
    assert once("run", str(release), *RUN).code == 0
    assert "2 items withheld" in " ".join(tripos("list").out.split())
    assert [(each["items"], each["withheld"]) for each in tripos("list", "--json").data] == [(8, 2)]
    assert f"! mock/careful: {TOLD}" in tripos("leaderboard").out
    assert list(tripos("leaderboard", "--json").data["boards"][0]["partial"].values()) == [TOLD]


def test_the_public_items_are_those_of_the_whole_under_their_own_names(release: Path, once: Command) -> None:
    assert once("run", str(release), *RUN).code == 0
    assert once("run", str(release), *RUN, "--data", "../owner", "--store", "whole").code == 0
    listed = "select item_id, fields from main.items order by all"
    scored = "select item_id, score_id, value from main.scores order by all"
    assert len(fetch(listed)) == 8 and len(fetch(listed, "whole")) == 10
    assert set(fetch(listed)) < set(fetch(listed, "whole"))
    assert set(fetch(scored)) < set(fetch(scored, "whole"))


def test_subsets_hold_what_they_hold_with_all_items_at_hand(release: Path, once: Command) -> None:
    assert once("run", str(release), *RUN).code == 0
    assert once("run", str(release), *RUN, "--data", "../owner", "--store", "whole").code == 0
    marked = "select item_id, subsets from main.run_items order by all"
    whole = dict(fetch(marked, "whole"))
    assert all(whole[item] == subsets for item, subsets in fetch(marked))


def test_whoever_has_the_items_afterwards_runs_the_rest(release: Path, tripos: Command, once: Command) -> None:
    assert once("run", str(release), *RUN).code == 0
    done = tripos("run", str(release), *RUN, "--data", "../owner")
    assert "2 calls asked" in done.err and "withheld" not in done.err
    told = tripos("report", "--json").data["run"]
    assert (told["items"], told["withheld"]) == (10, 0)


def test_no_text_of_a_withheld_item_is_among_the_public_rows(release: Path) -> None:
    text = (release / "public/item.jsonl").read_text("utf-8")
    assert sum(each["question"] in text for each in ITEMS) == 8


def test_rows_that_were_changed_are_seen(release: Path, tripos: Command) -> None:
    path = release / "public/item.jsonl"
    path.write_text(path.read_text("utf-8").replace("How much", "How many"), "utf-8")
    done = tripos("run", str(release), *RUN)
    assert (done.code, "`public/item.jsonl` was changed" in done.err) == (1, True)


def test_what_looks_into_all_rows_is_not_run_without_those_that_are_withheld(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    (tmp_path / "owner").mkdir()
    monkeypatch.chdir(tmp_path / "owner")
    looking = SPEC.replace("score long = words(reply.text) > 3", "score long = words(reply.text) > length(item)")
    looking = looking.replace("dataset item", "dataset items").replace("over item", "over items as item")
    Path("sums.tripos").write_text(looking.replace("length(item)", "length(items)"), "utf-8")
    Path("items.jsonl").write_text("\n".join(map(json.dumps, ITEMS)) + "\n", "utf-8")
    released = tripos("release", "sums.tripos")
    assert released.code == 0, released.err
    shutil.copytree("releases/sums-1.0.0", tmp_path / "public/sums-1.0.0")
    monkeypatch.chdir(tmp_path / "public")
    done = tripos("run", "sums-1.0.0", *RUN)
    assert (done.code, "R0264" in done.err) == (2, True)
    assert tripos("run", "sums-1.0.0", *RUN, "--data", str(tmp_path / "owner")).code == 0
