"""How often intervals of corrected win rates and strengths hold what people would say of every two replies.

    python -m tests.bench.corrected_comparisons [REPETITIONS]

Each repetition is a cell of one table of comparisons: three models on `ITEMS` items, a judge who sees every two replies
in both orders, and people who compared the replies of a few items that were drawn at random. The measures of `SPEC` are
taken as `tripos report` takes them. Beside the share of intervals of 95 % that hold people's truth stands that of the
judge alone, and the mean width of the corrected interval, where that of people alone is 1.
`tests/warehouse/test_corrected_comparisons.py` holds a short form to it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import combinations

import duckdb
import numpy as np
import pyarrow as pa

from tests.compiler.compiling import compile_text, plan_of
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.differences import corrected_difference
from tripos_warehouse.measures.evaluation import corrected_inputs, evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.query.connection import add_functions
from tripos_warehouse.statistics.preferences import Preference, bradley_terry

Draws = np.random.Generator
MODELS = ("a", "b", "c")
ITEMS, GRADED = 150, 20
"""Of 20 items people compare every two of three replies: 60 labels."""
TIES = 0.3
"""People find replies alike whose worth is no further apart."""
QUALITY = (0.5, 0.0, -0.3)
SPEC = """
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis draw { DRAWS }
scorer better(one: text, two: text) by judge {
  prompt "Which?\\n{{ one }}\\n{{ two }}"
  gives choice(one, two, tie)
}
scenario essay {
  context draw
  ask reply by candidate { prompt "Explain {{ draw }}." }
  compare preferred using better(first.reply.text, second.reply.text)
}
measure won      = win_rate(preferred) corrected by people by draw
measure strength = bradley_terry(preferred) corrected by people by draw
"""


@dataclass(frozen=True)
class World:
    """A judge beside people: how noisily it sees what they see, and what it adds to the reply shown first and to model
    c."""

    name: str
    noise: float
    first: float = 0.0
    own: float = 0.0
    follows: float = 1.0


WORLDS = (
    World("a judge like people", 0.3),
    World("a judge that leans to what is first", 0.6, first=0.8),
    World("a judge that prefers its own", 0.6, own=1.0),
    World("a judge that says nothing", 1.0, follows=0.0),
    World("a judge that says the contrary", 0.5, follows=-1.0),
)


@dataclass(frozen=True)
class Held:
    """The shares of intervals that hold the truth, and the mean width of the corrected ones beside people's."""

    judge: float
    corrected: float
    width: float


