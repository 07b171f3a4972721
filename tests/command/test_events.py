"""Events for machines: JSON Lines in a shape that stays."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos.cli.progress import (
    EventLines,
    Events,
    Pace,
    ProgressMonitor,
    ProgressSnapshot,
    RunSummary,
    progress_table,
    summary_data,
    views_of,
)
from tripos_compiler.errors import TriposError
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.scheduling.budget import Budget
from tripos_runtime.scheduling.endpoint import Snapshot

DOCS = Path(__file__).parents[2] / "docs" / "reference/machine-output.md"
ENDPOINT = Snapshot("http://x/v1 K", ("x/y",), 2, 16, 3, 1, "ready")


def some(stream: io.StringIO, secrets: tuple[str, ...] = ()) -> Events:
    return Events(stream, now=lambda: datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC), secrets=secrets)


def read(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def a_tally() -> RunProgress:
    tally = RunProgress()
    tally.planned["candidate", "sums"] = 4
    tally.asked["candidate", "sums"] = 1
    return tally


def a_run(stream: io.StringIO) -> list[dict[str, Any]]:
    """Return the events of a small run, one of each kind."""
    events, tally = some(stream), a_tally()
    budget = Budget(usd=5.0)
    roles = {"candidate": ("x/y",), "judge": ("mock/careful",)}
    events.started(
        run_id="r1", benchmark="quiz", benchmark_version="1.0.0", store="results", roles=roles, budget=budget
    )
    events.progress(ProgressSnapshot(tally, Pace(), 1.0, (ENDPOINT,), budget))
    events.note("`x/y` is slow")
    events.finished(summary_data(RunSummary("r1", "finished", tally, 2.0, budget=budget)))
    return read(stream)


def test_every_event_says_what_it_is_and_when() -> None:
    found = a_run(io.StringIO())
    assert [event["event"] for event in found] == ["started", "progress", "note", "finished"]
    assert {event["time"] for event in found} == {"2026-01-02T03:04:05.678Z"}


SHAPE = {
    "started": "event time shape run_id benchmark benchmark_version store roles budget",
    "progress": "event time elapsed_s left_s done planned asked reused skipped failed left in_flight waiting calls_per_s "
    "tokens_in tokens_out cost_usd cost_known_usd budget errors endpoints lanes",
    "note": "event time text",
    "finished": "event time run_id status code calls samples judgements scores comparisons made unasked errors reused_from repaired functions tokens_in tokens_out "
    "cost_usd cost_known_usd unpriced budget elapsed_s calls_per_s",
}


@pytest.mark.parametrize("kind", SHAPE)
def test_the_shape_stays_and_every_field_is_in_the_page(kind: str) -> None:
    [event] = [event for event in a_run(io.StringIO()) if event["event"] == kind]
    assert list(event) == SHAPE[kind].split()
    row = next(line for line in DOCS.read_text("utf-8").splitlines() if line.startswith(f"| `{kind}` |"))
    assert not [name for name in event if name not in ("event", "time") and f"`{name}`" not in row]


def test_progress_tells_of_each_role_and_scenario_and_endpoint() -> None:
    table = progress_table(ProgressSnapshot(a_tally(), Pace(), 1.0, (ENDPOINT,)))
    counts = {"done": 1, "planned": 4, "asked": 1, "reused": 0, "skipped": 0, "failed": 0, "left": 3}
    assert table["lanes"] == [{"role": "candidate", "scenario": "sums", **counts}]
    state = {"state": "ready", "in_flight": 2, "limit": 16, "waiting": 3, "retries": 1, "wait_s": 0.0}
    assert table["endpoints"] == [{"models": ["x/y"], **state}]


def test_keys_are_taken_out_of_events() -> None:
    stream = io.StringIO()
    some(stream, ("hush-hush",)).note("refused hush-hush and sk-proj-0123456789")
    assert read(stream)[0]["text"] == "refused (hidden) and (hidden)"


def test_an_event_comes_every_second_while_something_changes_and_every_30_seconds_else() -> None:
    stream, tally = io.StringIO(), a_tally()
    lines = EventLines(some(stream))
    for quarter in range(4 * 100):
        if quarter < 40:
            tally.asked["candidate", "sums"] += 1
        lines.look(ProgressSnapshot(tally, Pace(), quarter / 4))
    times = [event["elapsed_s"] for event in read(stream)]
    assert times[:10] == [float(second) for second in range(10)]
    assert times[11:] == [40.0, 70.0] or times[10:] == [times[10], times[10] + 30, times[10] + 60]


def test_the_last_progress_is_that_of_the_end() -> None:
    stream, tally = io.StringIO(), a_tally()

    monitor = ProgressMonitor(tally, views_of(some(stream), quiet=True))
    monitor.look(5.0)
    tally.asked["candidate", "sums"] = 4
    monitor.look(5.0, ["almost done"])
    monitor.close()
    found = read(stream)
    assert found[-1]["done"] == 4
    assert [event["text"] for event in found if event["event"] == "note"] == ["almost done"]


def test_a_file_is_written_anew_and_each_line_can_be_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text("old\n")
    with Events.open(str(path)) as events:
        events.note("new")
        assert [json.loads(line)["text"] for line in path.read_text().splitlines()] == ["new"]


def test_a_hyphen_is_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with Events.open("-") as events:
        events.note("here")
    assert events.on_stdout
    assert json.loads(capsys.readouterr().out)["text"] == "here"


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(TriposError, match="cannot write") as caught:
        Events.open(str(tmp_path / "no" / "such.jsonl"))
    assert caught.value.code == "R0202"


def test_a_reader_that_went_away_does_not_end_the_run() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    events = Events(Gone())
    events.note("one")
    events.note("two")


RUN = ("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a")


def test_a_run_writes_its_events_and_its_summary_is_the_last(quiz: Path, tripos: Command) -> None:
    done = tripos(*RUN, "--events", "events.jsonl", "--json")
    assert done.code == 0, done.err
    events = [json.loads(line) for line in (quiz / "events.jsonl").read_text().splitlines()]
    assert (events[0]["event"], events[-1]["event"]) == ("started", "finished")
    assert done.data["run_id"] == events[0]["run_id"]
    assert {name: events[-1][name] for name in done.data} == done.data


def test_with_events_on_standard_output_nothing_else_stands_there(quiz: Path, tripos: Command) -> None:
    done = tripos(*RUN, "--events", "-", "--json")
    assert done.code == 0, done.err
    assert [json.loads(line)["event"] for line in done.out.splitlines()][-1] == "finished"
