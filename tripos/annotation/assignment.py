"""Assignment of replies to a person: sampling, order, the stored batch, and the expected effect on corrected measures.

A sample is divided between scenarios and models so that the error of a mean is smallest, given earlier grades. A part
with N replies and standard deviation σ gets a share proportional to N σ (Neyman 1934, "On the two different aspects of
the representative method", section V). The relevant variation is what people's grades add to those of judges: the
residual of a regression on the judges' grades (Angelopoulos, Duchi and Zrnic 2023, PPI++, section 6).
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean, pvariance, variance
from types import MappingProxyType
from typing import Any, TypeVar

from tripos.annotation.batch import (
    AssignedElement,
    AssignedReply,
    Batch,
    batch_name,
    evaluator_of,
    list_batches,
    row_name,
    save_batch,
)
from tripos.annotation.replies import GradableReply, RunReplies, ShownReply, grading_role
from tripos.settings.options import LIMIT, ONLY, SCENARIO, STORE, AnnotateParameters
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.language.contexts import Drawn
from tripos_compiler.plan import Plan, digest
from tripos_warehouse import sql
from tripos_warehouse.measures.evaluation import corrected_inputs
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.schemas import HUMAN, MOST_NAME_BYTES, MOST_NAME_CHARACTERS, NAME_SIGNS, TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.runs import RunRecord

Part = tuple[str, str]
"""A scenario and a model."""
Spreads = Mapping[Part, float]
NO_SPREADS: Spreads = MappingProxyType({})
T = TypeVar("T")
MIN_LABELS = 5
"""A part with fewer labels gets the pooled spread."""


def spreads(connection: Connection, plan: Plan, role: str) -> dict[Part, float]:
    """Return the standard deviation of grades in each part: of people's residuals, or of judges' grades if people
    graded too little."""
    scorers = [scorer.name for scorer in plan.scorers if scorer.role == role]
    rows = connection.execute(
        f"""select scenario, model, metric, sample_id,
          avg(value) filter (starts_with(evaluator, {sql.text(HUMAN)})),
          avg(value) filter (not starts_with(evaluator, {sql.text(HUMAN)}))
        from {sql.name(plan.benchmark.name)}.scores
        where scorer in {sql.texts(scorers)} and evaluator is not null and value is not null
        group by all order by all"""
    ).fetchall()
    labelled: dict[str, list[tuple[Part, float, float]]] = defaultdict(list)
    judged: dict[str, list[tuple[Part, float]]] = defaultdict(list)
    for scenario, model, metric, _, people, judge in rows:
        if judge is not None:
            judged[metric].append(((scenario, model), judge))
            if people is not None:
                labelled[metric].append(((scenario, model), people, judge))
    residuals = {metric: list(_residuals(those)) for metric, those in labelled.items()}
    values = residuals if any(len(residual) >= MIN_LABELS for residual in residuals.values()) else judged
    return _by_part(values)


def _residuals(rows: Sequence[tuple[Part, float, float]]) -> Iterator[tuple[Part, float]]:
    """Yield people's grades minus their regression on the judges' grades, with a slope of at least 0."""
    people, judges = [row[1] for row in rows], [row[2] for row in rows]
    of_people, of_judges = fmean(people), fmean(judges)
    below = pvariance(judges, of_judges) * len(rows)
    above = sum((y - of_people) * (f - of_judges) for _, y, f in rows)
    slope = max(above / below, 0.0) if below > 0 else 0.0
    for part, y, f in rows:
        yield part, y - slope * f


def _by_part(values: Mapping[str, Sequence[tuple[Part, float]]]) -> dict[Part, float]:
    """Return the standard deviation in each part: the root mean square over metrics.

    >>> few = [(("a", "m"), float(n % 2)) for n in range(6)] + [(("b", "m"), 4.0 * (n % 2)) for n in range(6)]
    >>> {part: round(spread, 3) for part, spread in _by_part({"MARK": few}).items()}
    {('a', 'm'): 0.548, ('b', 'm'): 2.191}
    """
    squares: dict[Part, list[float]] = defaultdict(list)
    for rows in values.values():
        own: dict[Part, list[float]] = defaultdict(list)
        for part, value in rows:
            own[part].append(value)
        within = [variance(each) for each in own.values() if len(each) >= MIN_LABELS]
        pooled = fmean(within) if within else variance([value for _, value in rows]) if len(rows) > 1 else 0.0
        for part, each in own.items():
            squares[part].append(variance(each) if len(each) >= MIN_LABELS else pooled)
    found = {part: math.sqrt(fmean(square)) for part, square in squares.items()}
    # A part with equal grades so far may still vary: use at least a tenth of the largest spread.
    least = max(found.values(), default=0.0) / 10
    return {part: max(spread, least) or 1.0 for part, spread in found.items()}


def by_shares(queues: Mapping[Part, Sequence[T]], shares: Mapping[Part, float]) -> Iterator[T]:
    """Yield from queues so that the numbers taken follow the shares at any time, by Webster's method. A larger sample
    contains the smaller one.

    >>> "".join(by_shares({("x", "m"): "aaaa", ("y", "m"): "bbbb"}, {("x", "m"): 3.0, ("y", "m"): 1.0}))
    'aabaabbb'
    """
    taken = dict.fromkeys(queues, 0)
    while left := [key for key in queues if taken[key] < len(queues[key])]:
        key = max(left, key=lambda each: shares[each] / (taken[each] + 0.5))
        yield queues[key][taken[key]]
        taken[key] += 1


def in_proportion(
    queue: Sequence[T], parts: Sequence[str], units: Sequence[Hashable], starts: Mapping[str, float]
) -> list[T]:
    """Return a queue in an order whose every prefix has the parts in proportion.

    The j-th unit of a part of N, from 0, gets the position (j + u) / N, where u is the part's random start between 0
    and 1. If the queue is in random order, each unit has the same chance to be among the first n (systematic sampling:
    Madow and Madow 1944, "On the theory of systematic sampling"), and a larger sample contains the smaller one. Entries
    of one unit stay together, in the part of the first.

    >>> "".join(in_proportion("aaaaaabbb", list("aaaaaabbb"), range(9), {"a": 0.5, "b": 0.4}))
    'abaabaaba'
    """
    first: dict[Hashable, tuple[str, int]] = {}
    sizes: dict[str, int] = defaultdict(int)
    for part, unit in zip(parts, units, strict=True):
        if unit not in first:
            first[unit] = part, sizes[part]
            sizes[part] += 1

    def place(at: int) -> float:
        part, number = first[units[at]]
        return (number + starts[part]) / sizes[part]

    return [queue[at] for at in sorted(range(len(queue)), key=place)]


# Sampling
Show = Callable[[Sequence[GradableReply]], Mapping[str, ShownReply]]


@dataclass(frozen=True)
class AssignmentOptions:
    """The options of an assignment: at most `limit` items a scenario, only items whose axes have values in `only`, only
    these scenarios, and `sample` replies in all. `overlap` is the share that others were assigned too; None ignores
    others. `items` are the items of the `subset` with this name."""

    limit: int | None = None
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scenarios: tuple[str, ...] = ()
    sample: int | None = None
    overlap: float | None = None
    seed: int = 0
    subset: str | None = None
    items: Drawn | None = None
    whole_items: bool | None = None
    """Whether items are sampled with all of their replies, the same items for each model."""
    optimal: bool | None = None
    """Whether a scenario and model with more varied grades (`spreads`) gets a larger share."""
    balance: tuple[str, ...] = ()
    """Axes, arms and columns whose values keep their proportions in the sample, within each scenario and model."""
    flagged: str | None = None
    replies: frozenset[str] | None = None
    """The ids of the replies that people have `flagged` so."""

    @property
    def recorded(self) -> dict[str, Any]:
        """The options that were given, as the record of a batch has them."""
        options = dataclasses.asdict(dataclasses.replace(self, items=None, replies=None))
        return {name: value for name, value in options.items() if value not in (None, (), {})}

    @property
    def is_representative(self) -> bool:
        """True if every reply of the scenarios could be sampled, so that the sample represents all of them."""
        return self.limit is None and self.items is None and self.replies is None and not self.only

    def allows(self, candidate: GradableReply) -> bool:
        """Return true if a reply meets `only`, `scenarios`, `items` and `replies`; a pair if either reply does."""
        if self.scenarios and candidate.scenario not in self.scenarios:
            return False
        if self.items is not None and (candidate.scenario, candidate.unit.case.item_id) not in self.items:
            return False
        shown = {candidate.sample_id} if candidate.other is None else {candidate.sample_id, candidate.other.sample_id}
        if self.replies is not None and not self.replies & shown:
            return False
        context = candidate.unit.case.context
        return all(context.get(axis, values[0]) in values for axis, values in self.only.items())


@dataclass(frozen=True)
class EarlierAssignments:
    """Earlier assignments of this person and of others, as keys `(sample_id, fingerprint)`."""

    of_person: Collection[tuple[str, str]] = ()
    of_others: Collection[tuple[str, str]] = ()
    drawn_of: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """The number of replies from which each was sampled at random, at most; 0 if it was not."""


def sample_replies(
    candidates: Iterable[GradableReply],
    choice: AssignmentOptions,
    handed: EarlierAssignments,
    show: Show,
    spread: Spreads = NO_SPREADS,
) -> dict[GradableReply, ShownReply]:
    """Return the sampled replies for one person with their views, unordered (see `shuffled`).

    Scenarios get equal shares of the `sample` as far as they have replies, and so do models within them. With a
    `spread`, the shares minimize the error of a mean over all replies (Neyman 1934). With an `overlap`, replies that
    this person had before are excluded, and the remaining share consists of replies that nobody had.
    """
    allowed = list(_limited((candidate for candidate in candidates if choice.allows(candidate)), choice.limit))
    if choice.overlap is None:
        return _take_shown(allowed, choice.sample, choice, show, spread)
    fresh = [reply for reply in allowed if reply.key not in handed.of_person]
    common = [reply for reply in fresh if reply.key in handed.of_others]
    alone = [reply for reply in fresh if reply.key not in handed.of_others]
    count = len(fresh) if choice.sample is None else choice.sample
    replies = _take_shown(common, round(count * choice.overlap), choice, show, spread)
    return replies | _take_shown(alone, count - len(replies), choice, show, spread)


def shuffled(drawn: Iterable[GradableReply], seed: int, name: str) -> list[GradableReply]:
    """Return the replies in a person's own order, reproducible by the seed."""
    return sorted(drawn, key=lambda reply: digest(["order", seed, name, reply.judgement_id]))


