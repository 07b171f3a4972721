"""The plan of a run by batches says what the run then submits, at which price, and when the last batch has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.batches.batch_server import BatchServer, batch_serving
from tests.batches.runs import Place, make_place, run_here
from tripos_runtime.models.batches import OpenaiBatches

TALK = """benchmark talk "1.0.0" { languages en }
role tutor compared
role learner
role judge
dataset item from "items.jsonl" { question text, answer text secret }
scorer fair(response: text) by judge {
  prompt "{{ response }}"
  gives 1..10
}
scenario talk "Talk" {
  over item
  converse chat {
    tutor   { system "Teach {{ item.question }}" }
    learner { system "Learn" }
    opens learner
    until tutor says "goodbye"
    limit 5 turns
  }
  ask exam by learner {
    continue chat
    prompt "What did you learn?"
  }
  score good = fair(response: exam.text)
}
measure good = mean(good)
"""


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with batch_serving(0.05) as ready:
        yield ready


@pytest.fixture
def place(tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    return make_place(tmp_path, server)


def planned(place: Place, *options: str) -> dict[str, Any]:
    """Return the batches of the forecast."""
    ran = place.run("batch", *options, "--batch", "--dry-run")
    assert ran.code == 0, ran.told
    found: dict[str, Any] = ran.summary["batches"]
    return found


def test_a_plan_names_the_batches_that_the_run_submits(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenaiBatches, "most_lines", 5)
    some = ("--scenario", "sums")
    found = planned(place, *some)
    assert (found["levels"], found["latest_hours"], found["live_calls"]) == (2, 48, 0)
    told = {(each["level"], each["model"]): each for each in found["batches"]}
    assert list(told) == [(1, "openai/a"), (1, "openai/b"), (2, "openai/judge")]
    assert [each["batches"] for each in told.values()] == [3, 3, 5]
    for each in told.values():
        assert each["live_usd"] == pytest.approx(2 * each["cost_usd"]["expected"], abs=2e-6)
    ran = place.run("batch", *some, "--batch")
    assert ran.code == 0, ran.told
    sizes: dict[str, list[int]] = {}
    for batch in place.server.batches.values():
        sizes.setdefault(batch.lines[0][1]["model"], []).append(len(batch.lines))
    assert sizes["a"] == sizes["b"] == [5, 5, 2] and len(sizes["judge"]) >= 5
    asked = sum(each["at_most"] for each in told.values()) + ran.summary["repaired"]
    assert place.server.submitted.total() == asked
    assert planned(place, *some)["batches"] == []  # everything is kept


def test_turns_of_a_conversation_and_its_judgements_are_levels(place: Place) -> None:
    (place.work.folder / "kills.tripos").write_text(TALK, "utf-8")
    roles = ("--role", "learner=openai/b", "--role", "judge=openai/judge", "--model", "openai/a")
    ran = run_here(
        place.folder, ["run", str(place.work.folder / "kills.tripos"), "--dry-run", "--json", "--batch", *roles]
    )
    assert ran.code == 0, ran.told
    found = ran.summary["batches"]
    levels = {(each["model"], each["level"]): each["at_most"] for each in found["batches"]}
    learner, tutor = [("openai/b", turn) for turn in (1, 3, 5, 6)], [("openai/a", turn) for turn in (2, 4)]
    assert levels == dict.fromkeys([*learner, *tutor, ("openai/judge", 7)], 6)
    assert found["levels"] == 7 and found["latest_hours"] == 168
    live = run_here(
        place.folder,
        [
            "run",
            str(place.work.folder / "kills.tripos"),
            "--dry-run",
            "--json",
            "--batch",
            *roles[2:],
            "--role",
            "learner=mock/careful",
        ],
    )
    assert live.summary["batches"]["levels"] == 3 and live.summary["batches"]["live_calls"] == 24, live.told


def test_the_plan_of_batches_is_text_too(place: Place) -> None:
    models = [
        f"--model={','.join(('openai/a', 'openai/b'))}",
        "--role=judge=openai/judge",
        "--role=helper=openai/helper",
    ]
    ran = run_here(place.folder, ["plan", str(place.work.folder / "kills.tripos"), "--batch", *models])
    assert ran.code == 0 and "3 levels, one after another: 72 hours at the" in ran.told, ran.told
    assert Counter(line.split()[0] for line in ran.told.splitlines() if line.startswith("openai/"))["openai/judge"] == 2
