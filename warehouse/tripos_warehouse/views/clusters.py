"""Which items of a benchmark were drawn together, and what a figure says of that."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tripos_compiler.language import RowClusters
from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.query import Connection


def clusters_of(connection: Connection, plan: Plan) -> Mapping[str, str]:
    """Return the cluster of each item that shares one with others, by item; any other item is a cluster of its own."""
    if not RowClusters(plan).scenarios:
        return {}
    query = f"""select item_id, min(cluster_id) from {sql.name(plan.benchmark.name)}.items
      where cluster_id <> item_id group by item_id"""
    return dict(connection.execute(query).fetchall())


def count_clusters(items: Collection[str], clusters: Mapping[str, str]) -> int:
    """Return in how many clusters items lie.

    >>> count_clusters({"a", "b", "c"}, {"a": "x", "b": "x"})
    2
    """
    return len({clusters.get(item, item) for item in items}) if clusters else len(items)