def _item(candidate: GradableReply) -> tuple[str, str]:
    return candidate.scenario, candidate.unit.case.item_id


def _limited(candidates: Iterable[GradableReply], limit: int | None) -> Iterator[GradableReply]:
    items: dict[str, set[str]] = {}
    for candidate in candidates:
        some = items.setdefault(candidate.scenario, set())
        if limit is None or candidate.unit.case.item_id in some or len(some) < limit:
            some.add(candidate.unit.case.item_id)
            yield candidate


def _take_shown(
    candidates: Sequence[GradableReply], count: int | None, choice: AssignmentOptions, show: Show, spread: Spreads
) -> dict[GradableReply, ShownReply]:
    """Return the first `count` replies with a view, in sampling order. With whole items, the remaining replies of the
    chosen items are added."""
    queue = _interleaved(candidates, choice, spread)
    replies: dict[GradableReply, ShownReply] = {}
    while queue and (count is None or len(replies) < count):
        size = len(queue) if count is None else count - len(replies)
        gradable_replies, queue = queue[:size], queue[size:]
        shown_replies = show(gradable_replies)
        replies |= {
            shown_replies[name].of: shown_replies[name]
            for reply in gradable_replies
            if (name := reply.judgement_id) in shown_replies
        }
    if choice.whole_items:
        begun = {_item(reply) for reply in replies}
        rest = [reply for reply in queue if _item(reply) in begun]
        shown_replies = show(rest) if rest else {}
        replies |= {
            shown_replies[name].of: shown_replies[name]
            for reply in rest
            if (name := reply.judgement_id) in shown_replies
        }
    return replies


