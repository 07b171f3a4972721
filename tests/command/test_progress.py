"""The progress of a run, and the summary at its end."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence

import pytest
from rich.console import Console

from tripos.cli.progress import (
    Pace,
    ProgressLines,
    ProgressMonitor,
    ProgressSnapshot,
    RunSummary,
    Screen,
    format_counts,
    format_shares,
    live_view,
    shown_lanes,
    status_line,
    summary_data,
    summary_lines,
    views_of,
)
from tripos.runs.job import POLL_S, Job, RunObserver, observed
from tripos_runtime.asking.progress import RunProgress
from tripos_runtime.scheduling.budget import Budget
from tripos_runtime.scheduling.endpoint import Snapshot


def a_tally(scenarios: int = 2) -> RunProgress:
    """Half of each scenario's 200 calls are done, one of a hundred failed."""
    tally = RunProgress(tokens_in=1_234_567, tokens_out=234_567, cost_usd=1.25)
    for number in range(scenarios):
        for role in ("candidate", "judge"):
            lane = (role, f"scenario_with_a_long_name_{number}")
            tally.planned[lane] = 200
            tally.asked[lane] = 79
            tally.reused[lane] = 20
            tally.failed[lane] = 1
    tally.errors.update(R0104=3, R0111=1)
    return tally


ENDPOINTS = (
    Snapshot("http://one/v1 K", ("one/a",), 16, 16, 40, 2, "ready"),
    Snapshot("http://two/v1 K", ("two/b", "two/c"), 1, 8, 0, 9, "silent"),
)


