"""Means for pictures: every score at its place on its own scale, from 0 to 1, so that scales can stand side by side."""

from __future__ import annotations

from typing import Any

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.query import Connection
from tripos_warehouse.views import LANGUAGE, are_counted, arm_columns, axis_columns

PLACED = """
case when high > low then (value - low) / (high - low) when high is null and value in (0, 1) then value end"""
"""Where a score lies on its scale, from 0 to 1, as SQL; null for one without a known scale."""


def grid_means(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return a mean for every scenario, metric and model."""
    return _rows(connection, plan, "scenario, metric, model", "scores", f"where {are_counted(plan)}")


def axis_means(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return a mean for every value of every axis and arm, and every model."""
    names = [*([LANGUAGE] if len(plan.benchmark.languages) > 1 else []), *axis_columns(plan), *arm_columns(plan)]
    found = []
    for name in names:
        for row in _rows(connection, plan, f"{sql.name(name)}, model", "scores", f"where {are_counted(plan)}"):
            value = row.pop(name)
            if value is not None:
                found.append({"axis": name, "value": value, **row})
    return found


def judge_means(connection: Connection, plan: Plan, by: str) -> list[dict[str, Any]]:
    """Return a mean for every evaluator and every value of `by`."""
    return _rows(connection, plan, f"evaluator, {by}", "scores", "where evaluator is not null")


def position_shares(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """Return for every evaluator of pairs the share of verdicts for the reply that was shown first; ties are half."""
    schema = sql.name(plan.benchmark.name)
    if not has_comparisons(connection, plan.benchmark.name):
        return []
    found = connection.execute(
        f"""select evaluator, step, avg(value), count(value) from {schema}.comparisons
        where evaluator is not null group by all order by all"""
    ).fetchall()
    return [{"evaluator": who, "step": step, "share": share, "n": n} for who, step, share, n in found]


def has_comparisons(connection: Connection, benchmark: str) -> bool:
    """Return true if the benchmark compares replies: others have no view of comparisons."""
    query = "select 1 from information_schema.tables where table_schema = ? and table_name = 'comparisons'"
    return bool(connection.execute(query, [benchmark]).fetchall())


def _rows(connection: Connection, plan: Plan, keys: str, view: str, where: str = "") -> list[dict[str, Any]]:
    names = [each.strip().strip('"') for each in keys.split(",")]
    told = ", ".join(f"cast({each} as varchar)" for each in keys.split(","))
    found = connection.execute(
        f"""select {told}, avg({PLACED}), count({PLACED}) from {sql.name(plan.benchmark.name)}.{view} {where}
        group by {keys} order by {keys}"""
    ).fetchall()
    return [{**dict(zip(names, row, strict=False)), "score": row[-2], "n": row[-1]} for row in found]