def _interleaved(
    candidates: Iterable[GradableReply], choice: AssignmentOptions, spread: Spreads
) -> list[GradableReply]:
    """Return the sampling order: alternating between scenarios, and within them between models. With spreads, the part
    furthest below its share comes next."""

    def place(each: GradableReply) -> tuple[str, str]:
        own = digest(["draw", choice.seed, *each.key])
        item = digest(["draw", choice.seed, *_item(each)]) if choice.whole_items else ""
        return item, own

    by_scenario: dict[str, dict[str, list[GradableReply]]] = {}
    for candidate in sorted(candidates, key=place):
        by_scenario.setdefault(candidate.scenario, {}).setdefault(candidate.of, []).append(candidate)
    if choice.balance:
        for models in by_scenario.values():
            models.update({of: _balanced(queue, choice) for of, queue in models.items()})
    if spread:
        queues = {(name, model): queue for name, own in by_scenario.items() for model, queue in own.items()}
        return list(by_shares(queues, {key: len(queue) * spread.get(key, 1.0) for key, queue in queues.items()}))
    return list(round_robin([list(round_robin(list(models.values()))) for models in by_scenario.values()]))


def _balanced(queue: Sequence[GradableReply], choice: AssignmentOptions) -> list[GradableReply]:
    """Return a queue whose every prefix has the balanced values in proportion."""
    of = "" if choice.whole_items else queue[0].of  # whole items are the same for each model
    parts = ["".join(f"{reply.value_of(name)}\n" for name in choice.balance) for reply in queue]
    units = [_item(reply) if choice.whole_items else reply.key for reply in queue]
    starts = {part: int(digest(["balance", choice.seed, of, part])[:8], 16) / 16**8 for part in parts}
    return in_proportion(queue, parts, units, starts)


