"""Figures of some rows only: of a judge's verdict by `when` and by a slice, of a computed score by `where`. Rows that
are left out are not missing, and the judge is asked once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text, kind choice(math, open), gold text secret }
scorer mark(text: text) by judge { prompt "How good is this? {{ text }}", gives 1..5 }
scenario asked {
  over item as q
  ask reply by candidate { prompt "{{ q.question }}" }
  score right  = contains(reply.text, q.gold)
  score points = mark(reply.text)
  score math   = mark(reply.text) when q.kind == math
  score only   = mark(upper(reply.text)) when q.kind == math
  measure all      = mean(points)
  measure of_math  = mean(math)
  measure of_only  = mean(only)
  measure sliced   = all[q.kind: math]
  measure of_right = mean(right, where: q.kind == math)
}
"""
KINDS = ("math", "open", "math", "open", "open")


def test_rows_that_are_left_out_are_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"question": f"What is {n}?", "kind": kind, "gold": str(n)} for n, kind in enumerate(KINDS)]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    Path("spec.tripos").write_text(SPEC, "utf-8")
    planned = tripos("plan", "spec.tripos").out
    assert " ".join(planned.split("asked")[1].split("\n")[0].split()).startswith("1 5 5")
    done = tripos("run", "spec.tripos", "--model", "mock/careful", "--role", "judge=mock/fair")
    assert done.code == 0, done.err
    figures = {each["name"]: each["rows"][0] for each in json.loads(tripos("report", "--json").out)["measures"]}
    for name in ("of_math", "of_only", "sliced", "of_right"):
        row = figures[f"asked.{name}"]
        assert (row["n"], row["total"], row["items"], row["coverage"]) == (2, 2, 2, 1.0), name
    assert figures["asked.of_math"]["value"] == figures["asked.sliced"]["value"]
    assert figures["asked.all"]["n"] == 5
    tripos("sql", "select count(*) as n from demo.judgements", "-o", "n.json")
    assert json.loads(Path("n.json").read_text("utf-8")) == [{"n": 5 + 2}]
