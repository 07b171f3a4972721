"""Endpoints that stop answering. Time is virtual."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.runtime.virtual_time import REPLY, REQUEST, Scripted, broken, busy, callers_of, down, now, run
from tripos_runtime.models.base import Message, ModelError, Reply, Request
from tripos_runtime.scheduling.budget import Stopped
from tripos_runtime.scheduling.calling import Called, Caller, snapshot
from tripos_runtime.scheduling.endpoint import FAILURES
from tripos_runtime.scheduling.limits import Limits

Ended = list[Called | BaseException]


class Unsteady(Scripted):
    """Answers but in the given spans of seconds."""

    away: tuple[tuple[float, float], ...] = ()
    trouble: ModelError = down()

    async def ask(self, request: Request) -> Reply:
        reply = await super().ask(request)
        if any(start <= now() < end for start, end in self.away):
            raise self.trouble
        return reply


def unsteady(*away: tuple[float, float], name: str = "test/model", endpoint: str = "test") -> Unsteady:
    model = Unsteady([REPLY], name=name, endpoint=endpoint, latency_s=0.1)
    model.away = away
    return model


async def steadily(caller: Caller, count: int, pause_s: float = 1.0) -> Ended:
    """Return the outcomes of so many calls by four workers, each with a pause after."""
    numbers, ended = iter(range(count)), []

    async def work() -> None:
        for _ in numbers:
            try:
                ended.append(await caller.call(REQUEST))
            except (ModelError, Stopped) as error:
                ended.append(error)
            await asyncio.sleep(pause_s)

    await asyncio.gather(*(work() for _ in range(4)))
    return ended


def kinds(ended: Ended) -> set[str]:
    return {getattr(each, "code", "reply") for each in ended}


def test_no_call_is_lost_while_an_endpoint_is_away_for_minutes() -> None:
    model = unsteady((10, 400))
    ended = run(steadily_alone(model, Limits(max_retries=5), 100))
    assert (len(ended), kinds(ended)) == (100, {"reply"})


async def steadily_alone(model: Scripted, limits: Limits, count: int, notes: list[str] | None = None) -> Ended:
    return await steadily(callers_of(model, limits=limits, notes=notes)[model.name], count)


def test_a_silent_endpoint_gets_one_call_at_a_time_after_growing_pauses() -> None:
    model = unsteady((10, 400))
    run(steadily_alone(model, Limits(), 60))
    probes = [at for at in model.asked_at if 40 < at < 400]
    pauses = [after - before for before, after in pairwise(probes)]
    assert pauses == pytest.approx([min(2 * pause, 60.1) for pause in [pauses[0] / 2, *pauses[:-1]]], abs=0.3)
    assert max(pauses) == pytest.approx(60.1)
    everything = [at for at in model.asked_at if 10 <= at < 400]
    assert len(everything) < 60


def test_an_endpoint_that_is_back_is_not_overrun_by_all_that_waited() -> None:
    model = unsteady((10, 60))

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_connections=64))[model.name]
        await caller.call(REQUEST)
        await asyncio.sleep(20)
        await asyncio.gather(*(caller.call(REQUEST) for _ in range(200)))

    run(main())
    back = next(at for at in model.asked_at if at >= 60)
    rounds = [sum(back + 0.1 * n <= at + 1e-6 < back + 0.1 * (n + 1) for at in model.asked_at) for n in range(4)]
    assert rounds[0] == 1 and rounds[1] <= 3 and rounds[2] <= 9


def test_it_is_said_once_when_an_endpoint_falls_silent_and_once_when_it_is_back() -> None:
    notes: list[str] = []
    run(steadily_alone(unsteady((10, 100), (200, 300)), Limits(), 500, notes))
    assert [note.split(" since ")[0].split(", after ")[0] for note in notes] == [
        "`test/model` has not responded",
        "`test/model` answers again",
    ] * 2
    assert "09:30:00" in notes[0] and "unreachable" in notes[0]


def test_failures_all_at_once_do_not_make_an_endpoint_silent() -> None:
    notes: list[str] = []
    model = Scripted([REPLY] * 32 + [down()] * 32 + [REPLY], latency_s=0.1)

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_connections=32), notes=notes)[model.name]
        for _ in range(3):
            await asyncio.gather(*(caller.call(REQUEST) for _ in range(32)))

    run(main())
    assert notes == []


def test_refusals_and_rate_limits_show_that_an_endpoint_is_there() -> None:
    notes: list[str] = []
    errors = [broken(), broken(), busy(), ModelError("R0108", "refused", "", status="refused")]
    model = Scripted([REPLY, *errors * 50], latency_s=1)

    async def main() -> None:
        caller = callers_of(model, limits=Limits(max_retries=0, max_connections=4), notes=notes)[model.name]
        await steadily(caller, 150)

    run(main())
    assert notes == []


@pytest.mark.parametrize("code", ["R0101", "R0109", "R0111"])
def test_whatever_kind_of_silence_it_is(code: str) -> None:
    notes: list[str] = []
    model = unsteady((10, 100))
    model.trouble = ModelError(code, "gone", "wait", retryable=True)
    ended = run(steadily_alone(model, Limits(), 60, notes))
    assert len(notes) == 2 and kinds(ended) == {"reply"}


def test_an_endpoint_that_is_silent_for_too_long_stops_a_run_that_has_no_other() -> None:
    model = unsteady((10, 100_000))
    ended = run(steadily_alone(model, Limits(patience_s=300), 100))
    assert all(isinstance(each, Stopped) for each in ended if not isinstance(each, Called))
    assert kinds(ended) == {"reply", "R0112"}
    assert "5m 00s" in str(ended[-1])


def test_after_too_long_its_calls_fail_and_those_to_other_endpoints_go_on() -> None:
    gone, well = unsteady((10, 100_000)), unsteady(name="test/well", endpoint="elsewhere")
    notes: list[str] = []

    async def main() -> tuple[Ended, Ended]:
        callers = callers_of(gone, well, limits=Limits(patience_s=300), notes=notes)
        calls = (steadily(callers["test/model"], 400), steadily(callers["test/well"], 2000))
        return await asyncio.gather(*calls)

    lost, had = run(main())
    assert kinds(lost) == {"reply", "R0112"} and kinds(had) == {"reply"}
    failed = [each for each in lost if not isinstance(each, Called)]
    assert all(isinstance(each, ModelError) and each.status == "provider_error" for each in failed)
    assert len(notes) == 2 and "R0112" in notes[1]


def test_when_all_endpoints_are_gone_the_run_stops() -> None:
    one, two = unsteady((10, 100_000)), unsteady((10, 100_000), name="test/two", endpoint="elsewhere")

    async def main() -> list[Ended]:
        callers = callers_of(one, two, limits=Limits(patience_s=300))
        return await asyncio.gather(*(steadily(caller, 1000) for caller in callers.values()))

    for ended in run(main()):
        assert isinstance(ended[-1], Stopped)


def test_an_endpoint_that_was_never_used_is_no_other() -> None:
    model, idle = unsteady((10, 100_000)), unsteady(name="test/idle", endpoint="elsewhere")

    async def main() -> Ended:
        return await steadily(callers_of(model, idle, limits=Limits(patience_s=300))[model.name], 100)

    assert isinstance(run(main())[-1], Stopped)


def test_an_endpoint_that_was_given_up_is_found_again_when_it_comes_back() -> None:
    model, well = unsteady((10, 2000)), unsteady(name="test/well", endpoint="elsewhere")

    async def main() -> tuple[Ended, str]:
        callers = callers_of(model, well, limits=Limits(patience_s=300))
        await callers["test/well"].call(REQUEST)
        ended = await steadily(callers[model.name], 12_000)
        return ended, snapshot(callers)[0].state

    ended, state = run(main())
    assert isinstance(ended[-1], Called) and state == "ready"


def test_a_snapshot_says_that_an_endpoint_is_silent() -> None:
    model, well = unsteady((10, 100_000)), unsteady(name="test/well", endpoint="elsewhere")

    async def main() -> list[str]:
        callers = callers_of(model, well, limits=Limits(patience_s=300))
        await callers["test/well"].call(REQUEST)
        work = asyncio.create_task(steadily(callers[model.name], 100))
        states = []
        for pause_s in (5, 60, 600):
            await asyncio.sleep(pause_s)
            states.append(snapshot(callers)[0].state)
        await work
        return states

    assert run(main()) == ["ready", "silent", "given up"]


def test_calls_that_are_out_of_retries_wait_where_nothing_else_is_answered_either() -> None:
    model = unsteady((10, 100))

    async def main() -> Ended:
        caller = callers_of(model, limits=Limits(max_retries=1))[model.name]
        await caller.call(REQUEST)
        await asyncio.sleep(20)
        return await asyncio.gather(*(caller.call(REQUEST) for _ in range(16)), return_exceptions=True)

    lost = [each for each in run(main()) if not isinstance(each, Called)]
    assert len(lost) < FAILURES


def test_a_probe_that_is_cancelled_makes_room_for_another() -> None:
    model = unsteady((10, 60))

    async def main() -> Ended:
        caller = callers_of(model)[model.name]
        await caller.call(REQUEST)
        await asyncio.sleep(20)
        texts = [str(number) for number in range(16)]
        requests = {text: Request("test/model", (Message("user", text),)) for text in texts}
        calls = {text: asyncio.create_task(caller.call(request)) for text, request in requests.items()}
        await until(lambda: caller.gate.silent and not caller.gate.in_flight)
        model.latency_s = 100_000
        await until(lambda: caller.gate.circuit.probing)
        model.latency_s = 0.1
        calls[model.requests[-1].messages[0].content].cancel()
        return await asyncio.gather(*calls.values(), return_exceptions=True)

    ended = run(main())
    assert sum(isinstance(each, Called) for each in ended) == 15


def test_where_the_call_that_finds_out_hangs_the_others_wait_no_longer_than_patience() -> None:
    model = unsteady((10, 100_000))

    async def main() -> float:
        caller = callers_of(model, limits=Limits(patience_s=300, timeout_s=5000))[model.name]
        await caller.call(REQUEST)
        await asyncio.sleep(20)
        calls = [asyncio.create_task(caller.call(REQUEST)) for _ in range(16)]
        await until(lambda: caller.gate.silent and not caller.gate.in_flight)
        model.latency_s = 4000
        done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        at = now()
        await asyncio.sleep(1)
        assert sum(each.done() for each in calls) == 15
        assert all(isinstance(each.exception(), Stopped) for each in done)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return at

    assert 320 < run(main()) < 330


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)