def _check_balance(every: Sequence[GradableReply], choice: AssignmentOptions) -> None:
    """Raise `TriposError` R0202 for a balanced name that no reply has, or an arm with several values in a whole
    item."""
    for name in choice.balance:
        known = sorted({value_name for reply in every for value_name in reply.value_names})
        if name not in known:
            hint = suggest(name, known, f"there are {', '.join(known) or 'none'}")
            raise TriposError("R0202", f"no reply has an axis, arm or column `{name}`", hint)
        if choice.whole_items and any(name in reply.arms for reply in every):
            text = f"`{AnnotateParameters.balance} {name}`: an item has replies in each value of the arm"
            raise TriposError(
                "R0202", text, f"leave out `{AnnotateParameters.whole_items}`, or `{AnnotateParameters.balance} {name}`"
            )


def round_robin(queues: Sequence[Sequence[GradableReply]]) -> Iterator[GradableReply]:
    """Yield one of each queue in turn, until all are exhausted."""
    for place in range(max(map(len, queues), default=0)):
        yield from (queue[place] for queue in queues if place < len(queue))


# Assignments
NAME = re.compile(rf"[^\W_](?:[^\W_]|[{re.escape(NAME_SIGNS)}])*")


def check_name(name: str) -> None:
    """Raise `TriposError` S0702 for a text that cannot be the name of a person."""
    is_short = len(name) <= MOST_NAME_CHARACTERS and len(name.encode()) <= MOST_NAME_BYTES
    if not is_short or NAME.fullmatch(name) is None:
        shown = name if len(name) <= 40 else f"{name[:40]}…"
        signs = " and ".join(f"`{sign}`" for sign in NAME_SIGNS).replace(" and ", ", ", len(NAME_SIGNS) - 2)
        example = f"letters, digits, {signs}, at most {MOST_NAME_CHARACTERS}, such as {AnnotateParameters.name} anna"
        raise TriposError("S0702", f"`{shown}` cannot be the name of a person here", example)


