"""Settings: the file, its profiles, the environment and the options, each on top of the one before."""

from __future__ import annotations

import itertools
from argparse import Namespace
from pathlib import Path

import pytest

from tests.conftest import Command
from tripos.settings.config import Config
from tripos.settings.load import load_config, load_settings, with_options
from tripos.settings.options import VARIABLES
from tripos.settings.runtime import limits_of, prices_of
from tripos_compiler.errors import TriposError
from tripos_runtime.models.families import open_model

KEY = "sk-proj-4f1d9c0b7a6e5d3c2b1a"


def write(folder: Path, text: str) -> Path:
    (folder / "tripos.toml").write_text(text, "utf-8")
    return folder


def loaded(folder: Path, text: str, profile: str | None = None, **environ: str) -> Config:
    return load_config(write(folder, text), profile=profile, environ=environ)


def refused(folder: Path, text: str, profile: str | None = None, **environ: str) -> TriposError:
    with pytest.raises(TriposError) as caught:
        loaded(folder, text, profile, **environ)
    return caught.value


WHOLE = """\
data = ["data"]
store = "kept"
models = ["a/b", "c/d"]
budget = ["5usd", "1000calls"]
profile = "usual"

[roles]
judge = ["e/f"]
panel = "g/h"

[endpoints."openai/x"]
base_url = "http://127.0.0.1:8000/v1/"
api_key_env = "X_KEY"
requests_per_minute = 60
tokens_per_minute = 10000
max_connections = 3

[prices."openai/x"]
input = 0.5
output = 1.5
cached_input = 0.05

[limits]
max_connections = 8
max_retries = 2
timeout_s = 30
patience_s = 60
requests_per_minute = 600

[profiles.usual]
models = ["usual/one"]

[profiles.ci]
store = "ci"
roles = { judge = "mock/careful" }
limits = { max_connections = 2 }
endpoints = { "openai/x" = { base_url = "http://127.0.0.1:9/v1" } }
"""


def test_everything_of_a_run_can_stand_in_the_file(tmp_path: Path) -> None:
    config = loaded(tmp_path, WHOLE)
    assert config.data == (str(tmp_path / "data"),)
    assert config.store == str(tmp_path / "kept")
    assert config.roles == {"judge": ("e/f",), "panel": ("g/h",)}
    assert config.budget == ("5usd", "1000calls")
    assert config.endpoints["openai/x"].base_url == "http://127.0.0.1:8000/v1"
    assert (config.limits.timeout_s, config.limits.patience_s, config.limits.max_retries) == (30, 60, 2)


def test_the_profile_that_the_file_names_holds_unless_another_is_chosen(tmp_path: Path) -> None:
    assert loaded(tmp_path, WHOLE).models == ("usual/one",)
    assert loaded(tmp_path, WHOLE, "ci").models == ("a/b", "c/d")
    assert loaded(tmp_path, WHOLE, TRIPOS_PROFILE="ci").store == str(tmp_path / "ci")
    assert loaded(tmp_path, WHOLE, "usual", TRIPOS_PROFILE="ci").store == str(tmp_path / "kept")


def test_a_profile_replaces_entries_of_tables_and_keeps_the_others(tmp_path: Path) -> None:
    config = loaded(tmp_path, WHOLE, "ci")
    assert config.roles == {"judge": ("mock/careful",), "panel": ("g/h",)}
    assert (config.limits.max_connections, config.limits.max_retries) == (2, 2)
    assert config.endpoints["openai/x"].api_key_env is None, "a key of another address"


@pytest.mark.parametrize("layers", list(itertools.product([False, True], repeat=4)))
def test_later_layers_win(tmp_path: Path, layers: tuple[bool, ...]) -> None:
    in_file, in_profile, in_environment, in_options = layers
    text = ("[limits]\nmax_connections = 1\n" if in_file else "") + (
        "[profiles.p.limits]\nmax_connections = 2\n" if in_profile else "[profiles.p]\n"
    )
    environ = {"TRIPOS_MAX_CONNECTIONS": "3"} if in_environment else {}
    config = with_options(
        loaded(tmp_path, text, "p", **environ), Namespace(max_connections=4 if in_options else None, budget=[])
    )
    wanted = 4 if in_options else 3 if in_environment else 2 if in_profile else 1 if in_file else 16
    assert config.limits.max_connections == wanted


VALUES = {
    "TRIPOS_BUDGET": "1usd",
    "TRIPOS_DENY": "W0309",
    "TRIPOS_STORE": "s",
    "TRIPOS_DATA": "d",
    "TRIPOS_MODEL": "a/b",
}


@pytest.mark.parametrize("name", [name for name, option in VARIABLES.items() if option.setting])
def test_every_variable_reaches_its_setting(tmp_path: Path, name: str) -> None:
    usual, config = loaded(tmp_path, ""), loaded(tmp_path, "", **{name: VALUES.get(name, "7")})
    changed, before = VARIABLES[name].setting_in(config), VARIABLES[name].setting_in(usual)
    assert changed != before
    assert usual == loaded(tmp_path, "", **{name: ""})


