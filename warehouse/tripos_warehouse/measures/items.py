"""Item analysis of a run: difficulty, discrimination, suspect keys, near duplicates, split judges, positions of
answers.

An item is suspect if models that do better elsewhere do worse on it. The position of the right option should be uniform
over the options; a skewed one lets a model score by guessing letters.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import orjson

from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.language.evaluation import InternalError, Unavailable, evaluate
from tripos_compiler.language.references import subexpressions
from tripos_compiler.library.calls import is_call
from tripos_compiler.library.functions import multiple_choice
from tripos_compiler.plan import Call, Expr, Plan, Scenario, Score
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.measures.confusion import UNEVEN
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.statistics.validity import negative_discrimination, tested_correlation
from tripos_warehouse.views.derived import analysis_of
from tripos_warehouse.views.given_ids import excerpt_sql, given_ids

FEWEST = 5
"""With fewer items, equal scores may be chance."""
LEAST_MODELS = 3
"""With fewer models, it is no surprise that all or none solve an item."""
MANY = 0.2
"""The share of the items that is worth a remark."""
ROWS_AT_ONCE = 10_000
"""The number of rows of items that are Python values at a time."""
SPLIT_SPREAD = 0.5
"""Judges whose scores of an item are at least this share of the scale apart disagree on it."""


def item_remarks(connection: Connection, benchmark: str) -> Iterator[str]:
    """Yield the remarks on the items of a benchmark in the views of `connection`, as sentences."""
    ids = given_ids(connection, sql.name(benchmark))  # before: a connection has one answer at a time
    answer = connection.execute(
        f"""select metric::varchar, item_id, models, discrimination, solved_by, apart
        from {analysis_of(connection, benchmark)} order by scenario, metric, item_id"""
    )
    by_metric: defaultdict[str, _AnalysedItems] = defaultdict(_AnalysedItems)
    while rows := answer.fetchmany(ROWS_AT_ONCE):
        for metric, item, *row in rows:
            by_metric[metric].add(ids.get(item, item), *row)
    for metric, items in by_metric.items():
        if len(items.names) >= FEWEST:
            yield from items.remarks(metric, benchmark)


class _AnalysedItems:
    """The statistics of the items of a metric, in compact arrays for runs with many items."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._models, self._values = array("q"), array("d")
        self._solved: Counter[str] = Counter()
        self._disagreements = 0

    def add(
        self, name: str, models: int, discrimination: float | None, solved_by: str | None, apart: float | None
    ) -> None:
        """Add an item. `solved_by` is `every model`, `no model` or None."""
        self.names.append(name)
        self._models.append(models)
        self._values.append(math.nan if discrimination is None else discrimination)
        if models >= LEAST_MODELS and solved_by is not None:
            self._solved[solved_by] += 1
        self._disagreements += apart is not None and apart >= SPLIT_SPREAD

    def remarks(self, metric: str, benchmark: str) -> Iterator[str]:
        """Yield the remarks on the items as sentences."""
        count = len(self.names)
        every, none = self._solved["every model"], self._solved["no model"]
        if every + none >= MANY * count:
            text = (
                f"`{metric}`: every model solves {every:,} of {count:,} items and no model {none:,}:"
                " these tell no models apart"
            )
            yield text
        values = (None if math.isnan(value) else value for value in self._values)
        tested = (tested_correlation(value, models) for value, models in zip(values, self._models, strict=True))
        if suspects := [self.names[place] for place in negative_discrimination(tested)]:
            more = f" and {len(suspects) - 3:,} more" if len(suspects) > 3 else ""
            text = ", ".join(suspects[:3])
            worse = f"`{metric}`: models that do better elsewhere do worse on {text}{more}: look at the key"
            yield worse
        if self._disagreements >= MANY * count:
            text = (
                f"`{metric}`: judges are half of the scale or more apart on {self._disagreements:,} of {count:,} items:"
                f" look at `from {benchmark}.disagreements()`"
            )
            yield text


MOST_COMPARED = 1000
"""The most items whose texts are compared with each other."""
LEAST_LETTERS = 40
"""Shorter texts may be similar without being copies, such as sums."""
SHOWN = 15
"""The most items of a metric in the terminal."""
KEPT = 300
"""The most items of a metric on the page of results."""
EXCERPT = 60
"""The number of characters shown of a text."""


