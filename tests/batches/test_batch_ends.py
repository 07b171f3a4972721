"""The ends of a batch: its replies are kept, and a request without one is free at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.batches.batch_server import BatchServer, batch_serving
from tests.batches.runs import Place, make_place, run_here, without_cost
from tests.kills.contents import contents, differences
from tripos_runtime.scheduling import batch_queue
from tripos_warehouse.ledger.ledger import StoredBatches
from tripos_warehouse.store.store import Store

SOME = ("--scenario", "sums", "--limit", "2")
CLAUDE = "anthropic/claude-haiku-4-5"


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with batch_serving(0.05) as ready:
        yield ready


@pytest.fixture
def place(tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "unused")
    return make_place(tmp_path, server)


def of_anthropic(place: Place) -> Place:
    """Return the place with a model of Anthropic in every role."""
    place.settings(address=place.server.anthropic_address, names=(CLAUDE,))
    return replace(place, work=replace(place.work, roles=(f"judge={CLAUDE}", f"helper={CLAUDE}")))


def billed_twice(server: BatchServer) -> int:
    """Return how many replies were billed in batches beyond those of a live run."""
    return (server.billed - server.live).total()


def states_of(folder: Path) -> Counter[str]:
    """Return how many records of each state a store has."""
    return Counter(row["state"] for row in StoredBatches(Store.open(folder, create=False)).new_rows())


def begun(place: Place, fate: str, *options: str) -> None:
    """Leave batches at the provider, whose first will have this fate."""
    place.server.fates, place.server.delay_s = [fate], 0.3
    assert place.run("batch", *(options or SOME), "--batch", "--detach").code == 75
    place.server.delay_s = 0.05


@pytest.mark.parametrize("provider", ["openai", pytest.param("anthropic", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("fate", "twice"),
    [("garbled", 1), *(pytest.param(fate, 0, marks=pytest.mark.long) for fate in ("missing", "doubled"))],
)
def test_a_damaged_file_of_replies_costs_what_cannot_be_read(
    place: Place, provider: str, fate: str, twice: int
) -> None:
    models = CLAUDE if provider == "anthropic" else None
    place = of_anthropic(place) if models else place
    place.server.fates = [fate]
    batch, live = place.run("batch", *SOME, "--batch", models=models), place.run("live", *SOME, models=models)
    assert (batch.code, live.code) == (0, 0), batch.told
    found = without_cost(contents(place.folder / "batch"))
    assert not differences(found, without_cost(contents(place.folder / "live")))
    assert billed_twice(place.server) == twice and not place.server.live - place.server.billed


@pytest.mark.long
def test_a_batch_with_a_file_of_errors_only_is_asked_again_in_another(place: Place) -> None:
    place.server.fates = ["errors"]
    batch = place.run("batch", *SOME, "--batch")
    assert batch.code == 0, batch.told
    first = {name for name, _ in place.server.batches["batch_00000"].lines}
    assert {name for name, count in place.server.submitted.items() if count == 2} == first
    assert place.server.billed.total() == len(place.server.submitted)


@pytest.mark.long
@pytest.mark.parametrize("again", [(), ("--batch",)])
def test_what_a_cancelled_batch_did_not_answer_is_asked_by_the_next_run(place: Place, again: tuple[str, ...]) -> None:
    begun(place, "cancelled", "--scenario", "sums")
    some = ("--scenario", "sums", "--limit", "5")  # the batch has more: it is collected in part
    first = place.run("batch", *some, "--batch")
    failed = first.summary["calls"]["failed"]
    assert first.code == 1 and failed and set(first.summary["errors"]) == {"R0122"}, first.told
    assert states_of(place.folder / "batch")["unanswered"] == 1
    batches = len(place.server.batches)
    second = place.run("batch", *some, *again)
    assert second.code == 0, second.told
    if again:
        assert len(place.server.batches) > batches and not place.server.live
    else:
        assert len(place.server.batches) == batches and place.server.live.total() >= failed
    third = place.run("batch", "--scenario", "sums", *again)  # what nobody had waited for is free as well
    if not again:
        assert third.code == 1 and "R0123" in third.told  # the replies of the batch that nobody has taken
        third = place.run("batch", "--scenario", "sums", "--batch")
    assert third.code == 0, third.told
    once = (place.server.billed + place.server.live).total()
    place.server.live.clear()
    assert place.run("live", "--scenario", "sums").code == 0 and place.server.live.total() == once


def test_a_batch_that_the_provider_does_not_know_fails_its_requests_until_it_is_lost(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(place, "ended")
    place.server.forgotten = set(place.server.batches)
    first = place.run("batch", *SOME, "--batch")
    assert first.code == 1 and set(first.summary["errors"]) == {"R0124"}, first.told
    errors = {json.loads(line)["error"] for line in contents(place.folder / "batch")["samples"]}
    assert any("`tripos store batches --give-up batch_00000`" in (error or "") for error in errors), errors
    assert set(place.server.submitted.values()) == {1}
    monkeypatch.setattr(batch_queue, "EXPIRY", timedelta(0))
    second = place.run("batch", *SOME, "--batch")
    assert second.code == 0 and states_of(place.folder / "batch")["dropped"], second.told
    lost = {name for each in place.server.forgotten for name, _ in place.server.batches[each].lines}
    assert {name for name, count in place.server.submitted.items() if count == 2} == lost and not place.server.live


def test_a_batch_is_given_up_by_a_verb_and_then_holds_nothing(place: Place) -> None:
    begun(place, "ended")
    store = str(place.folder / "batch")
    listed = run_here(place.folder, ["store", "batches", "--store", store, "--json"])
    assert listed.code == 0, listed.told
    names = [each["batch"] for each in listed.summary["batches"]]
    assert listed.code == 0 and names == sorted(place.server.batches), listed.told
    assert {each["requests"] for each in listed.summary["batches"]} == {4}
    held = place.run("batch", *SOME)
    assert held.code == 1 and "R0123" in held.told and "--give-up" in held.told
    wrong = run_here(place.folder, ["store", "batches", "--give-up", "batch_x", "--store", store])
    assert wrong.code == 2 and "R0202" in wrong.told and names[0] in wrong.told
    for name in names:
        done = run_here(place.folder, ["store", "batches", "--give-up", name, "--store", store])
        assert done.code == 0 and "paid for twice" in done.told, done.told
    live = place.run("batch", *SOME)
    assert live.code == 0 and place.server.live.total(), live.told
