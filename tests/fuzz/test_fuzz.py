"""Every input that once failed is read without a failure, and so are some hundred new ones of each target."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.fuzz.run import FOUND, inputs
from tests.fuzz.targets import TARGETS
from tests.fuzz.trying import Finding, set_alarm, try_input
from tests.lengths import sized

LIMIT = 30.0
"""CPU seconds that an input may take here: how fast a machine is proves nothing."""
KEPT = sorted(path.relative_to(FOUND).as_posix() for path in FOUND.glob("*/*"))


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGPROF)
    set_alarm()
    yield
    signal.signal(signal.SIGPROF, before)


def tried(name: str, data: bytes) -> None:
    outcome = try_input(TARGETS[name], data, LIMIT)
    assert not isinstance(outcome, Finding), f"{outcome.sort}, {outcome.cause}\n{outcome.detail}\n--- {data[:2000]!r}"


@pytest.mark.parametrize("kept", KEPT)
def test_what_failed_once_fails_no_more(kept: str) -> None:
    tried(Path(kept).parent.name, (FOUND / kept).read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_of_a_seed_are_taken_or_refused(name: str) -> None:
    target = TARGETS[name]
    for data, _ in islice(inputs(target, 1, name), sized(target.quick // 2, 20 * target.quick)):
        tried(name, data)


def test_what_is_kept_belongs_to_a_target() -> None:
    assert {Path(kept).parent.name for kept in KEPT} <= TARGETS.keys()
