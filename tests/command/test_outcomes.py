"""The outcome of a command: only the form that was asked for is made, and one place prints it."""

from __future__ import annotations

import ast
import io
import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import NoReturn

import pytest

import tripos.cli
from tests.sources import nodes_of
from tripos.cli.context import Context, Outcome, Output, Remark, Styled
from tripos.cli.main import run_command
from tripos_compiler.errors import ExitCode, TriposError
from tripos_warehouse.errors import StoreError

MODULES = sorted(Path(tripos.cli.__path__[0]).glob("*.py"))


def _refuse() -> NoReturn:
    raise AssertionError("this form was not asked for")


def _context(**options: object) -> Context:
    return Context(Namespace(**options))


def test_only_the_form_that_was_asked_for_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    lines = (_refuse() for _ in range(1))
    assert _context(json=True).show(Outcome(lambda: {"a": 1}, lines)) == ExitCode.SUCCESS
    assert json.loads(capsys.readouterr().out) == {"a": 1}
    _context(json=False).show(Outcome(_refuse, ["one", "", "two"], {"csv": _refuse}, _refuse))
    assert capsys.readouterr().out == "one\n\ntwo\n"
    _context(format="csv").show(Outcome(_refuse, lines, {"csv": lambda: "a\r\n"}, _refuse))
    assert capsys.readouterr().out == "a\r\n"


def test_an_error_in_a_line_leaves_no_half_of_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError):
        _context().show(Outcome(lines=(_refuse() if line else "one" for line in range(2))))
    assert capsys.readouterr().out == ""


def test_colours_are_those_of_styled_lines_alone(capsys: pytest.CaptureFixture[str]) -> None:
    red = "\x1b[31mred"
    _context().show(Outcome(lines=[red, Styled(red), Output("raw"), Remark("to people")]))
    printed = capsys.readouterr()
    assert printed.out == f"\\x1b[31mred\n{red}\nraw"
    assert printed.err == "to people\n"


def test_what_json_lacks_is_null_or_text(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"a": [float("inf"), (float("nan"), 1.5)], "b": Path("x"), "c": {"d": -0.0}}
    _context(json=True).show(Outcome(lambda: data))
    assert json.loads(capsys.readouterr().out) == {"a": [None, [None, 1.5]], "b": "x", "c": {"d": 0.0}}


class Closed(io.StringIO):
    """Standard output that its reader has closed."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_closed_output_changes_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Closed())
    outcome = Outcome(dict, ["one"], exit_code=ExitCode.EXPECTATION_FAILED)
    assert _context().show(outcome) == ExitCode.EXPECTATION_FAILED


def test_a_failure_follows_its_outcome(capsys: pytest.CaptureFixture[str]) -> None:
    failure = TriposError("R0202", "refused")
    with pytest.raises(TriposError) as raised:
        _context(json=True).show(Outcome(lambda: {"rejected": 1}, failure=failure))
    assert raised.value is failure
    assert json.loads(capsys.readouterr().out) == {"rejected": 1}


def test_an_outcome_that_was_printed_is_not_made_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command is run again without damaged rows, unless its failure follows a document."""
    failure = StoreError("S0103", "a part has changed")
    made: list[Context] = []

    def fail_late(context: Context) -> Outcome:
        made.append(context)
        return Outcome(lambda: {"rejected": 1}, failure=failure)

    monkeypatch.setattr(Context, "found_damage", lambda context: True)
    monkeypatch.setattr("tripos.cli.report.list_main", fail_late)
    assert run_command(["list", "--json"]) == failure.exit_code
    assert (len(made), json.loads(capsys.readouterr().out)) == (1, {"rejected": 1})

    def fail_early(context: Context) -> Outcome:
        made.append(context)
        if len(made) == 2:
            raise failure
        return Outcome(lambda: {"rows": 0})

    monkeypatch.setattr("tripos.cli.report.list_main", fail_early)
    assert run_command(["list", "--json"]) == ExitCode.SUCCESS
    assert (len(made), json.loads(capsys.readouterr().out)) == (3, {"rows": 0})


def test_a_command_gets_its_options_as_typed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tripos.cli.train.main", lambda context: Outcome(lambda: context.options.context))
    words = ["train", "reward", "pairs.jsonl", "--model", "m", "-o", "out", "--context", "7", "--json"]
    assert run_command(words) == ExitCode.SUCCESS
    assert capsys.readouterr().out == "7\n"


@pytest.mark.parametrize("options", [{"json": True, "format": "csv"}, {"format": "text", "interval": "pm"}])
def test_options_that_exclude_each_other_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(TriposError, match="R0202"):
        _context(**options).form  # noqa: B018 - it is made when it is read


def test_json_is_printed_in_one_place() -> None:
    """And a line of its own for each of several benchmarks."""
    using = {
        path.stem
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.Name) and node.id == "show_json"
    }
    assert using == {"context", "benchmarks"}
