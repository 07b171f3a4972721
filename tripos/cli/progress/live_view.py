"""The picture of a run on a terminal: a bar, a row for each role and scenario, what it cost, what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tripos.cli.progress.pace import Lane, Pace, budget_text, cost, done_by_lane
from tripos_compiler.diagnostics import CODES, duration, localized, per_second
from tripos_compiler.source import dataclass
from tripos_runtime.asking import CallCounters
from tripos_runtime.scheduling import Budget, Snapshot

if TYPE_CHECKING:
    from rich.console import RenderableType

AROUND = 8
"""Lines of the terminal that are not rows: the bar, the head, what is left out, three below, and two to spare."""
USUAL = 3
"""So many lines stand below the rows as a rule."""
MOST_ENDPOINTS = 6
MOST_MAKINGS = 3
FEWEST = 3
BAR = 24
MOST_ERRORS = 3


@dataclass(frozen=True)
class Moment:
    """Everything that one picture shows."""

    tally: CallCounters
    pace: Pace
    elapsed_s: float
    endpoints: tuple[Snapshot, ...] | None = None
    budget: Budget | None = None
    verbose: bool = False

    @property
    def in_flight(self) -> int | None:
        """Calls under way, where that is known."""
        return None if self.endpoints is None else sum(each.in_flight for each in self.endpoints)


def live_view(moment: Moment, height: int) -> RenderableType:
    """Return the picture for a terminal of `height` lines; it takes fewer lines than that."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    tally = moment.tally
    under = below(moment)
    room = max(FEWEST, height - AROUND - max(0, len(under) - USUAL))
    lanes, more = shown_lanes(tally, moment.pace, room)
    done = done_by_lane(tally)
    table = Table(box=None, pad_edge=False, header_style="dim", show_edge=False, expand=False)
    table.add_column(localized("role"), no_wrap=True, overflow="ellipsis", max_width=18)
    table.add_column(localized("scenario"), no_wrap=True, overflow="ellipsis", max_width=24)
    for name in ("done", "planned", "", "reused", "failed"):
        table.add_column(localized(name), justify="right", no_wrap=True)
    for lane in lanes:
        planned, failed = tally.planned[lane], tally.failed[lane]
        table.add_row(
            *lane,
            f"{done[lane]:,}",
            f"{planned:,}" if planned else "",
            percent(done[lane], planned),
            f"{tally.reused[lane]:,}" if tally.reused[lane] else "",
            Text(f"{failed:,}" if failed else "", style="red"),
            style="dim" if planned and done[lane] >= planned else "",
        )
    parts: list[Text | Table] = [Text(headline(moment), overflow="ellipsis", no_wrap=True), table]
    if more:
        parts.append(Text(localized(f"and {more:,} more"), style="dim"))
    parts += [Text(line, overflow="ellipsis", no_wrap=True) for line in under]
    return Group(*parts)


def shown_lanes(tally: CallCounters, pace: Pace, most: int) -> tuple[Sequence[Lane], int]:
    """Return the roles and scenarios that get a row, in the order of the plan, and how many get none: where there are
    too many the busiest are shown, then those that are not done."""
    lanes = list({**tally.planned, **done_by_lane(tally)})
    if len(lanes) <= most:
        return lanes, 0
    room = most - 1
    done = done_by_lane(tally)
    chosen = pace.busiest(room)
    for lane in [*(each for each in lanes if done[each] < tally.planned[each]), *lanes]:
        if len(chosen) >= room:
            break
        chosen.add(lane)
    return [lane for lane in lanes if lane in chosen], len(lanes) - len(chosen)


def headline(moment: Moment) -> str:
    """Return how far all of it is.

    >>> tally = CallCounters()
    >>> tally.planned["candidate", "sums"] = 200
    >>> tally.asked["candidate", "sums"] = 50
    >>> headline(Moment(tally, Pace(), 4.0))
    '━━━━━━                     25%  50 of 200 calls  after 4 s'
    """
    tally, pace = moment.tally, moment.pace
    done, total = tally.done, tally.total
    filled = min(BAR, BAR * done // total) if total else 0
    left_s = pace.left_s(tally)
    parts = [f"{'━' * filled:{BAR}}", f"{percent(done, total):>4}", localized(f"{done:,} of {total:,} calls")]
    if rate := pace.rate():
        parts.append(per_second(rate))
    told = f"{duration(left_s)} left" if left_s is not None else f"after {duration(moment.elapsed_s)}"
    parts.append(localized(told))
    return "  ".join(parts)


def below(moment: Moment) -> list[str]:
    """Return what stands under the rows: calls under way, what it cost, what failed."""
    tally = moment.tally
    lines = []
    first = [] if moment.in_flight is None else [f"{moment.in_flight:,} under way"]
    if tally.waiting:
        first.append(f"{tally.waiting:,} item{'s' if tally.waiting > 1 else ''} left to another process")
    if tally.repaired:
        first.append(f"{tally.repaired:,} asked once more")
    first.append(f"{tally.tokens_in:,} tokens in, {tally.tokens_out:,} out")
    lines.append(localized("; ").join(map(localized, first)))
    budget = budget_text(moment.budget)
    costs = [f"cost {cost(tally)}", *([f"budget {budget}"] if budget else [])]
    lines.append(localized("; ").join(map(localized, costs)))
    news = [f"{name}{localized(': ')}{localized(each.told())}" for name, each in tally.makings.items() if each.is_news]
    lines += news[-MOST_MAKINGS:]
    if tally.errors:
        lines.append(failures(tally))
    told = [each for each in moment.endpoints or () if moment.verbose or each.state != "ready"]
    lines += [endpoint_line(each) for each in told[:MOST_ENDPOINTS]]
    return lines


def endpoint_line(endpoint: Snapshot) -> str:
    """Return how an endpoint is doing, by the names of its models.

    >>> endpoint_line(Snapshot("https://x/v1 X_KEY", ("x/a", "x/b"), 4, 16, 2, 1, "silent"))
    'x/a, x/b: silent; 4 of at most 16 calls under way, 2 waiting, 1 made again'
    """
    parts = [f"{endpoint.in_flight:,} of at most {endpoint.limit:,} calls under way"]
    if endpoint.waiting:
        parts.append(f"{endpoint.waiting:,} waiting")
    if endpoint.retries:
        parts.append(f"{endpoint.retries:,} made again")
    told = localized(", ").join(map(localized, parts))
    return f"{', '.join(endpoint.models)}{localized(': ')}{localized(endpoint.state)}{localized('; ')}{told}"


def failures(tally: CallCounters) -> str:
    """Failed calls by kind, the most frequent first.

    >>> from collections import Counter
    >>> failures(CallCounters(errors=Counter(R0104=3, R0111=1)))
    'failed: 3 R0104 rate limited, 1 R0111 server error'
    """
    common = tally.errors.most_common(MOST_ERRORS)
    kinds = [f"{number:,} {code} {localized(CODES.get(code, ''))}".rstrip() for code, number in common]
    rest = tally.errors.total() - sum(number for _, number in common)
    kinds += [localized(f"{rest:,} others")] if rest else []
    return f"{localized('failed')}{localized(': ')}{localized(', ').join(kinds)}"


def percent(done: int, total: int) -> str:
    """A share in whole per cent; never 100 before the end.

    >>> percent(1999, 2000), percent(2000, 2000), percent(5, 0)
    ('99%', '100%', '')
    """
    return f"{min(100, 100 * done // total)}%" if total else ""
