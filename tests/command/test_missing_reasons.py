"""The reason of a figure that `missing: fail` leaves without a value is about the scores that it reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command

SPEC = """benchmark demo "1.0.0" { languages en }
role candidate compared
axis kind { a, b }
scenario one {
  context kind
  ask reply by candidate { prompt "One {{ kind }}", returns 1..5 }
  score right = reply == 3
}
scenario two {
  context kind
  ask reply by candidate { prompt "Two {{ kind }}" }
  score right = contains(reply.text, "x")
}
measure first = mean(one.right, missing: fail)
measure second = mean(two.right, missing: fail)
"""
REPLIES = """{"scenario": "one", "reply": "no number"}
{"scenario": "two", "reply": "", "finish_reason": "content_filter"}
"""


def test_a_score_of_the_same_name_in_another_scenario_is_no_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("demo.tripos").write_text(SPEC, "utf-8")
    Path("replies.jsonl").write_text(REPLIES, "utf-8")
    tripos("run", "demo.tripos", "--model", "mock/replies:replies.jsonl")
    reasons = {each["name"]: each["rows"][0]["reason"] for each in tripos("report", "--json").data["measures"]}
    forbidden = "2 of 2 scores are missing, which `missing: fail` forbids"
    assert reasons == {"first": f"{forbidden}: parse_failure", "second": f"{forbidden}: refused"}
