"""Tools at the command line: shown before a run, kept, replayed, released and taken, and left out of training data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """\
benchmark trips "1.0.0" {
  languages en
  license   "CC0-1.0"
}
role candidate compared
tool book_flight "Book a flight." {
  to    text "The city"
  bags  0..5?
}
dataset trip from "trips.jsonl" { wish text, to text secret }
scenario booking {
  over trip
  ask reply by candidate {
    prompt "{{ trip.wish }}"
    tools  book_flight
  }
  score right = any(call.to == trip.to each call in reply.book_flight)
}
measure right = mean(right)
"""
TAKING = """\
benchmark others "1.0.0" {{ languages en }}
use release "trips@1" from "{folder}" {{ take scenarios booking }}
measure right = mean(booking.right)
"""


def test_tools_are_kept_replayed_released_and_no_training_data(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trips.jsonl").write_text('{"wish": "To Oslo, please.", "to": "Oslo"}\n')
    Path("trips.tripos").write_text(SPEC)
    shown = tripos("plan", "trips.tripos", "--prompts", "1")
    assert '"name": "book_flight"' in " ".join(shown.out.split())
    assert tripos("run", "trips.tripos", "--model", "mock/careful", "--json").code == 0
    refused = tripos("export", "distillation", "-o", "chats.jsonl", "--by", "right")
    assert refused.code != 0
    assert "replies to steps with tools: 1" in refused.err
    again = tripos("run", "trips.tripos", "--model", "mock/careful")
    assert "0 calls asked" in again.out + again.err or "1 reused" in again.out + again.err
    made = tripos("release", "trips.tripos", "--to", "out")
    assert made.code == 0, made.err
    (folder,) = (each for each in Path("out").iterdir() if each.is_dir())
    Path("others.tripos").write_text(TAKING.format(folder=folder.as_posix()))
    taken = tripos("check", "others.tripos")
    assert taken.code == 0, taken.err
    Path("changed.tripos").write_text(SPEC.replace("Book a flight.", "Book one flight."))
    assert "tools" in tripos("diff", "trips.tripos", "changed.tripos").out


SHOP = '''\
def cancel(state, order):
    """Cancel an order."""
    if order not in state:
        raise ValueError("no such order")
    state[order] = "cancelled"
    return "done"
'''
LOOP = """\
benchmark shop "1.0.0" {
  languages en
  license   "CC0-1.0"
}
role candidate compared
tool cancel from "shop.py:cancel" "Cancel an order." { order text }
dataset task from "tasks.jsonl" { wish text, shop json, goal json secret }
scenario service {
  over task
  ask reply by candidate {
    prompt "{{ task.wish }}"
    tools  cancel
    state  task.shop at most 3 turns
  }
  score solved = reply.state == task.goal
}
measure solved = mean(solved)
"""


def test_a_loop_is_shown_released_run_from_its_release_and_refused_where_nothing_is_trusted(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tasks.jsonl").write_text('{"wish": "Cancel A1.", "shop": {"A1": "open"}, "goal": {"A1": "cancelled"}}\n')
    Path("shop.py").write_text(SHOP)
    Path("shop.tripos").write_text(LOOP)
    assert tripos("run", "shop.tripos", "--model", "mock/careful", "--untrusted").code != 0
    assert tripos("check", "shop.tripos", "--worlds", "2").code == 0
    ran = tripos("run", "shop.tripos", "--model", "mock/careful")
    assert ran.code == 0, ran.err
    rows = tripos("sql", "select sample_id from shop.samples where step = 'reply(2)'", "--format", "csv")
    told = tripos("show", rows.out.split()[-1])
    assert "→ cancel(order: " in told.out
    assert "Error: no such order" in told.out
    assert '"calls"' not in told.out
    assert "→ cancel(order: " in tripos("why", rows.out.split()[-1]).out
    left_out = tripos("export", "distillation", "-o", "chats.jsonl", "--by", "solved")
    assert left_out.code != 0
    assert "replies to steps with tools" in left_out.err
    made = tripos("release", "shop.tripos", "--to", "out")
    assert made.code == 0, made.err
    (folder,) = (each for each in Path("out").iterdir() if each.is_dir())
    assert tripos("verify", str(folder)).code == 0
    again = tripos("run", str(folder), "--model", "mock/careful")
    assert again.code == 0, again.err
    assert "0 calls asked" in again.out + again.err or "reused" in again.out + again.err
    Path("shop.py").write_text(SHOP.replace('"done"', '"it is done"'))
    changed = tripos("diff", str(folder), "shop.tripos")
    assert "cancel" in changed.out
    (next(folder.rglob("shop.py"))).write_text(SHOP.replace("open", "x") + "\n")
    assert tripos("run", str(folder), "--model", "mock/careful").code != 0
