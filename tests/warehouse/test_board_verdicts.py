"""What a board says in words is what its ranks, letters and corrected tests say, for drawn models and items."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import ndtr, ndtri

from tests.lengths import sized
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.language.contexts import Clustering
from tripos_warehouse.report.leaderboard import LEVEL, Board, BoardEntry, board_verdict
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.multiple_tests import compare_paired, rank_groups


def board_of(means: list[float], items: int, noise: float, seed: int, *, lower: bool = False) -> Board:
    """Return a board of models whose scores of an item differ by `noise` around their means."""
    dice = np.random.default_rng(seed)
    hardness = dice.normal(0, 0.3, items)
    scores = {
        f"lab/m{place}": dict(enumerate((hardness + mean + dice.normal(0, noise, items)).tolist()))
        for place, mean in enumerate(means)
    }
    signed = {
        model: {item: -value for item, value in each.items()} if lower else each for model, each in scores.items()
    }
    ranking = rank_groups(signed)
    measure: Any = SimpleNamespace(name="right", corrected=False, random=())
    entries = tuple(
        BoardEntry(
            float(np.mean(list(scores[rank.model].values()))), "", model=rank.model, rank=rank.rank, tied=False,
            letters=rank.letters, graders=(),
        )
        for rank in ranking.ranks
    )  # fmt: skip
    differences = {
        (first, second): compare_paired(scores[first], scores[second]).difference
        for first, second in ranking.differences
    }
    corrected = {
        pair: Estimate(each.value, low=each.low, high=each.high, standard_error=each.standard_error, n=each.n,
                       clusters=each.clusters, p=ranking.differences[pair].p)
        for pair, each in differences.items()
    }  # fmt: skip
    return Board("quiz", "1.0.0", measure, entries, lower, differences=nested(corrected))


def nested(differences: dict[tuple[str, str], Estimate]) -> dict[str, dict[str, Estimate]]:
    """Return differences by the first model of a pair, and then by the second."""
    found: dict[str, dict[str, Estimate]] = {}
    for (first, second), difference in differences.items():
        found.setdefault(first, {})[second] = difference
    return found


@settings(max_examples=sized(60, 1500), deadline=None)
@given(
    st.lists(st.sampled_from((0.2, 0.4, 0.41, 0.6, 0.9)), min_size=2, max_size=5),
    st.integers(6, 80),
    st.sampled_from((0.01, 0.2, 0.8)),
    st.integers(0, 10_000),
    st.booleans(),
)
def test_a_verdict_claims_what_the_tests_show_and_no_more(
    means: list[float], items: int, noise: float, seed: int, lower: bool
) -> None:
    board = board_of(means, items, noise, seed, lower=lower)
    best, *others = board.entries
    verdict = board_verdict(board)
    shown = [each for each in others if (board.differences[best.model][each.model].p or 1) < LEVEL]
    first, *rest = verdict
    assert ("is better than" in first) == bool(shown)
    assert ("no difference" in first) == (len(shown) < len(others))
    if "between the" in first:
        assert all(each.rank == 1 and set(each.letters) & set(best.letters) for each in others)
    claim, _, equal = first.partition("; ")
    for each in others:
        if "better" in claim and "others" not in claim:
            assert (each.model in claim) == (each in shown)
        if equal and "others" not in equal:
            assert (each.model in equal) == (each not in shown)
    for sentence in rest:
        if found := re.search(r"about ([\d,]+) items would show it; there are (\d+)", sentence):
            needed = int(found[1].replace(",", ""))
            assert needed > int(found[2]) == items
            pairs = [each for below in board.differences.values() for each in below.values()]
            left = sum((each.p or 0) >= LEVEL for each in pairs)  # Holm tests the next one at the level by this number
            difference = board.differences[best.model][next(each for each in others if each not in shown).model]
            distance = abs(difference.value or 0) / ((difference.standard_error or 1) * math.sqrt(items / needed))
            assert ndtr(distance - ndtri(1 - LEVEL / left / 2)) >= 0.8 - 1e-9
    assert all("{" not in each for each in verdict)


@pytest.mark.parametrize("board", [Board("quiz", "1.0.0", SimpleNamespace(), (), False)])  # type: ignore[arg-type]
def test_nothing_is_said_where_nothing_is_compared(board: Board) -> None:
    assert board_verdict(board) == []
    two = board_of([0.2, 0.9], 20, 0.01, 1)
    unlike = {
        first: dict.fromkeys(below, Estimate.undefined("others graded it")) for first, below in two.differences.items()
    }
    assert board_verdict(replace(two, differences=unlike)) == []


def test_clusters_are_not_called_items() -> None:
    board = board_of([0.4, 0.5], 12, 0.8, 5)
    assert "items would show it; there are 12" in board_verdict(board)[1]
    clustered = replace(board, clusterings=(Clustering("`passage`", ("quiz",), 12, 120, True),))
    assert "clusters would show it; there are 12" in board_verdict(clustered)[1]
    assert not re.search("[a-z]{3}", re.sub(r"lab/m\d", "", localized(board_verdict(clustered)[1], "zh")))


def test_a_model_that_another_one_beats_on_their_common_items_is_not_compared_in_words() -> None:
    board = board_of([0.2, 0.9], 40, 0.01, 1)
    first, second = board.entries
    entries = replace(second, rank=2), replace(first, rank=1)
    [[difference]] = [below.values() for below in board.differences.values()]
    back = replace(difference, value=-(difference.value or 0.0))
    assert board_verdict(replace(board, entries=entries, differences={second.model: {first.model: back}})) == []


def test_a_chinese_reader_reads_it_in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPOS_LANG", "zh")
    boards = [board_of(means, 40, 0.3, 5) for means in ([0.2, 0.9], [0.4, 0.41], [0.4, 0.41, 0.42], [0.9, 0.88, 0.2])]
    words = [re.sub(r"lab/m\d", "", localized(each)) for board in boards for each in board_verdict(board)]
    assert len(words) >= 5
    assert not [each for each in words if re.search("[a-z]{3}", each)], words
