"""Two replies side by side, for a person to say which is better, by the names that the comparison would have had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tripos.annotation.batch import OtherReply, WantedGrade
from tripos.annotation.gradable import GradableReply
from tripos_compiler.plan import ChoiceType, Plan, digest
from tripos_runtime.asking import VERDICT, compared_worth
from tripos_runtime.program import Pair, Unit, pairs_of


def pairs_to_compare(units: Sequence[Unit], role: str) -> Iterator[Pair]:
    """Yield every two replies that a role compares, each in the order that their names decide: half of them in either,
    and the same for everybody."""
    for pair in pairs_of(units):
        if pair.bound.role_of(pair.step) == role and _is_shown(pair):
            yield pair


def _is_shown(pair: Pair) -> bool:
    own, other = (side.about(pair.step) for side in pair.sides)
    turned = int(digest(["shown first", pair.step.name, *sorted((own, other))])[:8], 16) % 2 == 1
    return (own > other) == turned


def gradable_pair(plan: Plan, pair: Pair, binding: str, evaluator: str, round: int | None) -> GradableReply:
    """Return two replies as something to grade. Of a later round the verdict is called otherwise."""
    step, scorer = pair.step, plan.scorer(pair.step.scorer)
    assert isinstance(scorer.gives, ChoiceType)
    choices = tuple((name, compared_worth(scorer, name) or 0.0) for name in scorer.gives.values)
    judgement, name = pair.calls[0].name, pair.comparisons[evaluator]
    first, second = (side.about(step) for side in pair.sides)
    if round is not None:
        about = evaluator, round, first, second, binding
        judgement = digest(["imported judgement", step.judgement, *about])
        name = digest(["imported comparison", step.fingerprint, *about])
    mark = WantedGrade(step.name, VERDICT, name, 1, len(choices), True)
    other = OtherReply(step.name, pair.second.model, second, choices)
    return GradableReply(pair.first, step, first, judgement, pair.first.model, binding, (mark,), pair, other)
