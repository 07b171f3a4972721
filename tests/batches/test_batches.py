"""Runs by batches end like live ones, at half the price, whatever becomes of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tripos
from tests.batches.batch_server import BatchServer, batch_serving
from tests.batches.runs import Place, costs, make_place, quick, run_here, without_cost
from tests.kills.contents import contents, differences
from tripos_warehouse.ledger.ledger import StoredBatches
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

EXPIRED = ["expired", "ended", "expired"]


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with batch_serving(0.05) as ready:
        yield ready


@pytest.fixture
def place(tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    return make_place(tmp_path, server)


def test_a_run_by_batches_has_the_tables_of_a_live_run_and_costs_half(place: Place) -> None:
    live, batch = place.run("live"), place.run("batch", "--batch")
    assert (live.code, batch.code) == (0, 0), batch.told
    first, second = contents(place.folder / "live"), contents(place.folder / "batch")
    assert not differences(without_cost(second), without_cost(first))
    assert {name: 2 * cost for name, cost in costs(second).items()} == pytest.approx(costs(first), rel=1e-12)
    assert batch.summary["cost_usd"] == pytest.approx(live.summary["cost_usd"] / 2, rel=1e-12)
    for store, part in (("live", None), ("batch", batch.summary["cost_usd"])):
        told = run_here(place.folder, ["report", "--json", "--store", store]).summary["run"]
        assert told.get("batch_cost_usd") == (None if part is None else pytest.approx(part, abs=1e-6))
        assert (" in batches, 0.00 live" in run_here(place.folder, ["report", "--store", store]).told) == (
            part is not None
        )
    assert place.server.billed == place.server.live  # the same requests, each as often
    assert set(place.server.submitted.values()) == {1}
    assert marked(place.folder / "live") == {None}
    assert len(found := marked(place.folder / "batch")) > 4 and found <= set(place.server.batches)
    again = place.run("batch", "--batch")
    assert again.code == 0 and again.summary["calls"]["asked"] == 0
    # Levels and not single requests: beside other work a pause of 30 ms may pass before the last request of a level.
    assert 3 * len(place.server.batches) <= len(place.server.submitted), len(place.server.batches)


def marked(store: Path) -> set[str | None]:
    """Return the batches that the replies of a store are marked with."""
    with connect(Store.open(store, create=False)) as connection:
        rows = connection.execute("select batch_id from samples union select batch_id from judgements").fetchall()
    return {name for (name,) in rows}


def test_python_asks_in_batches_and_leaves_them(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    place.server.delay_s = 0.4
    spec, roles = (
        tripos.compile(place.work.folder / "kills.tripos"),
        {"judge": "openai/judge", "helper": "openai/helper"},
    )
    some: Any = {"roles": roles, "scenarios": "sums", "limit": 1, "store": place.folder / "batch"}
    batches = spec.plan("openai/a", batch=True, **some).batches
    assert batches is not None and batches.levels == 2
    with quick():
        first = spec.run("openai/a", batch=True, detach=True, **some)
        assert first.status == "submitted" and first.asked == 0
        place.server.delay_s = 0.05
        second = spec.run("openai/a", batch=True, **some)
    assert second.status == "finished" and second.asked and not place.server.live
    with pytest.raises(tripos.RunError, match="detach"):
        spec.run("openai/a", detach=True, **some)


@pytest.mark.long
@pytest.mark.parametrize("fates", [EXPIRED, ["failed"], ["cancelled", "ended", "cancelled"]])
def test_what_a_batch_did_not_answer_is_asked_in_another_and_nothing_else(place: Place, fates: list[str]) -> None:
    place.server.failing = 9
    live = place.run("live")
    assert live.code == 0, live.told
    place.server._tried.clear()
    place.server.fates = list(fates)
    first = place.run("batch", "--batch")
    if fates is EXPIRED:
        assert first.code == 0, first.told
    else:
        assert first.code == 1, first.told
        assert first.summary["errors"] == {"R0122": first.summary["calls"]["failed"]}
        second = place.run("batch", "--batch")
        assert second.code == 0, second.told
    found = without_cost(contents(place.folder / "batch"))
    assert not differences(found, without_cost(contents(place.folder / "live")))
    assert place.server.billed == place.server.live


@pytest.mark.long
def test_a_run_that_detaches_is_continued_by_the_same_command(place: Place) -> None:
    place.server.delay_s = 0.6
    codes = []
    for _ in range(30):
        ran = place.run("batch", "--batch", "--detach")
        codes.append(ran.code)
        if ran.code != 75:
            break
        place.server.delay_s = 0.3
    assert codes[0] == 75 and codes[-1] == 0, ran.told
    assert set(place.server.submitted.values()) == {1}
    assert place.run("live").code == 0
    assert not differences(
        without_cost(contents(place.folder / "batch")), without_cost(contents(place.folder / "live"))
    )
    assert place.server.billed == place.server.live
    states = states_of(place.folder / "batch")
    assert len(states) == len(place.server.batches) and set(states.values()) == {"collected"}


def states_of(folder: Path) -> dict[str, str]:
    """Return the last state of each batch of a store, by its marker."""
    return {row["marker"]: row["state"] for row in StoredBatches(Store.open(folder, create=False)).new_rows()}


def test_a_live_run_asks_nothing_that_a_batch_holds(place: Place) -> None:
    some = ("--scenario", "sums", "--limit", "2")
    place.server.delay_s = 0.5
    assert place.run("batch", *some, "--batch", "--detach").code == 75
    held = place.run("batch", *some)
    assert held.code == 1 and "R0123" in held.told and "--batch" in held.told
    assert held.summary["calls"]["asked"] == 0 and not place.server.live
    place.server.delay_s = 0.05
    collected = place.run("batch", *some, "--batch")
    assert collected.code == 0, collected.told
    live = place.run("batch", *some)
    assert live.code == 0 and live.summary["calls"]["asked"] == 0
    assert set(place.server.submitted.values()) == {1} and not place.server.live


def test_a_live_run_asks_what_no_batch_holds(place: Place) -> None:
    place.server.delay_s = 60
    assert place.run("batch", "--batch", "--detach", "--scenario", "words").code == 75
    other = place.run("batch", "--scenario", "sums")
    assert other.code == 0, other.told
    live = place.server.live.total()
    held = place.run("batch")
    assert held.code == 1 and "R0123" in held.told and place.server.live.total() == live


@pytest.mark.long
@pytest.mark.parametrize("options", [["--workers", "2"], ["--shard", "1/2"]])
def test_no_process_of_a_live_run_asks_what_a_batch_holds(place: Place, options: list[str]) -> None:
    place.server.delay_s = 60
    assert place.run("batch", "--batch", "--detach").code == 75
    held = place.run("batch", *options)
    assert held.code == 1 and "R0123" in held.told and not place.server.live


def test_a_model_on_several_servers_is_refused_in_batches(place: Place) -> None:
    settings = place.folder / "tripos.toml"
    more = f'name = "batches"\nreplicas = ["{place.server.address}/more"]\n'
    settings.write_text(settings.read_text("utf-8").replace('name = "batches"\n', more, 1), "utf-8")
    ran = place.run("batch", "--batch")
    assert ran.code == 2 and "R0121" in ran.told and "`openai/a`" in ran.told
    assert not place.server.seen


def test_a_model_whose_provider_has_no_batches_is_refused_before_any_call(place: Place) -> None:
    place.settings(names=("mistral/small", *("openai/judge", "openai/helper")))
    ran = place.run("batch", "--batch", models="mistral/small")
    assert ran.code == 2 and "R0121" in ran.told and "`mistral/small`" in ran.told
    assert not place.server.seen


@pytest.mark.long
def test_models_of_this_machine_are_asked_live_beside_batches(place: Place) -> None:
    ran = place.run("batch", "--batch", models="mock/careful")
    assert ran.code == 0, ran.told
    assert {batch.lines[0][1]["model"] for batch in place.server.batches.values()} == {"judge", "helper"}


@pytest.mark.long
def test_a_budget_holds_back_the_highest_cost_of_what_is_submitted(place: Place) -> None:
    whole = place.run("whole", "--batch", "--budget", "10usd")
    assert whole.code == 0, whole.told
    little = place.run("little", "--batch", "--budget", "9calls")
    assert little.code == 1 and "R0402" in little.told
    assert little.summary["calls"]["asked"] == 9


def test_a_server_without_batches_stops_the_run_with_an_error_that_says_so(place: Place) -> None:
    place.settings(address=f"http://127.0.0.1:{place.server.port}/nothing/v1")
    ran = place.run("batch", "--batch")
    assert ran.code == 1 and "R0121" in ran.told and "status 404" in ran.told


def test_nothing_is_submitted_where_a_server_of_any_role_has_no_batches(place: Place) -> None:
    settings = place.folder / "tripos.toml"
    head, judge, rest = settings.read_text("utf-8").partition('[endpoints."openai/judge"]\n')
    settings.write_text(head + judge + rest.replace("/v1", "/vllm/v1", 1), "utf-8")
    ran = place.run("batch", "--batch")
    assert ran.code == 1 and "R0121" in ran.told and "/vllm/v1/batches" in ran.told, ran.told
    assert not place.server.batches and not place.server.files and not place.server.live


def test_options_that_do_not_go_together_are_refused(place: Place) -> None:
    assert "R0202" in place.run("batch", "--detach").told
    assert "R0202" in place.run("batch", "--batch", "--workers", "2").told


@pytest.mark.long
def test_anthropics_batches_end_as_calls_do(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "unused")
    name = "anthropic/claude-haiku-4-5"
    place.settings(address=place.server.anthropic_address, names=(name,))
    place.server.fates = ["expired"]
    place = replace(place, work=replace(place.work, roles=(f"judge={name}", f"helper={name}")))
    options = ("--scenario", "words")
    live, batch = place.run("live", *options, models=name), place.run("batch", *options, "--batch", models=name)
    assert (live.code, batch.code) == (0, 0), batch.told
    first, second = contents(place.folder / "live"), contents(place.folder / "batch")
    assert not differences(without_cost(second), without_cost(first))
    assert batch.summary["cost_usd"] == pytest.approx(live.summary["cost_usd"] / 2, rel=1e-12)
    assert place.server.billed == place.server.live
