"""An address that nobody serves is refused before anything is asked or written."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.each import each
from tripos.cli.parser import COMMANDS, build_parser
from tripos.settings.load import load_config
from tripos_compiler.errors import ExitCode, TriposError
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store

ADDRESSES = ("http://bucket/results", "ftp://c/results", "https://example.org/results", "hf://o/n")


def options() -> list[tuple[list[str], argparse.ArgumentParser, str]]:
    """Return every option that takes a folder or a file, after the words and the parser of its verb."""
    found = []
    waiting: list[tuple[list[str], argparse.ArgumentParser]] = [
        ([verb], parser) for verb, parser in _below(build_parser()).items() if verb in COMMANDS
    ]
    while waiting:
        words, parser = waiting.pop()
        for name, inner in _below(parser).items():
            waiting.append(([*words, name], inner))
        for action in parser._actions:
            if action.option_strings and action.metavar in ("DIR", "FILE", "TOML"):
                found.append((words, parser, action.option_strings[-1]))
    return found


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    several = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next((dict(action.choices) for action in several), {})


@each("words, parser, option", options)
def test_every_option_of_a_folder_or_a_file_refuses_an_address(
    words: list[str],
    parser: argparse.ArgumentParser,
    option: str,
    tripos: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    known, others = parser._actions, []
    for group in parser._mutually_exclusive_groups:  # of which the verb needs one
        names = [each.option_strings[-1] for each in group._group_actions]
        if group.required and option not in names:
            others += [names[0], "x"]
    for action in known:  # what else the verb needs
        if action.option_strings and action.required and option not in action.option_strings:
            others += [action.option_strings[-1], "x"]
        if not action.option_strings and action.nargs not in ("?", "*") and action.metavar != "ACTION":
            others += [next(iter(action.choices or ("x",)))]
    result = tripos(*words, *others, option, "http://bucket/results")
    assert result.code == ExitCode.USAGE
    assert "error[S0106]: `http://bucket/results` is an address of `http`, which is not served" in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["quiz.tripos", "tripos.toml", ".env"])
@pytest.mark.parametrize(
    "words",
    [
        ("export", "distillation", "-o"),
        ("run", "quiz.tripos", "--events"),
        ("report", "--junit"),
        ("lock", "quiz.tripos", "-o"),
    ],
)
def test_what_people_wrote_is_not_written_over(
    words: tuple[str, ...], name: str, quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(quiz)
    before = (quiz / "quiz.tripos").read_bytes()
    result = tripos(*words, name)
    assert result.code == ExitCode.USAGE and f"{name}` would write over a spec or settings" in result.err
    assert (quiz / "quiz.tripos").read_bytes() == before


@pytest.mark.parametrize(("folder", "there"), [("shared.tripos", True), ("shared.tripos/", False), (".env", True)])
def test_a_folder_may_have_the_name_of_a_spec(
    folder: str, there: bool, quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(quiz)
    if there:
        Path(folder).mkdir()
    tripos("run", ".", "--model", "mock/careful", "--role", "judge=mock/careful")
    result = tripos("export", "csv", "-o", folder)
    assert result.code == 0 and (quiz / folder / "samples.csv").is_file()


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_run_into_an_address_asks_nothing_and_writes_nothing(
    address: str, quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(quiz)
    before = sorted(quiz.rglob("*"))
    result = tripos("run", ".", "--model", "mock/careful", "--role", "judge=mock/careful", "--store", address)
    assert (result.code, sorted(quiz.rglob("*"))) == (ExitCode.USAGE, before)
    assert "S0106" in result.err


def test_a_file_address_says_the_path(tripos: Command) -> None:
    assert "write it as a path: /srv/my results" in tripos("list", "--store", "file:///srv/my%20results").err


def test_a_file_of_settings_names_no_bucket_and_a_variable_may(tmp_path: Path) -> None:
    (tmp_path / "tripos.toml").write_text('store = "s3://b/x"\n', "utf-8")
    with pytest.raises(TriposError, match=r"tripos.toml:1.*your keys go to none that a file names"):
        load_config(tmp_path, environ={})
    (tmp_path / "tripos.toml").unlink()
    assert load_config(tmp_path, environ={"TRIPOS_STORE": "s3://b/x"}).store == "s3://b/x"


@pytest.mark.parametrize("line", ['store = "ftp://b/x"', 'data = ["s3://b/x"]', 'releases = ["s3://b/x"]'])
def test_a_setting_refuses_an_address_and_names_its_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "tripos.toml").write_text(f"{line}\n", "utf-8")
    with pytest.raises(TriposError, match=r"tripos.toml:1.*is an address of `(s3|ftp)`, which is not served") as caught:
        load_config(tmp_path, environ={})
    assert caught.value.code == "R0203"


def test_a_variable_refuses_an_address(tmp_path: Path) -> None:
    with pytest.raises(TriposError, match="an address of `ftp`"):
        load_config(tmp_path, environ={"TRIPOS_STORE": "ftp://b/x"})


@pytest.mark.parametrize("place", ["ftp://b/x", Path("ftp://b/x")])
def test_a_store_opened_from_python_refuses_an_address(
    place: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="S0106"):
        Store.open(place, create=True)
    assert list(tmp_path.iterdir()) == []
