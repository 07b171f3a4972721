"""The summary of a run: calls, failures, cost, and the next command."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tripos.cli.progress.pace import budget_table, budget_text, cost
from tripos.settings import without_keys
from tripos.ui import harmless, terminal_width
from tripos_compiler.diagnostics import (
    CODES,
    display_width,
    duration,
    localized,
    per_second,
    percent,
    reader_language,
    usd,
    wrap,
)
from tripos_compiler.source import dataclass
from tripos_runtime.asking import CallCounters, TakenCounts
from tripos_runtime.scheduling import Budget

WIDEST = 80
"""Columns of a line, however wide the terminal is."""
SHORT_S = 10.0
"""How long a run took is told only where it took longer than this."""
MOST_UNASKED = 3
"""So many reasons are told why calls were not made."""
OUT_OF_BUDGET = "R0402"
GOOD = ("ok", "scored", "not_applicable")
"""Statuses that are no news where there is no other."""


@dataclass(frozen=True)
class Ended:
    """A run that has come to an end: `status` is `finished`, `interrupted`, `stopped` or `failed`, with the `code` of
    what stopped it. `functions` says what went wrong in Python functions, `command` what was typed."""

    run_id: str
    status: str
    tally: CallCounters
    elapsed_s: float
    code: str | None = None
    budget: Budget | None = None
    functions: tuple[str, ...] = ()
    command: str = ""


def counts(tally: CallCounters) -> str:
    """Return what came of the calls so far, in a few words.

    >>> counts(CallCounters(asked=Counter({("candidate", "sums"): 1200}), failed=Counter({("judge", "sums"): 3})))
    '1,200 asked, 3 failed'
    """
    parts = [f"{tally.asked.total():,} asked"]
    for name, counter in (("reused", tally.reused), ("skipped", tally.skipped), ("failed", tally.failed)):
        if counter.total():
            parts.append(f"{counter.total():,} {name}")
    return ", ".join(parts)


def summary_lines(ended: Ended) -> list[str]:
    """Return what people are told, in lines of at most 80 columns.

    >>> tally = CallCounters(asked=Counter({("candidate", "sums"): 9}), failed=Counter({("candidate", "sums"): 1}))
    >>> tally.errors["R0111"] = 1
    >>> tally.samples.update(ok=8, parse_failure=1, provider_error=1)
    >>> for line in summary_lines(Ended("r1", "finished", tally, 20.0, command="tripos run quiz")):
    ...     print(line)
    finished: 9 calls asked, 1 failed; 0 tokens in, 0 out; cost 0.00 USD
      took     20 s, 0.50/s
      replies  8 ok (80%), 1 parse_failure (10%), 1 provider_error (10%)
      failed   1 with R0111 server error: `tripos explain R0111`
      next     tries the failed call again: tripos run quiz
    """
    tally = ended.tally
    spent = budget_text(ended.budget)
    tokens = f"{tally.tokens_in:,} token{'' if tally.tokens_in == 1 else 's'} in, {tally.tokens_out:,} out"
    asked = counts(tally).replace(" asked", f" call{'' if tally.asked.total() == 1 else 's'} asked", 1)
    colon = localized(": ")
    lines = wrapped(f"{localized(ended.status)}{colon}", localized(f"{asked}; {tokens}; cost {cost(tally)}"), "  ")
    for text in ended.functions:
        lines += wrapped("  ", without_keys(text), "    ")
    for label, text in _details(ended):
        lines += wrapped(_labelled(label), localized(text), " " * 11)
    if spent:
        lines += wrapped(_labelled("budget"), localized(spent), " " * 11)
    for text in _next(ended):
        lines += wrapped(_labelled("next"), localized(text), " " * 11)
    return lines


def _labelled(label: str) -> str:
    """Return what a line of the summary begins with, as wide in any language."""
    shown = localized(label)
    return f"  {shown}{' ' * (8 - display_width(shown))} "


def _details(ended: Ended) -> Iterator[tuple[str, str]]:
    tally = ended.tally
    if ended.elapsed_s >= SHORT_S:
        calls = tally.asked.total() + tally.failed.total()
        yield "took", f"{duration(ended.elapsed_s)}, {per_second(calls / ended.elapsed_s)}"
    if told := taken_text(tally.taken):
        yield "reused", told
    for name, making in tally.makings.items():
        if making.is_news:
            yield "made", f"{name}: {making.told()}"
    counted = (
        ("replies", tally.samples),
        ("judges", tally.judgements),
        ("scores", tally.scores),
        ("compared", tally.comparisons),
    )
    for label, statuses in counted:
        if any(number and status not in GOOD for status, number in statuses.items()):
            yield label, shares(statuses)
    for (role, reason), count in tally.unasked.most_common(MOST_UNASKED):
        yield "unasked", f"{count:,} call{'' if count == 1 else 's'} of {role}: {reason}"
    if len(tally.unasked) > MOST_UNASKED:
        left = tally.unasked.total() - sum(count for _, count in tally.unasked.most_common(MOST_UNASKED))
        yield "unasked", f"{left:,} more, for other reasons: tripos report"
    if tally.repaired:
        replies = f"{tally.repaired:,} {'reply' if tally.repaired == 1 else 'replies'}"
        yield (
            "repairs",
            f"{replies} could not be read and {'was' if tally.repaired == 1 else 'were'} asked for once more",
        )
    for code, failed in sorted(tally.errors.items()):
        headline = f" {CODES[code]}" if code in CODES else ""
        yield "failed", f"{failed:,} with {code}{headline}: `tripos explain {code}`"
    if tally.unpriced:
        names = ", ".join(sorted(tally.unpriced))
        unknown = f"{tally.cost_unknown:,} call{'s' if tally.cost_unknown != 1 else ''}"
        yield "unpriced", f'{unknown} of {names}; [prices."NAME"] in tripos.toml gives a price'


def _next(ended: Ended) -> Iterator[str]:
    tally, failed = ended.tally, ended.tally.failed.total()
    if ended.code == OUT_OF_BUDGET:
        yield _typed("goes on with a larger --budget; what was answered is kept", ended.command)
    elif ended.status != "finished":
        yield _typed("goes on where this ended; what was answered is kept", ended.command)
    elif failed:
        yield _typed(f"tries the failed call{'s' if failed > 1 else ''} again", ended.command)
    elif not tally.asked.total() and tally.reused.total():
        yield "nothing was left to ask: every call was answered before"


def _typed(what: str, command: str) -> str:
    """Return what a command does, with the command where it can be copied from one line."""
    command = without_keys(command)
    if command and len(f"{what}: {command}") <= _width() - 11:
        return f"{localized(what)}{localized(': ')}{command}"
    return f"the same command {what}"


def shares(statuses: Counter[str]) -> str:
    """Statuses with their number and share, the most frequent first.

    >>> shares(Counter(ok=1999, refused=1))
    '1,999 ok (99.9%), 1 refused (0.1%)'
    """
    total = statuses.total()
    return ", ".join(
        f"{number:,} {localized(status)} ({percent(number / total)})"
        for status, number in sorted(statuses.items(), key=lambda each: (-each[1], each[0]))
        if number
    )


def _width() -> int:
    return min(WIDEST, terminal_width())


def wrapped(head: str, text: str, margin: str) -> list[str]:
    """Return lines of at most 80 columns, and of no more than the terminal has, of which the first begins with `head`
    and the others with `margin`."""
    if reader_language() != "en":  # Chinese has no spaces to break at
        first, *more = wrap(text, _width() - max(display_width(head), len(margin)))
        return [f"{head}{first}", *(f"{margin}{line}" for line in more)]
    # A figure and its unit stay together: no line is broken at a space that is not one of ASCII.
    whole = re.sub(r"(\d) (USD|tokens|calls)", "\\1\N{NO-BREAK SPACE}\\2", text)
    lines = textwrap.wrap(
        whole, _width(), initial_indent=head, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def taken_text(taken: TakenCounts) -> str:
    """Return how many replies were taken over from other stores, and what they had cost; nothing where none was.

    >>> taken_text(TakenCounts(Counter({"../class": 312}), {"../class": 1.25}))
    '312 from ../class, where they had cost 1.25 USD'
    """
    parts = []
    for place, count in taken.calls.items():
        paid, unpriced, shown = taken.cost_of(place), taken.unpriced[place], harmless(place)
        if paid is None:
            parts.append(localized(f"{count:,} from {shown}, where {unpriced:,} of them have no known cost"))
        else:
            parts.append(localized(f"{count:,} from {shown}, where they had cost {usd(paid)} USD"))
    return localized("; ").join(parts)


def summary_data(ended: Ended) -> dict[str, Any]:
    """Return the same for machines: what `tripos run --json` prints and the event `finished` carries. `cost_usd` is
    `None` where the price of a call is not known; `cost_known_usd` is what the others cost.

    >>> summary_data(Ended("r1", "finished", CallCounters(), 1.25))["calls"]
    {'planned': 0, 'asked': 0, 'reused': 0, 'skipped': 0, 'failed': 0, 'left': 0}
    """
    tally = ended.tally
    calls = tally.asked.total() + tally.failed.total()
    return {
        "run_id": ended.run_id,
        "status": ended.status,
        "code": ended.code,
        "calls": tally.calls(),
        "samples": dict(sorted(tally.samples.items())),
        "judgements": dict(sorted(tally.judgements.items())),
        "scores": dict(sorted(tally.scores.items())),
        "comparisons": dict(sorted(tally.comparisons.items())),
        "made": {name: making.to_json() for name, making in tally.makings.items()},
        "unasked": [
            {"role": role, "reason": reason, "calls": count} for (role, reason), count in sorted(tally.unasked.items())
        ],
        "errors": dict(sorted(tally.errors.items())),
        "reused_from": tally.taken.to_json(),
        "repaired": tally.repaired,
        "functions": [without_keys(text) for text in ended.functions],
        "tokens_in": tally.tokens_in,
        "tokens_out": tally.tokens_out,
        "cost_usd": None if tally.cost_unknown else round(tally.cost_usd, 6),
        "cost_known_usd": round(tally.cost_usd, 6),
        "unpriced": sorted(tally.unpriced),
        "budget": budget_table(ended.budget),
        "elapsed_s": round(ended.elapsed_s, 3),
        "calls_per_s": round(calls / ended.elapsed_s, 3) if ended.elapsed_s > 0 else None,
    }
