"""Which replies a person is handed, and in which order: drawn with a seed, evenly over scenarios and models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tripos.annotation.replies import Candidate, Shown
from tripos_compiler.plan import digest
from tripos_compiler.semantics.subsets import Drawn

Show = Callable[[Sequence[Candidate]], Mapping[str, Shown]]


@dataclass(frozen=True)
class Choice:
    """What is asked for: `limit` items a scenario, items whose axis has one of the values in `only`, these scenarios,
    `sample` replies in all. `overlap` is the share of them that somebody else was handed too; `None` takes no notice
    of others. `items` are those of the `subset` of that name."""

    limit: int | None = None
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scenarios: tuple[str, ...] = ()
    sample: int | None = None
    overlap: float | None = None
    seed: int = 0
    subset: str | None = None
    items: Drawn | None = None

    def allows(self, candidate: Candidate) -> bool:
        """Whether a reply lies where `only` and `scenarios` say."""
        if self.scenarios and candidate.scenario not in self.scenarios:
            return False
        if self.items is not None and (candidate.scenario, candidate.unit.case.item_id) not in self.items:
            return False
        context = candidate.unit.case.context
        return all(context.get(axis, values[0]) in values for axis, values in self.only.items())


@dataclass(frozen=True)
class Handed:
    """What was handed out before: what this person had, and what others had, as `(sample_id, fingerprint)`."""

    own: Collection[tuple[str, str]] = ()
    others: Collection[tuple[str, str]] = ()


def draw(candidates: Iterable[Candidate], choice: Choice, handed: Handed, show: Show) -> dict[Candidate, Shown]:
    """The replies for one person, with what they see of them, in no order yet (`shuffled`).

    Of `sample` replies, scenarios have equal shares as far as they have replies, and within them models. With an
    `overlap`, what this person had before is not drawn again, and the rest of the shares is what nobody had.
    """
    allowed = list(_limited((each for each in candidates if choice.allows(each)), choice.limit))
    if choice.overlap is None:
        return _take(allowed, choice.sample, choice.seed, show)
    fresh = [each for each in allowed if _key(each) not in handed.own]
    common = [each for each in fresh if _key(each) in handed.others]
    alone = [each for each in fresh if _key(each) not in handed.others]
    count = len(fresh) if choice.sample is None else choice.sample
    found = _take(common, round(count * choice.overlap), choice.seed, show)
    return found | _take(alone, count - len(found), choice.seed, show)


def shuffled(drawn: Iterable[Candidate], seed: int, name: str) -> list[Candidate]:
    """An order of their own for every person, the same for the same seed."""
    return sorted(drawn, key=lambda each: digest(["order", seed, name, each.judgement_id]))


def _key(candidate: Candidate) -> tuple[str, str]:
    return candidate.sample_id, candidate.step.fingerprint


def _limited(candidates: Iterable[Candidate], limit: int | None) -> Iterator[Candidate]:
    items: dict[str, set[str]] = {}
    for each in candidates:
        some = items.setdefault(each.scenario, set())
        if limit is None or each.unit.case.item_id in some or len(some) < limit:
            some.add(each.unit.case.item_id)
            yield each


def _take(candidates: Sequence[Candidate], count: int | None, seed: int, show: Show) -> dict[Candidate, Shown]:
    """The first `count` that there is something to see of, in the order of the draw."""
    queue = _interleaved(candidates, seed)
    found: dict[Candidate, Shown] = {}
    while queue and (count is None or len(found) < count):
        size = len(queue) if count is None else count - len(found)
        some, queue = queue[:size], queue[size:]
        shown = show(some)
        found |= {each: shown[each.judgement_id] for each in some if each.judgement_id in shown}
    return found


def _interleaved(candidates: Iterable[Candidate], seed: int) -> list[Candidate]:
    """Every scenario's turn after another's, and within a scenario every model's."""
    by_scenario: dict[str, dict[str, list[Candidate]]] = {}
    for each in sorted(candidates, key=lambda each: digest(["draw", seed, *_key(each)])):
        by_scenario.setdefault(each.scenario, {}).setdefault(each.model, []).append(each)
    return list(turns([list(turns(list(models.values()))) for models in by_scenario.values()]))


def turns(queues: Sequence[Sequence[Candidate]]) -> Iterator[Candidate]:
    """One of each queue, then the next of each, to the end of the longest."""
    for place in range(max(map(len, queues), default=0)):
        yield from (queue[place] for queue in queues if place < len(queue))
