"""Live callers know which requests a batch holds, also of batches that others note while a run is under way."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from tripos_runtime.models.base import Message, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.scheduling.batch_queue import refuse_batched_requests
from tripos_runtime.scheduling.batch_records import COLLECTED, INTENDED, KEPT, BatchRecord, request_name
from tripos_runtime.scheduling.budget import Stopped
from tripos_runtime.scheduling.calling import Caller, open_callers
from tripos_runtime.scheduling.limits import Limits

MODEL = "mock/careful"


class Noted(list[BatchRecord]):
    """A log in memory."""

    def load(self) -> Noted:
        return self

    peek = load

    def note(self, record: BatchRecord) -> None:
        self.append(record)

    def hold(self, request: Request, age: timedelta = timedelta(0)) -> None:
        """Note a batch with one request."""
        self.note(BatchRecord("m", INTENDED, MODEL, "there", datetime.now(UTC) - age, None, (request_name(request),)))


def asked(text: str, samples: int = 1) -> Request:
    return Request(MODEL, (Message("user", text),), samples=samples, name=text)


def live(log: Noted) -> Caller:
    return refuse_batched_requests(open_callers({MODEL: open_model(MODEL)}, Limits()), log)[MODEL]


def holds(caller: Caller, request: Request) -> bool:
    """Return true if the call is refused."""
    try:
        asyncio.run(caller.call(request))
    except Stopped as error:
        assert error.code == "R0123" and MODEL in error.message and "--batch" in error.hint
        return True
    return False


def test_a_batch_that_is_noted_during_a_run_holds_its_requests_until_it_is_collected() -> None:
    log = Noted()
    caller = live(log)
    assert not holds(caller, asked("one"))
    log.hold(asked("one"))
    assert holds(caller, asked("one")) and not holds(caller, asked("two"))
    log.note(BatchRecord("m", COLLECTED, MODEL, "there", datetime.now(UTC)))
    assert not holds(caller, asked("one"))


@pytest.mark.parametrize(("age", "held"), [(timedelta(days=2), True), (KEPT + timedelta(hours=1), False)])
def test_a_batch_holds_its_requests_as_long_as_providers_keep_replies(age: timedelta, held: bool) -> None:
    log = Noted()
    log.hold(asked("one"), age)
    assert holds(live(log), asked("one")) is held


def test_samples_are_asked_one_by_one_beside_batches() -> None:
    log = Noted()
    log.hold(asked("one"))
    caller = live(log)
    assert caller.model.most_samples == 1
    assert holds(caller, asked("two", samples=2))  # the names of the further samples are not known
