"""The snapshots that replies came from, as endpoints report them: a model that was replaced under its name is told."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

Snapshots = Mapping[str, Mapping[str, int]]
"""By model, how many replies came from each snapshot."""


def several_snapshots(connection: duckdb.DuckDBPyConnection, schema: str) -> dict[str, dict[str, int]]:
    """The models whose replies among the rows shown came from more than one snapshot. A reply without one counts for
    none: not every endpoint tells."""
    of = "select {0} as model, model_served, count(distinct {1}) as replies from {2}.{3} group by all"
    parts = (
        ("model", "sample_id", "samples"),
        ("evaluator", "judgement_id", "judgements"),
        ("model", "turn_id", "turns"),
    )
    every = " union all ".join(of.format(model, key, schema, table) for model, key, table in parts)
    query = f"""select model, model_served, sum(replies)::bigint from ({every}) where model_served <> ''
      group by all order by all"""
    found: dict[str, dict[str, int]] = {}
    for model, served, replies in connection.execute(query).fetchall():
        found.setdefault(model, {})[served] = replies
    return {model: counts for model, counts in found.items() if len(counts) > 1}


def snapshot_line(model: str, counts: Mapping[str, int]) -> str:
    """What people are told of a model.

    >>> snapshot_line("openai/a", {"a-0513": 3, "a-0806": 1})
    'Replies of openai/a by two snapshots: 3 by a-0513, 1 by a-0806. The figures mix them.'
    """
    words = {2: "two", 3: "three", 4: "four"}
    many = words.get(len(counts), str(len(counts)))
    told = ", ".join(f"{count:,} by {served}" for served, count in counts.items())
    return f"Replies of {model} by {many} snapshots: {told}. The figures mix them."