def drawn(moment: ProgressSnapshot, height: int = 24) -> list[str]:
    console = Console(file=io.StringIO(), width=80, height=height, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(live_view(moment, height))
    return captured.get().splitlines()


@pytest.mark.parametrize("scenarios", [1, 2, 30])
@pytest.mark.parametrize("height", [24, 12, 50])
def test_the_picture_fits_the_terminal(scenarios: int, height: int) -> None:
    moment = ProgressSnapshot(
        a_tally(scenarios), Pace(), 10.0, ENDPOINTS, Budget(usd=5.0, tokens=10_000_000, calls=100)
    )
    lines = drawn(moment, height)
    assert len(lines) < height
    assert max(map(len, lines)) <= 80


def test_the_picture_has_a_row_for_each_role_and_scenario_or_says_how_many_have_none() -> None:
    text = "\n".join(drawn(ProgressSnapshot(a_tally(2), Pace(), 10.0)))
    assert text.count("candidate") == text.count("judge") == 2
    assert "more" not in text
    text = "\n".join(drawn(ProgressSnapshot(a_tally(30), Pace(), 10.0)))
    rows = text.count("candidate") + text.count("judge")
    assert f"and {60 - rows} more" in text


def test_the_picture_tells_rate_cost_budget_failures_and_calls_under_way() -> None:
    tally, pace = a_tally(2), Pace()
    lane = next(iter(tally.planned))
    pace.mark(0.0, tally)
    tally.asked[lane] += 50
    pace.mark(10.0, tally)
    text = "\n".join(drawn(ProgressSnapshot(tally, pace, 10.0, ENDPOINTS, Budget(usd=5.0))))
    for words in (
        "450 of 800 calls",
        "56%",
        "5.0/s",
        "1m 10s left",
        "17 under way",
        "1.25 USD",
        "of 5.00 USD",
        "failed: 3 R0104 rate limited, 1 R0111 server error",
        "two/b, two/c: silent",
    ):
        assert words in text


def test_an_endpoint_that_is_well_is_shown_to_those_who_ask() -> None:
    tally = a_tally()
    assert "one/a" not in "\n".join(drawn(ProgressSnapshot(tally, Pace(), 1.0, ENDPOINTS)))
    text = "\n".join(drawn(ProgressSnapshot(tally, Pace(), 1.0, ENDPOINTS, verbose=True)))
    assert "one/a: ready; 16 of at most 16 calls under way, 40 waiting, 2 made" in text


def test_the_busiest_have_a_row_first() -> None:
    tally, pace = a_tally(30), Pace()
    busy = ("judge", "scenario_with_a_long_name_29")
    pace.mark(0.0, tally)
    tally.asked[busy] += 5
    pace.mark(5.0, tally)
    lanes, more = shown_lanes(tally, pace, 5)
    assert (busy in lanes, len(lanes), more) == (True, 4, 56)


def test_the_rate_is_that_of_the_last_ten_seconds() -> None:
    tally, pace = RunProgress(), Pace()
    for second in range(1021):
        tally.asked["candidate", "sums"] += 1 if second <= 1000 else 5
        pace.mark(float(second), tally)
    assert pace.rate() == 5.0
    assert len(pace.marks) <= 62, "marks are kept for a minute only"
    still = Pace()
    still.mark(0.0, a_tally())
    still.mark(30.0, a_tally())
    assert (still.rate(), still.left_s(a_tally())) == (0.0, None)


class Observer(RunObserver):
    """An observer that keeps what it saw."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def started(self, job: Job) -> None:
        self.seen.append("started")

    def progress(self, job: Job, elapsed_s: float) -> None:
        self.seen.append((job.tally.done, job.new_notes()))

    def finished(self) -> None:
        self.seen.append("finished")


def test_an_observer_looks_until_the_calls_have_ended_and_sees_each_note_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos.runs.job.POLL_S", 0.0)
    job, observer = Job.__new__(Job), Observer()
    job.tally, job._seen_notes = RunProgress(), 0

    async def go() -> None:
        async with observed(job, observer):
            for call in range(3):
                job.tally.asked["candidate", "sums"] += 1
                job.tally.notes.append(f"note {call}")
                await asyncio.sleep(0.01)
            job.tally.notes.append("the last")

    asyncio.run(go())
    first, *looks, last = observer.seen
    assert (first, last) == ("started", "finished")
    notes = [note for look in looks if isinstance(look, tuple) for note in look[1]]
    assert notes == ["note 0", "note 1", "note 2", "the last"]
    assert looks[-1] == (3, ["the last"])


def test_an_observer_ends_after_a_failure_too() -> None:
    job, observer = Job.__new__(Job), Observer()
    job.tally, job._seen_notes = RunProgress(), 0

    async def go() -> None:
        async with observed(job, observer):
            raise ValueError

    with pytest.raises(ValueError):
        asyncio.run(go())
    assert (observer.seen[0], observer.seen[-1]) == ("started", "finished")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(
    seconds: float,
    stream: io.StringIO,
    environ: dict[str, str],
    notes: Sequence[str] = (),
    quiet: bool = False,
) -> str:
    """Return what a monitor has written after so many seconds, with notes at the first look."""
    views = views_of(quiet=quiet, stream=stream, environ=environ)
    monitor = ProgressMonitor(a_tally(), views, secrets=("hush-hush",))
    for look in range(int(seconds / POLL_S) + 1):
        monitor.look(look * POLL_S, () if look else notes)
    monitor.close()
    return stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "environ", "lines"),
    [(4, {}, 0), (6, {}, 1), (29, {}, 1), (31, {}, 2), (121, {}, 5), (121, {"CI": "true"}, 3), (61, {"CI": "0"}, 3)],
)
def test_off_a_terminal_a_line_comes_after_5_seconds_and_then_every_30_or_60_in_ci(
    seconds: float, environ: dict[str, str], lines: int
) -> None:
    text = shown(seconds, io.StringIO(), environ)
    assert len(text.splitlines()) == lines
    assert all(line.startswith("400 of 800 calls (50%): 316 asked") for line in text.splitlines())


def test_a_terminal_gets_a_picture_and_ci_gets_lines() -> None:
    text = shown(6, Terminal(), {"TERM": "xterm"})
    assert "\x1b" in text and "400 of 800 calls" in text
    assert "\x1b" not in shown(6, Terminal(), {"CI": "1", "TERM": "xterm"})
    assert shown(100, io.StringIO(), {}, quiet=True) == ""


def test_notes_are_told_at_once_and_once_and_without_keys() -> None:
    text = shown(4, io.StringIO(), {}, ["`x/y` does not answer, key hush-hush"])
    assert text == "`x/y` does not answer, key (hidden)\n"


class Gone(io.StringIO):
    """A standard error that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_run_goes_on_where_nobody_can_see_it_any_more() -> None:
    assert shown(100, Gone(), {}, ["a note"]) == ""


def test_a_note_stays_above_the_picture() -> None:
    stream = Terminal()
    screen = Screen(stream)
    screen.note("[a note] with brackets")
    screen.close()
    assert "[a note] with brackets" in stream.getvalue()


def test_lines_do_not_pile_up_where_someone_looks_late() -> None:
    stream = io.StringIO()
    lines = ProgressLines(stream)
    for elapsed in (200.0, 200.1, 209.9):
        lines.look(ProgressSnapshot(a_tally(), Pace(), elapsed))
    assert len(stream.getvalue().splitlines()) == 1


def test_the_summary_of_a_run_without_trouble_is_one_line() -> None:
    tally = RunProgress(cost_usd=0.5)
    tally.asked["candidate", "sums"] = 3
    tally.samples["ok"] = tally.scores["scored"] = 3
    one = RunProgress(tokens_in=1, tokens_out=1, cost_usd=0.5)
    one.asked["candidate", "sums"] = one.reused["candidate", "sums"] = 1
    for made, told in (
        (tally, "finished: 3 calls asked; 0 tokens in, 0 out; cost 0.50 USD"),
        (one, "finished: 1 call asked, 1 reused; 1 token in, 1 out; cost 0.50 USD"),
    ):
        assert summary_lines(RunSummary("r", "finished", made, 3.0, command="tripos run x")) == [told]
    nothing = RunProgress()
    nothing.reused["candidate", "sums"] = 3
    assert "nothing was left to ask" in summary_lines(RunSummary("r", "finished", nothing, 0.1))[-1]
    assert format_counts(RunProgress()) == "0 asked"


def test_a_share_is_never_rounded_to_all_or_nothing() -> None:
    tally = RunProgress()
    tally.scores.update(scored=1_000_000, parse_failure=1)
    assert format_shares(tally.scores) == "1,000,000 scored (99.9%), 1 parse_failure (0.1%)"


def test_the_summary_fits_80_columns_and_tells_shares_unknown_prices_and_what_to_type() -> None:
    tally = a_tally(30)
    tally.samples.update(ok=998, parse_failure=1, refused=1)
    tally.scores.update(scored=10_000, parse_failure=1)
    tally.cost_unknown, tally.unpriced = 7, {"hosted_vllm/a-model", "openai/a-fine-tuned-one"}
    ended = RunSummary("r", "finished", tally, 3700.0, budget=Budget(usd=5.0), command="tripos run specs/x --limit 4")
    lines = summary_lines(ended)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    for words in (
        "1h 01m",
        "998 ok (99.8%), 1 parse_failure (0.1%), 1 refused (0.1%)",
        "10,000 scored (99.9%), 1 parse_failure (0.1%)",
        "7 calls of hosted_vllm/a-model",
        "cost 1.25 USD and more",
        "of 5.00 USD",
        "tripos explain R0104",
        "tries the failed calls again: tripos run specs/x --limit 4",
    ):
        assert words in text, text


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        ("stopped", "R0402", "larger --budget"),
        ("interrupted", None, "goes on where this ended"),
        ("stopped", "R0102", "goes on where this ended"),
    ],
)
def test_the_summary_says_how_to_go_on(status: str, code: str | None, words: str) -> None:
    ended = RunSummary("r", status, a_tally(), 1.0, code=code, command="tripos run x")
    assert words in summary_lines(ended)[-1] + summary_lines(ended)[-2]


def test_an_unknown_cost_is_null_for_machines_and_what_is_known_stands_beside_it() -> None:
    tally = a_tally()
    assert summary_data(RunSummary("r", "finished", tally, 2.0))["cost_usd"] == 1.25
    tally.cost_unknown = 1
    table = summary_data(RunSummary("r", "finished", tally, 2.0, budget=Budget(calls=9)))
    assert (table["cost_usd"], table["cost_known_usd"]) == (None, 1.25)
    assert table["budget"] == {"calls": {"most": 9, "spent": 0}}
    assert table["calls_per_s"] == 160.0


def test_no_run_is_done_more_than_whole_where_a_condition_rules_out_more_than_was_planned() -> None:
    tally = RunProgress()
    tally.planned["judge", "sums"] = tally.planned["candidate", "sums"] = 10
    tally.asked["candidate", "sums"] = 5
    tally.skipped["judge", "sums"] = 20
    assert status_line(ProgressSnapshot(tally, Pace(), 10.0)).startswith("25 of 30 calls (83%)")
