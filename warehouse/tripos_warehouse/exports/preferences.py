"""Preferences: pairs of a better and a worse reply to the same prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations

import orjson

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.exports.distillation import Example, Training, metric_weights, no_such_score, score_condition
from tripos_warehouse.exports.held_out import read_held_out
from tripos_warehouse.exports.replies import ExportedReply, ReplyQuery, asked_of_elements, plain, read_replies
from tripos_warehouse.query import Connection
from tripos_warehouse.views import RunRecord, are_counted

Marks = Mapping[tuple[str, str | None], float]
"""What a reply got, by metric and by who gave it."""

ROUNDING = 1e-9
"""Differences below this are what rounding leaves of none."""


def pairs(connection: Connection, plan: Plan, run: RunRecord, wanted: ReplyQuery) -> Training:
    """Return every two replies to one prompt of which one is better by `margin` at least, and by more than nothing.

    Two replies are compared on what both were given, metric by metric and judge by judge: the difference is the mean
    over these, with the weights of the metrics where they have some. `connection` shows `run` alone.

    Raises `StoreError` S0602 where no score is called so.
    """
    held = read_held_out(connection, plan, run, wanted)
    found = held.kept(read_replies(connection, plan, run, wanted))
    marks = _marks(connection, plan, run, wanted.by)
    if not marks:
        raise no_such_score(plan, wanted.by)
    chosen, left_out = choose_pairs(found.replies, marks, metric_weights(plan), wanted.margin)
    left_out.update(found.left_out)
    examples = tuple(_example(*pair, wanted) for pair in chosen)
    return Training(examples, {reason: count for reason, count in sorted(left_out.items()) if count}, held=held)


def choose_pairs(
    replies: Iterable[ExportedReply],
    marks: Mapping[str, Marks],
    weights: Mapping[str, Mapping[str, float]],
    margin: float,
) -> tuple[list[tuple[ExportedReply, ExportedReply, float]], Counter[str]]:
    """Return the pairs of `replies`: the better one, the worse one, and by how much; and how many there are not, by
    reason.

    `marks` are what replies got, by `sample_id`, and `weights` those of metrics, by scenario.
    """
    left_out: Counter[str] = Counter()
    groups: dict[tuple[str, str, bytes], dict[str, ExportedReply]] = {}
    for reply in replies:
        if reply.sample_id not in marks:
            left_out["without a score"] += 1
            continue
        # A reply stands in several arms, and counts once.
        groups.setdefault((reply.scenario, reply.item_id, orjson.dumps(reply.prompt)), {})[reply.sample_id] = reply
    found: dict[tuple[bytes, str, str], tuple[ExportedReply, ExportedReply, float]] = {}
    for (_, _, prompt), group in groups.items():
        left_out["alone"] += len(group) == 1
        for one, two in combinations(group.values(), 2):
            apart = difference(marks[one.sample_id], marks[two.sample_id], weights.get(one.scenario, {}))
            if apart is None:
                left_out["nothing scored in both"] += 1
            elif one.text == two.text:
                left_out["the same text"] += 1
            elif abs(apart) <= ROUNDING:
                left_out["ties"] += 1
            elif abs(apart) < margin - ROUNDING:
                left_out["below the margin"] += 1
            else:
                better, worse = (one, two) if apart > 0 else (two, one)
                key = (prompt, better.text, worse.text)
                left_out["doubles"] += key in found
                found.setdefault(key, (better, worse, abs(apart)))
    # Two judgements of the same two texts may contradict each other, and then neither says which is better.
    agreed = [pair for (prompt, good, bad), pair in found.items() if (prompt, bad, good) not in found]
    left_out["contradicted"] += len(found) - len(agreed)
    return agreed, left_out


def difference(one: Marks, two: Marks, weights: Mapping[str, float]) -> float | None:
    """By how much the first is better, over what both were given; `None` where that is nothing.

    >>> difference({("CLEAR", "j"): 8, ("RIGHT", "j"): 4}, {("CLEAR", "j"): 5}, {})
    3.0
    """
    both = [key for key in one if key in two]
    total = sum(weights.get(metric, 1.0) for metric, _ in both)
    if not total:
        return None
    return sum(weights.get(key[0], 1.0) * (one[key] - two[key]) for key in both) / total


def _marks(connection: Connection, plan: Plan, run: RunRecord, by: str) -> dict[str, Marks]:
    """Return what replies got. Of an ask for each element of a list none got any: its scores are of all elements."""
    apart = ""
    if names := asked_of_elements(plan):
        steps = ", ".join(map(sql.text, names))
        apart = (
            f"and sample_id not in (select sample_id from {sql.name(run.benchmark)}.samples where step in ({steps}))"
        )
    rows = connection.execute(
        f"""select sample_id, metric, evaluator, avg(value) from {sql.name(run.benchmark)}.scores
        where {score_condition(by)} and value is not null and {are_counted(plan)} {apart} group by all order by all"""
    ).fetchall()
    found: dict[str, dict[tuple[str, str | None], float]] = {}
    for sample, metric, evaluator, value in rows:
        found.setdefault(sample, {})[metric, evaluator] = value
    return dict(found)


def _example(better: ExportedReply, worse: ExportedReply, margin: float, wanted: ReplyQuery) -> Example:
    line: dict[str, object]
    if wanted.format == "completion":
        line = {"prompt": plain(better.prompt), "chosen": better.text, "rejected": worse.text}
    else:
        chosen, rejected = ([{"role": "assistant", "content": each.text}] for each in (better, worse))
        line = {"prompt": list(better.prompt), "chosen": chosen, "rejected": rejected}
    line["margin"] = margin = round(margin, 6)
    return Example(
        orjson.dumps(line),
        (better.sample_id, worse.sample_id),
        better.scenario,
        better.item_id,
        (better.model, worse.model),
        margin=margin,
    )