def test_a_role_of_the_environment_is_in_lower_case(tmp_path: Path) -> None:
    config = loaded(tmp_path, "[roles]\njudge = 'a/b'\n", TRIPOS_ROLE_JUDGE="c/d,e/f")
    assert config.roles == {"judge": ("c/d", "e/f")}


def test_a_value_of_the_environment_that_does_not_fit_names_its_variable(tmp_path: Path) -> None:
    failure = refused(tmp_path, "", TRIPOS_MAX_CONNECTIONS="many")
    assert failure.code == "R0203"
    assert failure.message == "`TRIPOS_MAX_CONNECTIONS` must be a whole number"


def test_the_nearest_file_above_holds_and_its_paths_are_its_own(tmp_path: Path) -> None:
    assert load_config(tmp_path, environ={}).store == "results"
    inner = write(tmp_path, "store = 'kept'\n") / "a" / "b"
    inner.mkdir(parents=True)
    chosen = load_settings(inner, profile=None, environ={})
    assert (chosen.path, chosen.config.store) == (tmp_path / "tripos.toml", str(tmp_path / "kept"))
    write(inner.parent, "")
    assert load_config(inner, environ={}).store == str(inner.parent / "results")
    assert load_config(write(inner, "store = 'near'\n"), environ={}).store == str(inner / "near")


@pytest.mark.parametrize(
    ("text", "line", "words", "hint"),
    [
        ("stor = 'x'\n", 1, "`stor`", "`store`"),
        ("\n[limits]\nmax_conections = 4\n", 3, "`limits.max_conections`", "`max_connections`"),
        ("[endpoints.'a/b']\nbase_ur = 'http://x'\n", 2, '`endpoints."a/b".base_ur`', "`base_url`"),
        ("[profiles.ci]\nmodel = 'a/b'\n", 2, "`profiles.ci.model`", "`models`"),
        ("[profiles.ci.limits]\ntimeout = 3\n", 2, "`profiles.ci.limits.timeout`", "`timeout_s`"),
        ("[prices.'a/b']\nimput = 1\noutput = 2\n", 2, '`prices."a/b".imput`', "`input`"),
    ],
)
def test_an_unknown_setting_is_told_with_its_line_and_what_was_meant(
    tmp_path: Path, text: str, line: int, words: str, hint: str
) -> None:
    extra = "base_url = 'http://x'\n" if "base_ur" in text else "input = 1\n" if "imput" in text else ""
    failure = refused(tmp_path, text + extra)
    assert failure.code == "R0203"
    assert failure.message == f"{tmp_path}/tripos.toml:{line}: there is no setting {words}"
    assert failure.hint == f"did you mean {hint}?"


@pytest.mark.parametrize(
    ("text", "line", "words", "hint"),
    [
        ("[endpoints.'a/b']\nbaseurl = 'http://x'\n", 2, '`endpoints."a/b".baseurl`', "`base_url`"),
        ("[prices.'a/b']\nin = 1\nouput = 2\n", 2, '`prices."a/b".in`', "input, output"),
    ],
)
def test_a_misspelt_setting_comes_before_the_value_that_is_missing_because_of_it(
    tmp_path: Path, text: str, line: int, words: str, hint: str
) -> None:
    failure = refused(tmp_path, text)
    assert failure.message.startswith(f"{tmp_path}/tripos.toml:{line}: there is no setting {words} (and ")
    assert hint in failure.hint


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("max_connections = 0\n", 1, "must be at least 1"),
        ("[limits]\ntimeout_s = 'long'\n", 2, "must be a number"),
        ("[prices.'a/b']\ninput = 1\n", 1, "is missing"),
        ("[prices.'a/b']\ninput = -1\noutput = 1\n", 2, "must be at least 0"),
        ("[endpoints.x]\nbase_url = 'localhost:8000'\n", 2, "begins with http:// or https://"),
        ("[endpoints.x]\nbase_url = 'example.org/v1'\n", 2, "begins with http:// or https://"),
        ("[endpoints.x]\nbase_url = '//example.org/v1'\n", 2, "begins with http:// or https://"),
        ("models = 5\n", 1, "must be a list of texts"),
        ("store = 5\n", 1, "must be a text in quotes"),
        ("roles = 'x'\n", 1, "must be a table"),
        ("limits = 3\n", 1, "must be a table"),
        ("max_connections = 1\n[limits]\nmax_connections = 2\n", None, "is at the top and in [limits]"),
        ("store = \n", None, "line 1"),
        ("a = 1\na = 2\n", None, "line 2"),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_line(
    tmp_path: Path, text: str, line: int | None, words: str
) -> None:
    failure = refused(tmp_path, text)
    assert line is None or failure.message.startswith(f"{tmp_path}/tripos.toml:{line}: ")
    assert words in failure.message