def drawn(random: Draws, world: World, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Return verdicts on the first of every two models, 1, 0 or 0.5: of people (items × pairs), and of a judge (items ×
    pairs × orders)."""
    ease = random.normal(0, 0.8, (items, 1))  # what an item asks for favours the same models at every turn
    worth = np.array(QUALITY) + ease * np.array([0.5, -0.5, 0.0]) + random.normal(0, 0.6, (items, len(MODELS)))
    pairs = list(combinations(range(len(MODELS)), 2))
    gap = np.stack([worth[:, one] - worth[:, other] for one, other in pairs], axis=1)
    people = _verdict(gap + random.normal(0, 0.2, gap.shape))
    fond = np.array([world.own * ((one == 2) - (other == 2)) for one, other in pairs])
    seen = world.follows * gap + fond + random.normal(0, world.noise, gap.shape)
    orders = np.stack([seen + world.first, seen - world.first], axis=2)
    return people, _verdict(orders + random.normal(0, 0.2, orders.shape))


def _verdict(gap: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.where(np.abs(gap) <= TIES, 0.5, (gap > 0).astype(float))
    return found


def truths() -> dict[tuple[str, str], float]:
    """Return people's win rates and strengths, of as many items as leave no error to speak of."""
    people, _ = drawn(np.random.default_rng(7), WORLDS[0], 1_000_000)
    pairs = list(combinations(MODELS, 2))
    verdicts, weights = [], []
    won: dict[str, list[float]] = {model: [] for model in MODELS}
    for at, (one, other) in enumerate(pairs):
        won[one].append(float(people[:, at].mean()))
        won[other].append(1 - won[one][-1])
        for value, winner in ((1.0, one), (0.0, other), (0.5, None)):
            for half in range(2):
                verdicts.append(Preference(one, other, winner, half))
                weights.append(float((people[:, at] == value).sum()) / 2)
    strengths = bradley_terry(verdicts, weights=weights, errors="items").by_model
    found = {("won", model): float(np.mean(shares)) for model, shares in won.items()}
    return found | {("strength", model): float(strengths[model].value or 0) for model in MODELS}


def filled(world: World, draws: int, seed: int, graded: int = GRADED) -> duckdb.DuckDBPyConnection:
    """Return a database with the comparisons of so many repetitions, as views of a benchmark have them."""
    random = np.random.default_rng([seed, WORLDS.index(world)])
    names = ("draw", "item_id", "evaluator", "first_model", "second_model", "value")
    rows: dict[str, list[object]] = {name: [] for name in names}
    for draw in range(draws):
        people, judge = drawn(random, world, ITEMS)
        chosen = random.permutation(ITEMS)[:graded]
        for at, (one, other) in enumerate(combinations(MODELS, 2)):
            for who, items, first, second, values in (
                ("j", range(ITEMS), one, other, judge[:, at, 0]),
                ("j", range(ITEMS), other, one, 1 - judge[:, at, 1]),
                ("human/a", chosen[::2], one, other, people[chosen[::2], at]),
                ("human/a", chosen[1::2], other, one, 1 - people[chosen[1::2], at]),
            ):
                rows["draw"] += [f"d{draw}"] * len(items)
                rows["item_id"] += [f"i{item}" for item in items]
                rows["value"] += values.tolist()
                for name, what in (("evaluator", who), ("first_model", first), ("second_model", second)):
                    rows[name] += [what] * len(items)
    connection = duckdb.connect()
    add_functions(connection)
    connection.register("given", pa.table(rows))
    connection.execute("create schema demo")
    connection.execute(
        """create table demo.comparisons as select *, item_id as cluster_id, 'essay' as scenario, 'preferred' as step, 'better' as scorer,
        draw || item_id || first_model as first_sample_id, draw || item_id || second_model as second_sample_id,
        null::bigint as round, 'scored' as status, uuid()::varchar as judgement_id, 'r1' as run_id from given"""
    )
    size = draws * ITEMS
    connection.execute(
        f"""create table demo.judgements as select judgement_id, run_id,
        case when evaluator = 'human/a' then {size} end as drawn_of from demo.comparisons"""
    )
    connection.execute(
        "create table run_items as select distinct 'r1' as run_id, 'essay' as scenario, item_id from demo.comparisons"
    )
    return connection


def plan_for(draws: int, spec: str = SPEC) -> Plan:
    """Return the plan of so many repetitions."""
    return plan_of(compile_text(spec.replace("DRAWS", ", ".join(f"d{draw}" for draw in range(draws)))))


def held(world: World, draws: int, seed: int = 1) -> dict[str, Held]:
    """Return how often the intervals of a world hold people's win rates, strengths, and the difference of two of these;
    of models together."""
    plan, truth = plan_for(draws), truths()
    found: dict[str, Held] = {}
    with filled(world, draws, seed) as connection:
        for measure in plan.measures:
            rows = evaluate(connection, plan, measure).rows
            people = {(row.model, row.by): row for row in evaluate(connection, plan, measure, by_people=True).rows}
            widths = [(_width(row), _width(people[row.model, row.by])) for row in rows]
            both = [(own, other) for own, other in widths if own and other]
            found[measure.name] = Held(
                sum(_holds(row.judged, truth[measure.name, row.model]) for row in rows) / len(rows),
                sum(_holds(row, truth[measure.name, row.model]) for row in rows) / len(rows),
                sum(own for own, _ in both) / sum(other for _, other in both),
            )
            threes = corrected_inputs(connection, plan, measure)
            ends = None if measure.low is None else (-1.0, 1.0)
            apart = truth[measure.name, "a"] - truth[measure.name, "b"]
            cells = {cell for cell, _ in threes}
            differences = [corrected_difference([threes[c, "b"]], [threes[c, "a"]], ends)[0] for c in sorted(cells)]
            inside = sum(d.low is not None and d.high is not None and d.low <= apart <= d.high for d in differences)
            found[f"{measure.name}, a less b"] = Held(float("nan"), inside / draws, float("nan"))
    return found


def _holds(row: MeasureRow | None, truth: float) -> bool:
    return row is not None and row.low is not None and row.high is not None and row.low <= truth <= row.high


def _width(row: MeasureRow) -> float | None:
    return None if row.low is None or row.high is None else row.high - row.low


def main() -> None:
    """Print a line a world and measure."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print(f"{draws:,} repetitions of {ITEMS} items, {GRADED * len(MODELS)} labels; judge alone, corrected, width")
    for world in WORLDS:
        for name, found in held(world, draws).items():
            judge = "" if found.judge != found.judge else f"{found.judge:6.1%}"
            width = "" if found.width != found.width else f" ×{found.width:.2f}"
            print(f"{world.name:<38}{name:<24}{judge:>7} {found.corrected:6.1%}{width}", flush=True)


if __name__ == "__main__":
    main()
