"""A run that is held to a lock refuses to drift from it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.releases.test_releases import LESSONS
from tripos.releases.lock import check_served, read_lock
from tripos_compiler.errors import ExitCode, TriposError

MODELS = ("--model", "mock/careful", "--role", "judge=mock/careless")


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(LESSONS, tmp_path / "spec")
    return tmp_path / "spec"


def test_a_run_with_what_was_pinned_goes_on(spec: Path, tripos: Command) -> None:
    assert tripos("run", "spec", *MODELS).code == ExitCode.SUCCESS
    assert tripos("lock", "spec", *MODELS).code == 0
    lock = read_lock(Path("tripos.lock"))
    assert lock.roles == {"candidate": ("mock/careful",), "judge": ("mock/careless",)}
    assert lock.data.keys() == {"items.jsonl"}
    assert all(model.served for model in lock.models.values())
    assert tripos("run", "spec", *MODELS, "--locked").code == ExitCode.SUCCESS


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("items.jsonl", "6 * 7", "7 * 6"), "data `items.jsonl` changed"),
        (("spec.tripos", "temperature 0", "temperature 1"), "the spec compiles to another plan"),
        (("spec.tripos", '"1.2.3"', '"1.2.4"'), "lessons 1.2.3 is pinned"),
    ],
)
def test_a_run_that_would_drift_asks_nothing(
    spec: Path, tripos: Command, change: tuple[str, str, str], told: str
) -> None:
    assert tripos("lock", "spec", *MODELS).code == 0
    name, old, new = change
    (spec / name).write_text((spec / name).read_text("utf-8").replace(old, new), "utf-8")
    done = tripos("run", "spec", *MODELS, "--locked")
    assert done.code == 2
    assert "R0260" in done.err and told in done.err
    assert not Path("results").exists()


def test_another_model_is_another_run(spec: Path, tripos: Command) -> None:
    assert tripos("lock", "spec", *MODELS, "-o", "mine.lock").code == 0
    done = tripos("run", "spec", "--model", "mock/careless", "--role", "judge=mock/careless", "--locked", "mine.lock")
    assert "role `candidate` is filled by mock/careless, not mock/careful" in done.err


def test_a_price_that_was_set_since_is_a_drift(spec: Path, tripos: Command) -> None:
    assert tripos("lock", "spec", *MODELS).code == 0
    said = json.loads(Path("tripos.lock").read_text("utf-8"))
    said["models"]["mock/careful"]["price"] = {
        "input_usd": 1.0,
        "output_usd": 1.0,
        "cached_usd": None,
        "most_out": None,
    }
    Path("tripos.lock").write_text(json.dumps(said), "utf-8")
    assert "`mock/careful` has another price" in tripos("run", "spec", *MODELS, "--locked").err


def test_another_snapshot_under_the_same_name_is_told(spec: Path, tripos: Command) -> None:
    assert tripos("run", "spec", *MODELS).code == ExitCode.SUCCESS
    assert tripos("lock", "spec", *MODELS).code == 0
    lock = read_lock(Path("tripos.lock"))
    check_served(lock, {"mock/careful": lock.models["mock/careful"].served, "mock/new": ["x"]})
    with pytest.raises(TriposError, match="was served as `careful-2`") as caught:
        check_served(lock, {"mock/careful": ["careful-2"]})
    assert caught.value.code == "R0261"


def test_without_a_lock_nothing_is_run(spec: Path, tripos: Command) -> None:
    done = tripos("run", "spec", *MODELS, "--locked")
    assert done.code == 2
    assert "R0260" in done.err


def test_a_model_that_is_reached_at_another_address_is_another_model(
    spec: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = ("--model", "openai/gpt-4o", "--role", "judge=mock/careless")
    assert tripos("lock", "spec", *models).code == 0
    assert read_lock(Path("tripos.lock")).models["openai/gpt-4o"].address is None
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret@127.0.0.1:9/v1")
    done = tripos("run", "spec", *models, "--locked")
    assert done.code == 2
    assert "is reached at http://127.0.0.1:9/v1, not at its provider" in " ".join(done.err.split())
    assert not Path("results").exists()


def test_a_model_with_a_price_of_several_steps_is_pinned_and_held_to(spec: Path, tripos: Command) -> None:
    models = ("--model", "gemini/gemini-2.5-pro", "--role", "judge=mock/careless")
    assert tripos("lock", "spec", *models).code == 0
    price = read_lock(Path("tripos.lock")).models["gemini/gemini-2.5-pro"].price
    assert price is not None and price["steps"]
    done = tripos("run", "spec", *models, "--locked")
    assert "R0260" not in done.err