def test_a_file_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "tripos.toml").write_bytes(b"store = '\xff'\n")
    with pytest.raises(TriposError, match="not UTF-8"):
        load_config(tmp_path, environ={})


def test_an_unknown_profile_has_a_suggestion(tmp_path: Path) -> None:
    assert refused(tmp_path, WHOLE, "usal").hint == "did you mean `usual`?"
    assert refused(tmp_path, "", "ci").hint == "write a table [profiles.ci] into tripos.toml"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"[endpoints.x]\nbase_url = 'http://x'\napi_key = '{KEY}'\n", 3),
        (f"[endpoints.x]\nbase_url = 'http://x'\napi_key_env = '{KEY}'\n", 3),
        ("[endpoints.x]\nbase_url = 'http://x'\napi_key_env = '0a1b2c3d4e5f60718293'\n", 3),
        ("[endpoints.x]\nbase_url = 'https://ann:0a1b2c3d4e5f@example.org/v1'\n", 2),
        ("[endpoints.x]\nbase_url = 'https://example.org/v1?api_key=0a1b2c3d4e5f'\n", 2),
        ("OPENAI_API_KEY = '0a1b2c3d4e5f'\n", 1),
        (f"models = ['openai/gpt-4o', '{KEY}']\n", 1),
        (f"[profiles.ci.endpoints.x]\nbase_url = 'http://x'\nkey = '{KEY}'\n", 3),
        (f"'{KEY}' = 1\n", None),
    ],
)
def test_a_key_in_the_file_is_refused_and_not_shown(tmp_path: Path, text: str, line: int | None) -> None:
    failure = refused(tmp_path, text)
    assert failure.code == "R0207"
    assert failure.message.startswith(f"{tmp_path}/tripos.toml" + (f":{line}: " if line else ""))
    shown = f"{failure.message} {failure.hint}"
    assert KEY not in shown and "0a1b2c3d4e5f" not in shown


def test_tokens_per_minute_is_no_key(tmp_path: Path) -> None:
    assert loaded(tmp_path, "[limits]\ntokens_per_minute = 5\n").limits.tokens_per_minute == 5


def test_prices_are_for_a_million_tokens(tmp_path: Path) -> None:
    price = prices_of(loaded(tmp_path, WHOLE))["openai/x"]
    assert price.cost_usd(1_000_000, 1_000_000, cached=1_000_000) == pytest.approx(0.05 + 1.5)


def test_a_rate_for_all_holds_where_an_endpoint_has_none_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-this-test")
    models = {name: open_model(name) for name in ("mock/careful", "openai/gpt-4o")}
    limits = limits_of(loaded(tmp_path, WHOLE), models)
    assert limits.requests_per_minute == {"openai/x": 60, models["openai/gpt-4o"].endpoint: 600}
    assert limits.tokens_per_minute == {"openai/x": 10000}
    assert (limits.max_connections, limits.connections) == (8, {"openai/x": 3})


def test_an_unknown_variable_that_is_called_like_ours_is_warned_of(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIPOS_STOER", "elsewhere")
    assert "did you mean `TRIPOS_STORE`?" in tripos("doctor", "--json").out
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a", "--json")
    assert done.code == 0
    assert "warning[W1208]: no setting is called `TRIPOS_STOER`\n  = help: did you mean `TRIPOS_STORE`?" in done.err


def test_a_run_takes_its_models_limits_and_store_from_the_profile(quiz: Path, tripos: Command) -> None:
    write(
        quiz,
        "models = 'mock/down'\n[profiles.ci]\nmodels = 'mock/careful'\nroles.judge = ['mock/careful:a']\nstore = 'ci'\n"
        "budget = '1000calls'\n",
    )
    done = tripos("run", "quiz.tripos", "--profile", "ci", "--json")
    assert done.code == 0, done.err
    assert (quiz / "ci" / "tripos-store.json").is_file()
    assert done.data["budget"]["calls"]["most"] == 1000


def test_a_variable_of_the_env_file_is_a_setting_too(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIPOS_MODEL", "")  # so that what `.env` sets is undone after the test
    monkeypatch.delenv("TRIPOS_MODEL")
    (quiz / ".env").write_text("TRIPOS_MODEL=mock/careful\n")
    done = tripos("run", "quiz.tripos", "--role", "judge=mock/careful:a", "--json")
    assert done.code == 0, done.err


def test_a_report_reads_the_store_of_the_environment(
    quiz: Path, tripos: Command, once: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIPOS_STORE", "elsewhere")
    assert once("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a").code == 0
    assert (quiz / "elsewhere").is_dir() and not (quiz / "results").exists()
    assert tripos("report", "--json").code == 0
