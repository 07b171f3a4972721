"""`tripos run --on ray`: shards as tasks. Without Ray, what needs it is skipped: CI has no cluster."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.kills.contents import contents, differences
from tripos.cli import run
from tripos.cli.main import run_command
from tripos.runs import clusters as ray_tasks
from tripos.runs.clusters import ShardEnd, Sharding

MODELS = ["--model", "mock/careful,mock/careless"]


def test_ray_that_is_not_installed_is_r0412(
    spec: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run_command(["run", spec, *MODELS, "--on", "ray"]) == 2
    assert 'pip install "tripos[ray]"' in capsys.readouterr().err


def test_options_of_scripts_do_nothing_on_ray(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", spec, *MODELS, "--on", "ray", "--submit"]) == 2
    assert "`--submit` does nothing with --on ray" in capsys.readouterr().err


def test_a_shard_that_fails_stops_the_run_before_the_whole(
    spec: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(sharding: Sharding, folder: Path) -> Iterator[ShardEnd]:
        assert sharding.command == ("run", spec, *MODELS)
        yield ShardEnd(2, 100, 7, "")  # an expectation on a part of the items says nothing
        yield ShardEnd(1, 1, 5, "error[R0402]: the budget does not go further")

    monkeypatch.setattr(run, "run_shards", ended)
    assert run_command(["run", spec, *MODELS, "--on", "ray", "--shards", "2"]) == 1
    told = capsys.readouterr().err
    assert "2 of 2 shards done, 12 calls asked" in told
    assert "shard 1: error[R0402]" in told
    assert "error[R0413]: 1 of 2 shards did not end well" in told
    assert not Path("results").exists()


@pytest.mark.parametrize(("given", "wanted"), [(None, "0"), ("7", "7")])
def test_shards_on_a_cluster_of_our_own_have_the_niceness_of_the_command(
    given: str | None, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two cores at a load of 10, shards of niceness 15 made half the calls a second of those by hand."""
    at_start: list[str | None] = []
    monkeypatch.setenv(ray_tasks.NICENESS_VARIABLE, given or "")
    if given is None:
        monkeypatch.delenv(ray_tasks.NICENESS_VARIABLE)
    fake = SimpleNamespace(
        init=lambda **_: at_start.append(os.environ.get(ray_tasks.NICENESS_VARIABLE)),
        shutdown=lambda: at_start.append(None),
    )
    monkeypatch.setitem(sys.modules, "ray", fake)
    with ray_tasks._cluster():
        assert at_start == [wanted]
    assert at_start == [wanted, None]


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: pip install 'tripos[ray]'")
def test_shards_on_ray_leave_the_tables_of_one_run(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert run_command(["run", spec, *MODELS, "--json", "--store", "one"]) == 0
    assert run_command(["run", spec, *MODELS, "--json", "--store", "ray", "--on", "ray", "--shards", "2"]) == 0
    assert not differences(contents(Path("ray")), contents(Path("one")))
