"""The score of each reply by every metric, of all evaluators that count in one figure, and of each alone: what a filter
reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 65_536
"""Rows of a group; each group is of one pair."""
SCHEMA = pa.schema([("metric", pa.string()), ("evaluator", pa.string()), ("n", pa.int32()), ("score", pa.float32())])
QUERY = """
  select cast(row.metric as varchar) as metric, row.evaluator, shown.n::integer as n,
    coalesce({place}, row.value) as place, {counted} as counted
  from {joined}"""
"""A score is at its place on its scale, or as it is where it has no scale."""


def write_marks(scores: pa.Table, order: Sequence[str], path: Path) -> None:
    """Write the means of `scores`, which are the rows of `QUERY`, by metric, evaluator and reply, the metrics in their
    `order` and others behind them. The foot of the file says where each pair begins; null stands for every evaluator
    whose scores count in one figure."""
    pairs: list[list[Any]] = []
    rows = 0
    with pq.ParquetWriter(path, SCHEMA, compression="snappy", write_statistics=False) as writer:
        for metric, evaluator, n, score in _means(scores, order):
            texts = (pa.repeat(pa.scalar(each, pa.string()), len(n)) for each in (metric, evaluator))
            writer.write_table(pa.table([*texts, n, score], schema=SCHEMA), row_group_size=GROUP_ROWS)
            pairs.append([metric, evaluator, rows])
            rows += len(n)
        writer.add_key_value_metadata({"pairs": orjson.dumps(pairs).decode()})


def _means(scores: pa.Table, order: Sequence[str]) -> Iterator[tuple[str, str | None, pa.Array, pa.Array]]:
    """Yield each pair that has scores, with its replies and the means of theirs."""
    import numpy as np

    metrics, of_metric = _coded(scores.column("metric"))
    evaluators, of_evaluator = _coded(scores.column("evaluator"))
    n = scores.column("n").to_numpy()
    place = scores.column("place").to_numpy()
    counted = scores.column("counted").to_numpy()
    known = {name: at for at, name in enumerate(order)}
    for metric in sorted(metrics, key=lambda name: (known.get(name, len(known)), name)):
        mine = np.flatnonzero(of_metric == metrics.index(metric))
        for evaluator in (None, *evaluators):
            of = counted[mine] if evaluator is None else of_evaluator[mine] == evaluators.index(evaluator)
            rows = mine[of]
            if len(rows):
                yield (metric, evaluator, *_by_reply(n[rows], place[rows]))


def _coded(column: pa.ChunkedArray) -> tuple[list[str], Any]:
    """Return the texts of a column in their order, and the place of each row's, or -1 for none."""
    import numpy as np

    coded = column.combine_chunks().dictionary_encode()
    texts: Sequence[str] = coded.dictionary.to_pylist()
    known = sorted(texts)
    places = np.array([known.index(text) for text in texts] or [0])
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return known, np.where(codes < 0, -1, places[codes])


def _by_reply(n: Any, place: Any) -> tuple[pa.Array, pa.Array]:
    """Return every reply once, and the mean of its places that are known."""
    import numpy as np

    order = np.argsort(n, kind="stable")
    n, place = n[order], place[order]
    starts = np.flatnonzero(np.diff(n, prepend=-1))
    known = ~np.isnan(place)
    sums = np.add.reduceat(np.where(known, place, 0.0), starts)
    counts = np.add.reduceat(known.astype(np.int64), starts)
    means = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    most = np.finfo(np.float32).max  # a filter takes what is further out for it
    return pa.array(n[starts], pa.int32()), pa.array(np.clip(means, -most, most).astype(np.float32), from_pandas=True)