@dataclass(frozen=True)
class AnalysedItem:
    """The statistics of an item on a metric.

    `models` is the number of models with a score, `share` the mean position on the scale, and `discrimination` the
    correlation with the other items over models, with the 95 % interval from `low` to `high`. `solved_by` is `every
    model`, `no model` or None, and `apart` the distance between the judges, as a share of the scale.
    """

    scenario: str
    metric: str
    item_id: str
    models: int
    share: float | None
    discrimination: float | None
    low: float | None
    high: float | None
    solved_by: str | None
    apart: float | None
    wrong_key: bool = False
    """True if models that do better on other items do worse on it, at a false discovery rate of 5 %."""
    near: str | None = None
    """An earlier item with nearly the same text."""
    text: str | None = None
    """The beginning of its longest text that is not secret: of what it asks, and not of the answer."""
    given_id: str | None = None
    """Its id in the file of its data set, if it has one."""
    near_given_id: str | None = None
    """That of the earlier item with nearly the same text."""

    @property
    def shown_id(self) -> str:
        """Its id for people."""
        return short_id(self.item_id) if self.given_id is None else self.given_id

    @property
    def split(self) -> bool:
        """True if judges are at least half of the scale apart."""
        return self.apart is not None and self.apart >= SPLIT_SPREAD

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks on the item, the most serious first."""
        remarked = [localized("look at the key")] if self.wrong_key else []
        remarked += [localized("judges split")] if self.split else []
        near = None if self.near is None else self.near_given_id or short_id(self.near)
        remarked += [localized(f"nearly {near}")] if near is not None else []
        if self.models >= LEAST_MODELS and self.solved_by is not None:
            remarked.append(
                localized("solved by all") if self.solved_by == "every model" else localized("solved by none")
            )
        return tuple(remarked)


def analysed_items(connection: Connection, plan: Plan) -> list[AnalysedItem]:
    """Return the items of the benchmark of `plan` in the views of `connection`, by metric, items with remarks first.
    The first `KEPT` items of each metric have a text."""
    schema = sql.name(plan.benchmark.name)
    rows = connection.execute(
        f"""select scenario::varchar, metric::varchar, item_id, models, share, discrimination, low, high, solved_by,
          apart from {analysis_of(connection, plan.benchmark.name)} order by metric, scenario, item_id"""
    ).fetchall()
    near = near_duplicates(connection, schema)
    items = [replace(AnalysedItem(*row), near=near.get(row[2])) for row in rows]
    suspects = {place for metric in {item.metric for item in items} for place in _suspect_places(items, metric)}
    marked = [replace(item, wrong_key=place in suspects) for place, item in enumerate(items)]
    order = {metric: place for place, metric in enumerate(dict.fromkeys(item.metric for item in marked))}
    marked.sort(
        key=lambda item: (
            order[item.metric],
            not item.wrong_key,
            not item.split,
            item.near is None,
            2.0 if item.discrimination is None else item.discrimination,
            item.item_id,
        )
    )
    counts: Counter[str] = Counter()
    with_text = set()
    for item in marked:
        counts[item.metric] += 1
        if counts[item.metric] <= KEPT:
            with_text.add(item.item_id)
    texts = _texts(connection, plan, sorted(with_text))
    ids = given_ids(connection, schema)
    return [
        replace(
            item,
            text=texts.get(item.item_id),
            given_id=ids.get(item.item_id),
            near_given_id=ids.get(item.near or ""),
        )
        for item in marked
    ]


def _texts(connection: Connection, plan: Plan, items: Sequence[str]) -> dict[str, str]:
    """Return the beginning of the text of each item that has one."""
    rows = connection.execute(
        f"""select item_id, any_value({excerpt_sql(plan)}) from {sql.name(plan.benchmark.name)}.items
        where item_id in (select unnest(?)) group by item_id""",
        [list(items)],
    ).fetchall()
    return {item: text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…" for item, text in rows if text}


def short_id(item: str) -> str:
    """Return an id, shortened to 12 characters if it is longer than 16, such as the digest of a row.

    >>> short_id("question-7"), short_id("7c4c88e0061061e150168f37e3ad0a9f")
    ('question-7', '7c4c88e00610…')
    """
    return item if len(item) <= 16 else item[:12] + "…"


def _suspect_places(items: Sequence[AnalysedItem], metric: str) -> Iterator[int]:
    """Yield the positions of the items of a metric whose discrimination is significantly negative."""
    places = [place for place, item in enumerate(items) if item.metric == metric]
    if len(places) < FEWEST:
        return
    tested = [tested_correlation(items[place].discrimination, items[place].models) for place in places]
    yield from (places[index] for index in negative_discrimination(tested))


def near_duplicates(connection: Connection, schema: str) -> dict[str, str]:
    """Return each item whose text is nearly that of an earlier item, with that item. Empty for fewer than `FEWEST`
    items or more than `MOST_COMPARED`."""
    rows = connection.execute(
        f"select item_id, any_value(fields) from {schema}.items group by item_id order by item_id"
    ).fetchmany(MOST_COMPARED + 1)
    if not FEWEST <= len(rows) <= MOST_COMPARED:
        return {}
    from tripos_compiler.language.near_duplicates import NearTexts, letters_and_digits

    texts: NearTexts[str] = NearTexts()
    near: dict[str, str] = {}
    for item, fields in rows:
        values = orjson.loads(fields).values() if fields else ()
        text = " ".join(value for value in values if isinstance(value, str))
        if len(letters_and_digits(text)) < LEAST_LETTERS:
            continue
        if (match := texts.find(text)) is not None:
            near[item] = match[0]
        texts.add(item, text)
    return near


def items_json(items: Sequence[AnalysedItem], most: int | None = None) -> dict[str, Any]:
    """Return the items as JSON values, at most `most` per metric, with the number of items of each kind."""
    shown: Counter[str] = Counter()
    rows = []
    for item in items:
        shown[item.metric] += 1
        if most is None or shown[item.metric] <= most:
            rows.append({**asdict(item), "split": item.split})
    return {"items": rows, "item_counts": [item_counts(items, metric) for metric in dict.fromkeys(shown)]}


def item_counts(items: Sequence[AnalysedItem], metric: str) -> dict[str, Any]:
    """Return the number of items of a metric, and those of each kind, as JSON values."""
    of_metric = [item for item in items if item.metric == metric]
    solved = Counter(item.solved_by for item in of_metric if item.models >= LEAST_MODELS)
    return {
        "metric": metric,
        "items": len(of_metric),
        "every_model": solved["every model"],
        "no_model": solved["no model"],
        "split": sum(item.split for item in of_metric),
        "wrong_key": sum(item.wrong_key for item in of_metric),
        "near": sum(item.near is not None for item in of_metric),
    }


PLACES = (multiple_choice.shuffled_place, multiple_choice.key_place)
"""The functions that return the position of the right option."""
LEAST_EXPECTED = 5
"""With fewer expected items per position, a test of uniformity means little."""
MOST_ITEMS = 20_000
"""The most items of a scenario that are read."""


def unbalanced_answer_positions(connection: Connection, plan: Plan, schema: str) -> Iterator[str]:
    """Yield a sentence for each scenario in which the positions of the right options are not uniform."""
    for scenario in plan.scenarios:
        places = _places(scenario)
        if not places or scenario.rows is None:
            continue
        rows = connection.execute(
            f"select any_value(fields) from {schema}.items where scenario = {sql.text(scenario.name)}"
            f" group by item_id order by item_id limit {MOST_ITEMS}"
        ).fetchall()
        items = [{scenario.rows.alias: orjson.loads(fields)} for (fields,) in rows if fields]
        sentences = (_unbalanced(scenario.name, _counted(place, items)) for place in places)
        if (first := next((sentence for sentence in sentences if sentence is not None), None)) is not None:
            yield first


def _places(scenario: Scenario) -> list[Call]:
    """Return the expressions for positions of right options that the scores of a scenario use."""
    calls: dict[str, Call] = {}
    for treatment in scenario.treatments:
        for step in treatment.steps:
            if isinstance(step, Score):
                calls |= {call.model_dump_json(): call for call in _outermost(step.value)}
    return list(calls.values())


def _outermost(expr: Expr) -> list[Call]:
    """Return the outermost calls of `PLACES` in an expression: a shuffled position contains an unshuffled one."""
    calls = [
        subexpression
        for subexpression in subexpressions(expr)
        if isinstance(subexpression, Call) and is_call(subexpression, *PLACES)
    ]
    inner = {id(part) for call in calls for part in subexpressions(call) if part is not call}
    return [call for call in calls if id(call) not in inner]


def _counted(place: Call, rows: Iterable[Mapping[str, Any]]) -> Counter[tuple[int, int]]:
    """Return how often the right option is at a position, by position and number of options. Items for which the
    position needs more than the fields of the item are left out."""
    counts: Counter[tuple[int, int]] = Counter()
    for names in rows:
        try:
            counts[evaluate(place, names), len(evaluate(place.args[1], names))] += 1
        except (Unavailable, InternalError, LookupError):
            continue
    return counts


def _unbalanced(scenario: str, counts: Counter[tuple[int, int]]) -> str | None:
    """Return a sentence if the positions are not uniform, for the most frequent number of options."""
    sizes: Counter[int] = Counter()
    for (_, options), count in counts.items():
        sizes[options] += count
    if not sizes:
        return None
    options, items = sizes.most_common(1)[0]
    expected = items / max(options, 1)
    if options < 2 or expected < LEAST_EXPECTED:
        return None
    from scipy.special import chdtrc

    observed = [counts[place, options] for place in range(options)]
    if float(chdtrc(options - 1, sum((count - expected) ** 2 / expected for count in observed))) >= UNEVEN:
        return None
    most = max(range(options), key=lambda place: observed[place])
    return (
        f"`{scenario}`: option {most + 1} is right in {observed[most] / items:.0%} of {items:,} items, and 1 of"
        f" {options} would be {1 / options:.0%}: shuffle the options"
    )