@dataclass(frozen=True)
class Assignment:
    """A batch with the view of each row, by its name."""

    batch: Batch
    views: Mapping[str, ShownReply]
    shared: int | None = None
    """The number of replies that others were assigned too, if an overlap was requested."""
    graded: int = 0
    """The number of sampled replies that the person has already graded; they are not assigned again."""
    lacking: int = 0
    """The number of replies missing from the requested sample."""


@dataclass(frozen=True)
class AssignmentDesk:
    """Assignment of a run's replies to a person who grades in a role. A `round` of None is the first."""

    store: Store
    connection: Connection
    plan: Plan
    run: RunRecord
    role: str
    name: str
    round: int | None = None

    def __post_init__(self) -> None:
        """Raise `TriposError` S0701 for a role that grades nothing, and S0702 for an invalid name."""
        check_name(self.name)
        grading_role(self.plan, self.role, self.run.compared_role)

    @property
    def replies(self) -> RunReplies:
        """The gradable replies."""
        return RunReplies(self.connection, self.plan, self.run, self.role, evaluator_of(self.name), self.round)

    def assign(self, choice: AssignmentOptions, now: Callable[[], datetime]) -> Assignment:
        """Sample a batch and store it. Raises `TriposError` S0707 if no reply is left and S0704, and `StoreError` if
        the store cannot be written."""
        handed = self._handed()
        replies = self.replies
        gradable_replies = list(replies.candidates())
        _check_balance(gradable_replies, choice)
        learned = spreads(self.connection, self.plan, self.role) if choice.optimal else NO_SPREADS
        drawn = sample_replies(gradable_replies, choice, handed, replies.show, learned)
        sought, graded = len(drawn), replies.graded()
        sizes = _sizes(gradable_replies, choice, handed)
        again = [reply for reply in drawn if reply.judgement_id in graded]
        drawn = {reply: shown_reply for reply, shown_reply in drawn.items() if reply.judgement_id not in graded}
        self._record_sampled(
            {reply.judgement_id: sizes[_stratum(reply)] for reply in again if _stratum(reply) in sizes}
        )
        if not drawn:
            raise TriposError("S0707", *self._nothing(choice, sought))
        order = shuffled(drawn, choice.seed, self.name)
        rows = tuple(_row(reply, drawn[reply], choice.seed, self.name, sizes.get(_stratum(reply))) for reply in order)
        name = batch_name(self.run.run_id, self.role, self.name, choice.seed, rows)
        batch = Batch(
            name,
            self.run.run_id,
            self.plan.benchmark.name,
            self.role,
            self.name,
            choice.seed,
            now().isoformat(timespec="seconds"),
            choice.recorded,
            rows,
            self.round,
        )
        shared: int | None = None
        if choice.overlap is not None:
            shared = sum(row.key in handed.of_others for row in rows)
        shown_replies = {row.row: drawn[reply] for row, reply in zip(rows, order, strict=True)}
        return Assignment(
            save_batch(self.store, batch),
            shown_replies,
            shared,
            sought - len(drawn),
            max(0, (choice.sample or 0) - sought),
        )

    def again(self, batch: Batch) -> Assignment:
        """Return the views of an earlier batch. Raises `TriposError` S0704 if some replies are missing."""
        wanted = {row.judgement_id: row.row for row in batch.rows}
        replies = self.replies
        gradable_replies = [candidate for candidate in replies.candidates() if candidate.judgement_id in wanted]
        shown_replies = {wanted[name]: reply for name, reply in replies.show(gradable_replies).items()}
        if lost := len(wanted) - len(shown_replies):
            raise TriposError(
                "S0704",
                f"{lost} of the {len(wanted)} replies of the batch `{batch.batch}` are not in the store",
                f"name the store that it was made from with `{STORE}`",
            )
        return Assignment(batch, shown_replies)

    def _record_sampled(self, sizes: Mapping[str, int]) -> None:
        """Record that earlier judgements of the person were sampled now. Otherwise they would be missing from the
        random sample."""
        kept = self.store.rows("judgements", set(sizes), TABLES["judgements"].schema.names)
        rows = [{**row, "drawn_of": sizes[name]} for name, row in kept.items() if (row["drawn_of"] or 0) < sizes[name]]
        if rows:
            self.store.append({"judgements": rows})

    def _handed(self) -> EarlierAssignments:
        own: set[tuple[str, str]] = set()
        others: set[tuple[str, str]] = set()
        drawn_of: dict[tuple[str, str], int] = {}
        for batch in (each for each in list_batches(self.store) if each.round == self.round):
            (own if batch.name == self.name else others).update(row.key for row in batch.rows)
            for row in batch.rows:
                drawn_of[row.key] = max(drawn_of.get(row.key, 0), row.drawn_of or 0)
        return EarlierAssignments(own, others, drawn_of)

    def _nothing(self, choice: AssignmentOptions, graded: int) -> tuple[str, str]:
        if graded:
            return (
                f"`{self.name}` has graded all of it already",
                f"`{AnnotateParameters.take}` of the same file changes a grade",
            )
        if choice.overlap is not None:
            return (
                f"there is nothing left that `{self.name}` has not been handed",
                f"another `{AnnotateParameters.overlap}`, or none, draws from all replies",
            )
        return (
            "nothing of this run is there to grade",
            f"without `{ONLY}`, `{SCENARIO}` and `{LIMIT}` there may be more",
        )


