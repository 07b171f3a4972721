"""The snapshots that replies came from, as endpoints report them: a model that was replaced under its name is told."""

from __future__ import annotations

import duckdb


def several_snapshots(connection: duckdb.DuckDBPyConnection, schema: str) -> dict[str, dict[str, int]]:
    """The models whose replies among the rows shown came from more than one snapshot, and how many from each. A reply
    without one counts for none: not every endpoint tells."""
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
