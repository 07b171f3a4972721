"""The proof of secrecy and the trial, held against each other on generated specs and on the cases of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lengths import sized
from tests.secret_specs import secret_spec
from tests.worlds_tried import Tried, tried


@pytest.mark.parametrize(
    "seeds",
    [range(sized(4, 40)), *(pytest.param(range(n, n + 100), marks=pytest.mark.long) for n in range(100, 500, 100))],
)
def test_what_is_accepted_differs_in_no_pair_of_worlds(seeds: range, tmp_path: Path) -> None:
    found = Tried()
    for seed in seeds:
        found.add(tried(seed, tmp_path / str(seed)))
    assert found.leaks == {}
    assert found.wrong == {}
    assert found.accepted > len(seeds) * 0.3
    assert found.refused > len(seeds) * 0.2


def test_most_that_is_refused_is_found_by_the_trial_too(tmp_path: Path) -> None:
    """Were the trial blind, it would hold nothing against the proof."""
    found = Tried()
    for seed in range(48, sized(60, 98)):
        found.add(tried(seed, tmp_path / str(seed)))
    assert len(found.quiet) < 0.4 * found.refused


def test_a_seed_gives_the_same_spec() -> None:
    assert secret_spec(7) == secret_spec(7)
    assert secret_spec(7) != secret_spec(8)