def _stratum(each: GradableReply) -> tuple[str, str, str]:
    """Return the stratum of a reply, within which all have the same chance to be sampled: scenario, model or pair of
    models, and scorer."""
    return each.scenario, each.of, each.step.scorer


def _sizes(
    every: Sequence[GradableReply], choice: AssignmentOptions, handed: EarlierAssignments
) -> dict[tuple[str, str, str], int]:
    """Return the size of each stratum for which the sample is random.

    With an overlap, earlier assigned replies are sampled separately. The rest of a stratum is random only if those were
    sampled at random too, from all replies that exist now.
    """
    if not choice.is_representative:
        return {}
    sizes = Counter(map(_stratum, every))
    if choice.overlap is not None:
        for reply in every:
            if handed.drawn_of.get(reply.key, sizes[_stratum(reply)]) < sizes[_stratum(reply)]:
                sizes[_stratum(reply)] = 0
    return {stratum: size for stratum, size in sizes.items() if size}


def _row(each: GradableReply, shown: ShownReply, seed: int, name: str, drawn_of: int | None) -> AssignedReply:
    return AssignedReply(
        row=row_name(seed, name, each.judgement_id),
        scenario=each.scenario,
        item_id=each.unit.case.item_id,
        language=shown.language,
        sample_id=each.sample_id,
        model=each.model,
        binding=each.binding,
        scorer=each.step.scorer,
        judgement_id=each.judgement_id,
        judgement=each.step.judgement,
        fingerprint=each.fingerprint,
        marks=each.marks,
        drawn_of=drawn_of,
        other=each.other,
        element=None if each.element is None else AssignedElement(each.element.place, each.element.value),
    )


@dataclass(frozen=True)
class ExpectedGain:
    """Half the width of a corrected measure's interval: `now` with the graded `items`, and about `then` with those of a
    batch too."""

    measure: str
    model: str
    now: float
    items: int
    then: float
    items_then: int


def expected_gains(connection: Connection, plan: Plan, batch: Batch) -> Iterator[ExpectedGain]:
    """Yield the expected effect of a batch on each measure that people correct, if it has grades already and the batch
    has ungraded items."""
    handed: dict[str, set[str]] = {}
    for row in batch.rows:
        for model in row.models:
            handed.setdefault(model, set()).add(row.item_id)
    for measure in plan.measures:
        if not measure.corrected or measure.by:
            continue
        for (_, model), three in sorted(corrected_inputs(connection, plan, measure).items()):
            more = three.items + len(handed.get(model, set()) & set(three.names) - three.graded_items)
            now, then = three.reach(three.items), three.reach(more)
            if now and then is not None and more > three.items:
                yield ExpectedGain(measure.name, model, now, three.items, then, more)
