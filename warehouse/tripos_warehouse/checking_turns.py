"""Whether conversations have their turns: every one that is over all of them, and none with a gap."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

WHOLE = """
select count(*), min(talk.sample_id)
from (
  select sample_id, max(json_array_length(parsed, '$.turns')) as turns
  from {samples} where starts_with(parsed, '{{"ended":') and json_valid(parsed) and status = 'ok'
  group by sample_id
) as talk
left join (
  select conversation_id, count(distinct number) as turns from {turns} where text is not null group by conversation_id
) as said on said.conversation_id = talk.sample_id
where coalesce(said.turns, 0) < talk.turns"""
GAPS = """
select count(*), min(conversation_id)
from (select conversation_id from {turns} group by conversation_id having max(number) > count(distinct number))"""
NO_TURNS = "(select NULL::varchar as conversation_id, NULL::bigint as number, NULL::varchar as text where false)"
NO_SAMPLES = "(select NULL::varchar as sample_id, NULL::varchar as parsed, NULL::varchar as status where false)"


def turns_lacking(
    database: duckdb.DuckDBPyConnection, samples: str | None, turns: str | None
) -> Iterator[tuple[int, str, str]]:
    """How many conversations lack turns, one of them, and what is wrong; `samples` and `turns` are what SQL reads these
    tables from, None where nothing is kept in one."""
    sources = {"samples": samples or NO_SAMPLES, "turns": turns or NO_TURNS}
    for query, wrong in ((WHOLE, "lacking turns"), (GAPS, "with a gap among the turns")):
        row = database.execute(query.format(**sources)).fetchone()
        assert row is not None
        if row[0]:
            yield row[0], row[1], wrong
