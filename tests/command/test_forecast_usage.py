"""What replies took, counted by how long they are: the quantiles and means of the replies themselves."""

from __future__ import annotations

from collections import defaultdict

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from tripos.runs.forecast import _usage

REPLIES = st.lists(st.tuples(st.integers(0, 30) | st.integers(0, 10**6), st.none() | st.integers(0, 9000)), min_size=1)


@settings(deadline=None, max_examples=60)
@given(REPLIES)
def test_usage_by_counts_is_that_of_the_replies(replies: list[tuple[int, int | None]]) -> None:
    by_length: defaultdict[int, list[int | None]] = defaultdict(list)
    for out, sent in replies:
        by_length[out].append(sent)
    told = {out: [each for each in sent if each is not None] for out, sent in by_length.items()}
    counts = [
        (out, len(sent), sum(told[out]) if told[out] else None, len(told[out]))
        for out, sent in sorted(by_length.items())
    ]
    [wanted] = duckdb.execute(
        """select count(*), avg(sent), quantile_cont(out, 0.1), avg(out), quantile_cont(out, 0.95)
        from (select unnest($out) as out, unnest($sent) as sent)""",
        {"out": [out for out, _ in replies], "sent": [sent for _, sent in replies]},
    ).fetchall()
    usage = _usage(counts)
    found = (usage.replies, usage.tokens_in, usage.out_low, usage.out_mean, usage.out_high)
    for one, other in zip(found, wanted, strict=True):
        assert one == (None if other is None else pytest.approx(other, 1e-12))
