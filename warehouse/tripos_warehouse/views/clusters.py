"""Which items of a benchmark were drawn together, and what a figure says of that."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tripos_compiler.language import Clustering, RowClusters
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


def clusterings_of(connection: Connection, plan: Plan) -> tuple[Clustering, ...]:
    """Return what the items that are shown are clustered by, where some share a cluster."""
    clusters = RowClusters(plan)
    if not clusters.scenarios:
        return ()
    members: dict[str, list[tuple[str, str]]] = {}
    query = f"select scenario::varchar, item_id, cluster_id from {sql.name(plan.benchmark.name)}.items order by all"
    for scenario, item, cluster in connection.execute(query).fetchall():
        members.setdefault(scenario, []).append((item, cluster))
    return clusters.count(members)


def lacks_clusters(connection: Connection, plan: Plan) -> bool:
    """Return true if nothing says in which clusters the items lie that the plan has some for: the run that listed them
    was made before that was kept."""
    clusters = RowClusters(plan)
    if not any(each.rows is not None and clusters.by(each.rows.dataset) is not None for each in plan.scenarios):
        return False
    query = f"select 1 from {sql.name(plan.benchmark.name)}.items where cluster_id <> item_id limit 1"
    return connection.execute(query).fetchone() is None


def count_clusters(items: Collection[str], clusters: Mapping[str, str]) -> int:
    """Return in how many clusters items lie.

    >>> count_clusters({"a", "b", "c"}, {"a": "x", "b": "x"})
    2
    """
    return len({clusters.get(item, item) for item in items}) if clusters else len(items)
