"""The proof of secrecy, held against worlds that are written out as files: rows in other files, joined otherwise, with
secrets that they have exchanged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.arranged_specs import SECRET, arranged_spec
from tests.arranged_worlds import Arranged, arrange
from tests.lengths import sized


@pytest.mark.parametrize(
    "seeds",
    [range(sized(6, 40)), *(pytest.param(range(n, n + 100), marks=pytest.mark.long) for n in range(100, 400, 100))],
)
def test_what_is_accepted_sends_the_same_whatever_the_rows_exchange(seeds: range, tmp_path: Path) -> None:
    found = Arranged()
    for seed in seeds:
        arrange(seed, tmp_path / str(seed), found, worlds=sized(2, 4))
    assert found.leaks == {}
    assert len(found.wrong) <= 0.2 * len(seeds), found.wrong
    if len(seeds) >= 40:
        assert found.accepted > 0.3 * len(seeds)
        assert found.differ > 0.7 * found.refused, found.quiet


def test_what_differs_in_written_worlds_differs_in_those_of_a_trial(tmp_path: Path) -> None:
    """The trial knows nothing of the proof, so it must find by itself what layouts, joins and doors tell."""
    found = Arranged()
    for seed in range(40, sized(52, 140)):
        arrange(seed, tmp_path / str(seed), found, worlds=2, trial=True)
    assert found.differ > 2
    assert len(found.unseen) <= 0.1 * found.differ, found.unseen


def test_rows_of_another_world_have_the_same_public_fields_and_lie_in_the_files_of_their_groups() -> None:
    for seed in range(20):
        drawn = arranged_spec(seed)
        dealt = drawn.dealt(random.Random(seed))
        for before, after in zip(drawn.rows, dealt, strict=True):
            assert {name: before[name] for name in before if name not in SECRET} == {
                name: after[name] for name in after if name not in SECRET
            }
            assert before == after or not drawn.parted or before["split"] == "test"
        if drawn.named:
            files = drawn.files(dealt, random.Random(seed))
            for group in {row["group"] for row in dealt}:
                numbers = sorted(row["n"] for row in files[f"it/q.{group}.jsonl"])
                assert numbers == sorted(row["n"] for row in dealt if row["group"] == group)


def test_a_seed_gives_the_same_spec() -> None:
    assert arranged_spec(7) == arranged_spec(7)
    assert arranged_spec(7) != arranged_spec(8)
