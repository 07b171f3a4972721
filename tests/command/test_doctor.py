"""`tripos doctor`: what it finds, what it says to do, and what it never shows."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import Command, Outcome
from tests.json_server import Posted, completion, json_server
from tripos.settings.options import VARIABLES
from tripos_runtime.models import readiness
from tripos_warehouse.maintenance.compaction import MANY_COMMITS
from tripos_warehouse.store.store import Store

KEY = "kf83hf7shf-of-doctors-5521"
"""No form of a key that is known: only that it is one can tell."""


@dataclass
class Server:
    """An endpoint: what it was sent, and whom it answers."""

    url: str = ""
    keys: list[str] = field(default_factory=list)
    status: int = 200
    models: tuple[str, ...] = ("tutor",)
    asked: int = 0


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    def answer(posted: Posted) -> tuple[int, object]:
        if posted.body:
            state.asked += 1
        else:
            state.keys.append(posted.key)
        if state.status != 200:
            return state.status, {"error": {"message": f"no such key: {posted.key}"}}
        return 200, completion("yes", "tutor") if posted.body else {"data": [{"id": name} for name in state.models]}

    with json_server(answer) as state.url:
        yield state


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, without settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TUTOR_KEY", "")  # so that what `.env` sets is undone after the test
    monkeypatch.delenv("TUTOR_KEY")
    return tmp_path


def settings(folder: Path, server: Server, more: str = "") -> None:
    table = f'[endpoints."openai/tutor"]\nbase_url = "{server.url}"\napi_key_env = "TUTOR_KEY"\n'
    (folder / "tripos.toml").write_text(f'models = ["openai/tutor"]\n{table}{more}', "utf-8")
    (folder / ".env").write_text(f"TUTOR_KEY={KEY}\n", "utf-8")
    (folder / ".env").chmod(0o600)


PRICE = '[prices."openai/tutor"]\ninput = 1\noutput = 2\n'


def found(done: Outcome, subject: str, name: str) -> list[tuple[str, str, str]]:
    """The checks of a subject by their name: status, what was told, what to do."""
    return [
        (check["status"], check["told"], check["mend"])
        for check in json.loads(done.out)["checks"]
        if (check["subject"], check["name"]) == (subject, name)
    ]


def test_all_is_well_where_key_endpoint_price_and_store_are_in_order(
    folder: Path, server: Server, tripos: Command
) -> None:
    settings(folder, server, PRICE)
    done = tripos("doctor")
    assert (done.code, done.err) == (0, ""), done.out
    assert done.out.splitlines()[-1] == "everything is in order"
    assert server.keys == [f"Bearer {KEY}"]
    assert server.asked == 0


def test_the_table_fits_80_columns(folder: Path, server: Server, tripos: Command) -> None:
    settings(folder, server)
    done = tripos("doctor", "--role", "judge=mock/careful", "--role", "panel=nosuch/model,mock/carful")
    assert max(map(len, done.out.replace(str(folder), "").splitlines())) <= 80


def test_an_unknown_price_and_an_open_env_file_are_warnings(folder: Path, server: Server, tripos: Command) -> None:
    settings(folder, server)
    (folder / ".env").chmod(0o644)
    done = tripos("doctor", "--json")
    [(status, _, mend)] = found(done, "openai/tutor", "price")
    assert (done.code, status) == (0, "warning")
    assert '[prices."openai/tutor"]\ninput = ' in mend
    [(_, way, _)] = found(done, "openai/tutor", "way")
    assert way.startswith("direct")
    assert [status for status, _, _ in found(done, "settings", ".env")] == ["ok", "warning"]


def test_ask_makes_one_call_at_a_price_that_says_where_it_is_from(
    folder: Path, server: Server, tripos: Command
) -> None:
    settings(folder, server, PRICE)
    done = tripos("doctor", "--ask", "--json")
    [(_, told, _)] = found(done, "openai/tutor", "price")
    assert told == "1.00 USD in, 2.00 out for a million tokens (tripos.toml)"
    [(status, told, _)] = found(done, "openai/tutor", "asked")
    assert (status, server.asked) == ("ok", 1)
    assert told.endswith("as tutor; 3 tokens in, 2 out, 0.0000070 USD")


def down(folder: Path, server: Server) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        server.url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    settings(folder, server)


FAULTS: dict[str, tuple[Callable[[Path, Server], object], str, tuple[str, str, str]]] = {
    "no key": (lambda folder, _: (folder / ".env").unlink(), "model", ("problem", "R0102", "set TUTOR_KEY")),
    "refused": (lambda _, server: setattr(server, "status", 401), "endpoint", ("problem", "(status 401)", "TUTOR_KEY")),
    "down": (down, "endpoint", ("problem", "connect", "start the server, or check its port")),
    "not listed": (
        lambda _, server: setattr(server, "models", ("tutors", "other")),
        "endpoint",
        ("warning", "it does not list `tutor`", "did you mean `openai/tutors`?"),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_an_endpoint_is_told_with_what_mends_it(
    folder: Path, server: Server, tripos: Command, fault: str
) -> None:
    break_it, name, (status, told, mend) = FAULTS[fault]
    settings(folder, server)
    break_it(folder, server)
    done = tripos("doctor", "--json")
    *_, check = found(done, "openai/tutor", name)
    assert (done.code, check[0]) == (int(status == "problem"), status)
    assert told in check[1] and mend in check[2]


def test_an_endpoint_of_two_models_is_looked_at_once(folder: Path, server: Server, tripos: Command) -> None:
    settings(folder, server, f'[endpoints."openai/twin"]\nbase_url = "{server.url}"\napi_key_env = "TUTOR_KEY"\n')
    server.models = ("tutor", "twin")
    assert tripos("doctor", "--model", "openai/tutor,openai/twin").code == 0
    assert len(server.keys) == 1


def test_a_budget_and_a_model_that_are_none_are_problems(folder: Path, tripos: Command) -> None:
    (folder / "tripos.toml").write_text("budget = 'five'\n")
    done = tripos("doctor", "--model", "mock/carefull", "--json")
    [(status, _, mend)] = found(done, "mock/carefull", "model")
    assert (done.code, status, mend) == (1, "problem", "did you mean `mock/careful`?")
    [(status, told, _)] = found(done, "settings", "budget")
    assert status == "problem" and "five" in told


def test_no_model_at_all_is_a_warning_and_a_store_is_counted_and_not_made(folder: Path, tripos: Command) -> None:
    a_store(folder, 2)
    done = tripos("doctor", "--json")
    assert done.code == 0
    assert [status for status, _, _ in found(done, "models", "roles")] == ["warning"]
    [(status, told, _)] = found(done, "store", "place")
    assert status == "ok" and "2 commits, 2 parts" in told
    a_store(folder, MANY_COMMITS - 1)
    [(status, _, mend)] = found(tripos("doctor", "--json"), "store", "parts")
    assert (status, mend) == ("warning", "tripos store compact")
    assert tripos("doctor", "--store", "new").code == 0
    assert not (folder / "new").exists()


def test_settings_that_cannot_be_read_are_a_problem_and_the_rest_is_looked_at(folder: Path, tripos: Command) -> None:
    (folder / "tripos.toml").write_text("models = ['mock/careful']\nstor = 'x'\n")
    done = tripos("doctor", "--json")
    [(status, _, mend)] = found(done, "settings", "tripos.toml")
    assert (done.code, status, mend) == (1, "problem", "did you mean `store`?")
    assert found(done, "store", "disk")
    assert not found(done, "models", "roles")


def test_the_file_and_the_profile_in_use_are_told(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tripos.toml").write_text("[profiles.ci]\nmodels = 'mock/careful'\n")
    inner = folder / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    done = tripos("doctor", "--profile", "ci", "--json")
    [(_, told, _)] = found(done, "settings", "tripos.toml")
    assert told == f"{folder}/tripos.toml, in a folder above"
    assert found(done, "settings", "profile") == [("ok", "ci", "")]
    assert found(done, "mock/careful", "model")


def a_store(folder: Path, commits: int) -> Store:
    store = Store.open(folder / "results", create=True, clock=lambda: datetime(2026, 1, 2, tzinfo=UTC))
    for number in range(commits):
        store.append({"run_items": [{"run_id": "r", "scenario": "S", "item_id": str(number)}]})
    return store


def test_a_damaged_store_and_a_missing_recording_are_problems(folder: Path, tripos: Command) -> None:
    store = a_store(folder, 1)
    done = tripos("doctor", "--model", "replay/2026", "--json")
    [(status, told, _)] = found(done, "replay/2026", "model")
    assert (done.code, status) == (1, "problem") and "S0301" in told
    next(iter(store.parts("run_items"))).unlink()
    done = tripos("doctor", "--json")
    [(status, told, _)] = found(done, "store", "place")
    assert (done.code, status) == (1, "problem") and "S0103" in told


def test_keys_are_never_shown(folder: Path, server: Server, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    of_environment = "zq-anthropic-1122334455"
    monkeypatch.setenv("ANTHROPIC_API_KEY", of_environment)
    monkeypatch.setenv("TRIPOS_PROFIL", "sk-proj-in-a-variable-0011")
    settings(folder, server, f'[endpoints.anthropic]\nbase_url = "{server.url}"\napi_key_env = "ANTHROPIC_API_KEY"\n')
    said = ""
    for status in (200, 401, 500):
        server.status = status
        others = (("--json",), ("--role", "judge=anthropic/claude-sonnet-4-5")) if status == 200 else ()
        for more in ((), ("--ask",), *others):
            done = tripos("doctor", *more)
            said += done.out + done.err
    (folder / "tripos.toml").write_text(f"[endpoints.x]\nbase_url = 'http://x'\napi_key = '{KEY}'\n")
    done = tripos("doctor")
    said += done.out + done.err
    done = tripos("doctor", "--profile", "sk-proj-in-an-option-001122")
    said += done.out + done.err
    (folder / "tripos.toml").write_text(f"[endpoints.x]\nbase_url = 'http://x'\napi_key_env = '{KEY}'\n")
    done = tripos("doctor")
    said += done.out + done.err
    assert "TUTOR_KEY" in said and "R0207" in said
    for secret in (KEY, of_environment, "sk-proj-in"):
        assert secret not in said


def test_a_failure_of_any_command_is_shown_without_keys(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUTOR_KEY", KEY)
    done = tripos("run", f"{KEY}.tripos", "--model", "mock/careful")
    assert done.code == 2 and "(hidden)" in done.err
    assert KEY not in done.err


def test_a_baseline_that_stands_for_others_is_no_problem(folder: Path, tripos: Command) -> None:
    done = tripos("doctor", "--model", "baseline/majority,baseline/echo")
    assert (done.code, "problem" in done.out) == (0, False)


LACKING = {
    "vertex_ai/gemini-2.5-pro": ("R0105", "pip install 'google-auth[requests]'"),
    "bedrock/anthropic.claude-3-haiku-20240307-v1:0": ("R0102", "set AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID"),
    "moonshot/kimi-k2": ("R0102", "set MOONSHOT_API_KEY"),
    "snowflake/mistral-7b": ("R0102", "set SNOWFLAKE_JWT"),
    "azure_ai/phi-4": ("R0101", "set AZURE_AI_API_BASE"),
    "xinference/ours": ("R0101", "write its address"),
    "voyage/voyage-3": ("R0103", "give a model of another provider"),
    "github_copilot/gpt-4o": ("R0102", "sign in once"),
}
"""Models of litellm's providers that have nothing here, with the error of each and the beginning of what mends it."""
SPEC = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "q.jsonl" { question text }
scenario s {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score length = words(reply.text)
}
"""


@pytest.fixture
def bare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where no credentials are, and no package of a provider."""
    for name in [each for each in os.environ if each.startswith(("AWS_", "AZURE_", "GOOGLE_", "VERTEX", "OPENAI_"))]:
        monkeypatch.delenv(name)
    for name in ("MOONSHOT_API_KEY", "SNOWFLAKE_JWT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(readiness, "is_importable", lambda module: module != "google.auth")
    return folder


def test_a_missing_package_key_or_address_of_a_provider_is_a_problem(bare: Path, tripos: Command) -> None:
    done = tripos("doctor", "--model", ",".join(LACKING), "--json")
    assert done.code == 1
    for name, (code, mend) in LACKING.items():
        [(status, told, mended)] = found(done, name, "model")
        assert (status, f"[{code}]" in told) == ("problem", True), told
        assert mended.startswith(mend)


@pytest.mark.parametrize("name", LACKING)
def test_a_run_ends_before_its_first_call_where_a_provider_lacks_something(
    bare: Path, tripos: Command, name: str
) -> None:
    (bare / "q.tripos").write_text(SPEC, "utf-8")
    (bare / "q.jsonl").write_text('{"question": "1 + 1"}\n{"question": "1 + 2"}\n', "utf-8")
    done = tripos("run", "q.tripos", "--model", name)
    assert done.code == 2
    assert done.err.count("error[") == 1
    assert f"error[{LACKING[name][0]}]" in done.err
    assert "Traceback" not in done.err
