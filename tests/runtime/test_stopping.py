"""A run that comes to an early end: no further call is made, those under way are finished, and nobody takes it for done."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.in_memory import MemoryLedger
from tests.runtime.test_engine import Bench, judged
from tests.runtime.virtual_time import REPLY, REQUEST, Scripted, broken, callers_of, now, run
from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import FUNCTION_ERROR
from tripos_compiler.source.inputs import DataError
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.engine import Engine
from tripos_runtime.models.base import Reply, Request
from tripos_runtime.program.running import gather_all
from tripos_runtime.scheduling.budget import Budget, Halted, Stopped
from tripos_runtime.scheduling.calling import Called, Caller
from tripos_runtime.scheduling.limits import Limits

SHOUTED = """\
benchmark t "1.0.0" { languages en }
function shout from "f.py:shout"
role candidate compared
dataset item from "items.jsonl" { question text }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  ask louder by candidate { prompt "{{ shout(reply.text) }}" }
  score right = contains(reply.text, "42")
}
measure m = mean(right)
"""
ONE_AT_A_TIME = Limits(max_connections=1)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


class Breaking(CaseSource):
    """Its file breaks off after two rows."""

    def cases(self, selection: Selection) -> Iterator[Case]:
        for number, case in enumerate(super().cases(selection)):
            if number == 2:
                raise DataError("the file changed", "run again")
            yield case


class Answering(Scripted):
    """Answers after a second, and tells when it was asked for the third time."""

    engine: Engine | None = None

    async def ask(self, request: Request) -> Reply:
        self.script = [Reply(judged(request, 0), self.name, "stop", 10, 5, 0.0)]
        if self.engine is not None and len(self.requests) == 2:
            self.engine.stop()
        return await super().ask(request)


def test_where_a_data_file_breaks_off_the_calls_under_way_are_finished_and_kept(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tripos_runtime.drivers.lookup.BATCH", 1)
    ledger = MemoryLedger()
    engine, callers = bench.engine(ledger)
    engine.source = Breaking(bench.plan, bench.spec.folders, (bench.path,))
    with pytest.raises(DataError):
        asyncio.run(engine.run())
    asked = sum(len(caller.asked) for caller in callers.values())
    assert asked == len(ledger.table("samples")) + len(ledger.table("judgements")) > 0
    assert [work.said for work in ledger.works.values()] == [None]


def test_a_run_that_broke_off_before_its_first_case_is_not_noted_as_finished(bench: Bench) -> None:
    ledger = MemoryLedger()
    engine, _ = bench.engine(ledger)
    engine.source = Breaking(bench.plan, bench.spec.folders, (bench.path,))
    with pytest.raises(DataError):
        asyncio.run(engine.run())
    assert [work.said for work in ledger.works.values()] == [None]


def test_a_run_that_is_cancelled_is_not_noted_as_finished(bench: Bench) -> None:
    async def main(ledger: MemoryLedger) -> None:
        engine, _ = bench.engine(ledger)
        task = asyncio.create_task(engine.run())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    ledger = MemoryLedger()
    asyncio.run(main(ledger))
    assert [work.said for work in ledger.works.values()] == [None]


def test_a_run_that_is_stopped_makes_no_further_call_and_keeps_those_under_way(bench: Bench) -> None:
    async def main(ledger: MemoryLedger) -> list[Answering]:
        engine, _ = bench.engine(ledger)
        models = [Answering([REPLY], name=name, endpoint=name, latency_s=1.0) for name in ("a", "j")]
        models[0].engine = engine
        engine.callers = callers_of(*models, limits=ONE_AT_A_TIME)
        await engine.run()
        return models

    ledger = MemoryLedger()
    models = run(main(ledger))
    asked = [len(model.requests) for model in models]
    assert asked[0] == 3
    assert asked == [len(ledger.table("samples")), len(ledger.table("judgements"))]
    assert sum(asked) < 12
    assert [work.said for work in ledger.works.values()] == [None]
    rest = bench.run(MemoryLedger(ledger))
    assert rest.asked == 12 - sum(asked)


def test_a_step_that_a_failed_function_kept_from_being_asked_is_left_to_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("def shout(said: str) -> str:\n    return said.upper()\n", "utf-8")
    bench = Bench(tmp_path, SHOUTED)

    def fails(said: str) -> str:
        raise Unavailable("shout", FUNCTION_ERROR)

    ledger = MemoryLedger()
    engine, _ = bench.engine(ledger, judges=())
    engine.functions = {"shout": fails}
    asyncio.run(engine.run())
    assert engine.tally.skipped.total() == 3
    assert [work.said for work in ledger.works.values()] == [None]


def halted(caller: Caller) -> asyncio.Task[Called]:
    return asyncio.create_task(caller.call(REQUEST))


def test_a_call_that_waits_for_its_turn_is_sent_away_and_the_one_under_way_is_answered() -> None:
    async def main() -> None:
        model = Scripted([REPLY], latency_s=1.0)
        caller = callers_of(model, limits=ONE_AT_A_TIME)[model.name]
        first, second = halted(caller), halted(caller)
        await asyncio.sleep(0.5)
        caller.halt()
        with pytest.raises(Halted):
            await second
        assert now() == 0.5
        assert (await first).reply == REPLY
        assert len(model.requests) == 1

    run(main())


def test_a_call_that_failed_is_not_made_again_after_a_halt() -> None:
    async def main() -> None:
        model = Scripted([broken(), REPLY], latency_s=1.0)
        caller = callers_of(model)[model.name]
        call = halted(caller)
        await asyncio.sleep(0.5)
        caller.halt()
        with pytest.raises(Halted):
            await call
        assert len(model.requests) == 1

    run(main())


def test_a_call_that_waits_for_what_others_give_back_to_the_budget_is_not_made_after_a_halt() -> None:
    async def main() -> None:
        model = Scripted([broken()], latency_s=1.0)
        budget = Budget(calls=1)
        caller = callers_of(model, limits=Limits(max_retries=0), budget=budget)[model.name]
        calls = [halted(caller), halted(caller)]
        await asyncio.sleep(0.5)
        caller.halt()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(ended[1], Halted)
        assert len(model.requests) == 1
        assert budget.spent_calls == 0

    run(main())


def test_of_what_went_wrong_side_by_side_that_which_stopped_the_run_is_told() -> None:
    async def fail(error: Exception) -> None:
        raise error

    stopped = Stopped("R0402", "the budget is spent", "")
    with pytest.raises(Stopped):
        asyncio.run(gather_all([fail(Halted()), fail(stopped)]))
    with pytest.raises(Halted):
        asyncio.run(gather_all([fail(Halted()), fail(Halted())]))
