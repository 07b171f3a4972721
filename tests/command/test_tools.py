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
