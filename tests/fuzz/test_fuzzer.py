"""The fuzzer finds what fails, makes it smaller, and keeps counts."""

from __future__ import annotations

import json
import os
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import mutators, run
from tests.fuzz.trying import BrokenRule, Finding, Outcome, Refused, Target, set_alarm, smaller, try_input
from tripos_compiler.errors import TriposError
from tripos_warehouse.errors import StoreError

SEEDS = (b"one two\n", b"three\n", b'{"a": [1, "b"]}\n')


def crash(data: bytes) -> None:
    if b"e" in data and b"\0" in data:
        raise KeyError(data)
    if b"\0" in data:
        raise Refused("E0001")


def hang(data: bytes) -> None:
    while b"x" in data:
        pass


def die(data: bytes) -> None:
    if b"two" not in data:
        os._exit(3)


def target(run: object, **more: object) -> Target:
    return Target(run, lambda: SEEDS, **more)  # type: ignore[arg-type]


def fuzzed(monkeypatch: pytest.MonkeyPatch, tried: Target, runs: int) -> tuple[run.Tally, list[Finding]]:
    monkeypatch.setitem(run.TARGETS, "tried", tried)
    return run.fuzz("tried", 1, runs, 1e9)


def test_a_crash_is_found_made_smaller_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tally, [found] = fuzzed(monkeypatch, target(crash), 2000)
    assert (found.sort, found.cause) == ("crash", "KeyError")
    assert sorted(found.data) == [0, ord("e")]
    assert tally.inputs == 2000
    assert tally.taken + tally.refused.total() + tally.crashes == 2000
    assert tally.crashes > 1 and tally.refused["E0001"] > 1


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    set_alarm()
    found = try_input(target(hang), b"x", 0.05)
    assert isinstance(found, Finding) and found.sort == "hang"
    assert isinstance(try_input(target(hang), b"", 0.05), Outcome)


def test_a_process_that_dies_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    tally, [found] = fuzzed(monkeypatch, target(die), 12)
    assert (found.sort, found.cause) == ("crash", "the process ended with 3")
    assert b"two" not in found.data
    assert tally.inputs >= 12


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (TriposError("R0203", "wrong", "fix it"), None),
        (StoreError("S0402", "wrong"), None),
        (TriposError("R0203", " "), "R0203 without a message"),
        (TriposError("oops", "wrong"), "an error with the code 'oops'"),
        (TriposError("R0203", "internal error", "fix it"), "R0203 is an internal error"),
        (BrokenRule("a rule: told"), "a rule"),
    ],
)
def test_an_error_must_be_one_that_a_user_can_act_on(error: Exception, cause: str | None) -> None:
    def refuse(data: bytes) -> None:
        raise error

    set_alarm()
    tried = try_input(target(refuse), b"")
    assert cause == (tried.cause if isinstance(tried, Finding) else None)


def test_the_same_seed_makes_the_same_inputs() -> None:
    for mutate in (mutators.mutated, mutators.mutated_text, mutators.mutated_json, mutators.mutated_lines):
        tried = target(crash, mutate=mutate, write=lambda random: random.randbytes(4))
        one, other, another = ([data for data, _ in islice(run.inputs(tried, seed, "t"), 50)] for seed in (1, 1, 2))
        assert one == other != another
        assert one[: 3 * run.AS_IS : run.AS_IS] == list(SEEDS)


def test_every_mutator_takes_what_has_nothing_in_it() -> None:
    for mutate in (*mutators.BYTES, *mutators.LINES, mutators.mutated_xml, mutators.mutated_zip):
        for number in range(20):
            assert isinstance(mutate(Random(number), b"", []), bytes)


def test_a_shrunk_input_fails_in_the_same_way() -> None:
    set_alarm()
    tried: list[bytes] = []
    first = try_input(target(crash), b"a\nb\ne\n\0\nc\n" * 3)
    assert isinstance(first, Finding)
    best = smaller(target(crash), first, tried.append)
    assert sorted(best.data) == [0, ord("e")] and best.data in tried


def test_counts_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(run.TARGETS, "tried", target(crash))
    monkeypatch.setattr(run, "FOUND", tmp_path / "found")
    monkeypatch.setattr(run, "ROOT", tmp_path)
    log = tmp_path / "log"
    words = ["run.py", "tried", "--runs", "500", "--keep", "--log", str(log)]
    for seed in ("1", "2"):
        monkeypatch.setattr("sys.argv", [*words, "--seed", seed])
        assert run.main() == 1
    assert "kept as found/tried/keyerror-" in capsys.readouterr().out
    assert all(b"\0" in path.read_bytes() for path in (tmp_path / "found" / "tried").iterdir())
    assert [json.loads(line)["inputs"] for line in log.read_text().splitlines()] == [500, 500]
    monkeypatch.setattr("sys.argv", ["run.py", "--table", str(log)])
    assert run.main() == 0
    assert "| tried | 1,000 |" in capsys.readouterr().out
