"""Holds the requests that a server saw to what may be asked: nothing twice of which the reply had arrived."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.kills.counting_server import Asked

MARGIN_S = 0.15
"""A reply that was handed to the socket so shortly before a kill may have been read and not kept yet; one that was not
read at all is known, however long it had lain there."""


@dataclass(frozen=True)
class Account:
    """What was asked for a store, and what is wrong with it.

    `lost` are replies that a kill may have made worthless, `again` those that were asked for again; of these,
    `oldest_s` is the longest time between the reply and the kill.
    """

    requests: int
    refused: int
    replies: int
    lost: int
    again: int
    oldest_s: float
    complaints: tuple[str, ...]


def wanted_of(asked: Sequence[Asked]) -> Counter[str]:
    """Return how often each body is answered in a run that nobody disturbs."""
    return Counter(each.body for each in asked if each.status == 200 for _ in range(each.replies))


def settle(asked: Sequence[Asked], stopped_s: Mapping[str, float | None], wanted: Mapping[str, int]) -> Account:
    """Return the account of a store's requests. `stopped_s` says of each process when it was killed, if it was; of one
    whose disk was lost as well, when it had last been able to upload."""
    answered = [each for each in asked if each.status == 200]
    lost = [each for each in answered if _is_lost(each, stopped_s)]
    complaints = [
        f"{each.body[:12]} was asked again by `{_process(each)}`"
        + ("" if each.body in wanted else " though nobody needs it")
        for each in _again(answered, stopped_s, wanted)
    ]
    replies, losses = sum(each.replies for each in answered), sum(each.replies for each in lost)
    most = sum(wanted.values()) + losses
    if replies > most:
        complaints.append(f"{replies} replies, where {sum(wanted.values())} were needed and {losses} lost")
    settled = wanted_of([each for each in answered if not _is_lost(each, stopped_s)])
    for body, times in wanted.items():
        # A reply just before a kill may have been read all the same, so what is lost may have done for the rest.
        if settled[body] < times and settled[body] + sum(each.replies for each in lost if each.body == body) < times:
            complaints.append(f"{body[:12]} was answered {settled[body]} times of {times}")
    again = max(replies - sum(wanted.values()), 0)
    oldest_s = _oldest_s(answered, lost, stopped_s, wanted)
    return Account(len(asked), len(asked) - len(answered), replies, losses, again, oldest_s, tuple(complaints))


def _oldest_s(
    answered: Sequence[Asked], lost: Sequence[Asked], stopped_s: Mapping[str, float | None], wanted: Mapping[str, int]
) -> float:
    """Return how long before the kill a reply was handed over that was asked for again. Of equal bodies, the ones whose
    reply came last are taken to be those."""
    ages: dict[str, list[float]] = defaultdict(list)
    for each in lost:
        stop = stopped_s[_process(each)]
        assert stop is not None
        ages[each.body] += [0.0 if each.handed_s is None else max(stop - each.handed_s, 0.0)] * each.replies
    more = wanted_of(answered)
    more.subtract(wanted)
    return max(
        (sorted(ages[body])[count - 1] for body, count in more.items() if 0 < count <= len(ages[body])), default=0
    )


def _again(answered: Sequence[Asked], stopped_s: Mapping[str, float | None], wanted: Mapping[str, int]) -> list[Asked]:
    """Return the requests that came when as many replies as are needed had been given, or were under way."""
    before: dict[str, list[Asked]] = defaultdict(list)
    again: list[Asked] = []
    for each in answered:
        taken = sum(other.replies for other in before[each.body] if _counts(other, each.arrived_s, stopped_s))
        if taken + each.replies > wanted.get(each.body, 0):
            again.append(each)
        before[each.body].append(each)
    return again


def _counts(other: Asked, at_s: float, stopped_s: Mapping[str, float | None]) -> bool:
    """Return true if a request stands for a reply at a later time: it has one for good, or its process waits for
    one."""
    stop = stopped_s[_process(other)]
    alive = stop is None or at_s < stop
    return alive or not _is_lost(other, stopped_s)


def _is_lost(each: Asked, stopped_s: Mapping[str, float | None]) -> bool:
    stop = stopped_s[_process(each)]
    return stop is not None and (each.unread or each.handed_s is None or each.handed_s > stop - MARGIN_S)


def _process(each: Asked) -> str:
    return each.place.split("/")[2]
