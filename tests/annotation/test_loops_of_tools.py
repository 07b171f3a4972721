"""People and loops over a state: a store has no functions that make the calls, so people see what a judge was asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """\
benchmark shop "1.0.0" { languages en }
role candidate compared
role judge
tool keep from "shop.py:keep" "Keep a number." { n number }
dataset item from "items.jsonl" { question text, shop json }
scorer grader(response: text) by judge {
  prompt "Grade: {{ response }}"
  gives  1..10
}
scenario asked {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score clear = grader(response: reply.text)
}
scenario served {
  over item
  ask reply by candidate {
    prompt "{{ item.question }}"
    tools  keep
    state  item.shop at most 2 turns
  }
  ask thought by candidate { prompt "Think: {{ reply.text }}" }
  score polite = grader(response: thought.text)
}
measure clear = mean(clear)
measure polite = mean(polite)
"""
KEEP = 'def keep(state, n):\n    state["kept"] = n\n    return "kept"\n'


def test_a_person_is_handed_the_replies_of_a_loop(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "shop.py").write_text(KEEP, "utf-8")
    rows = [{"question": f"What is {number}?", "shop": {"kept": 0}} for number in range(2)]
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    run = ("run", "shop.tripos", "--model", "mock/careful:a", "--role", "judge=mock/fair", "--store", "results")
    assert tripos(*run).code == 0
    handed = tripos("annotate", "--name", "anna", "-o", "anna.xlsx", "--store", "results")
    assert handed.code == 0, handed.err
    assert "4 replies" in handed.out
    assert "2 scenarios, 4 grades" in handed.out
