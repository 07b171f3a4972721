"""Scales of judges that a row gives, as in `gives 0..points`: their upper end in one case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripos_compiler.language.evaluation import NoValue, evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.plan import Expr, IntegerType, Scorer
from tripos_compiler.plan.outcomes import UNDEFINED


def scale_arguments(scorer: Scorer, args: Mapping[str, Expr]) -> dict[str, Expr]:
    """Return the arguments of a judge on which the end of its scale depends; none if it has a scale of its own."""
    used = set[str]() if scorer.maximum is None else names_in(scorer.maximum)
    return {param: arg for param, arg in args.items() if param in used}


def scorer_in_case(scorer: Scorer, args: Mapping[str, Expr], names: Mapping[str, Any]) -> Scorer:
    """Return a scorer with the scale that it has in a case. `args` are its arguments, and `names` the values of the
    case.

    Raises `Unavailable` if the case gives no upper end, or one that is not above the lower end. A score without a
    scale is missing, and never left out of the coverage.
    """
    if scorer.maximum is None:
        return scorer
    given = {param: evaluate(arg, names) for param, arg in scale_arguments(scorer, args).items()}
    maximum, low = evaluate(scorer.maximum, {**names, **given}), _lower_end(scorer)
    if not isinstance(maximum, int) or isinstance(maximum, bool) or maximum <= low:
        raise NoValue(UNDEFINED, f"the scale of `{scorer.name}` begins at {low} and would end at {maximum}")
    return scorer.on_scale(maximum)


def _lower_end(scorer: Scorer) -> int:
    assert isinstance(scorer.gives, IntegerType)
    assert scorer.gives.low is not None
    return scorer.gives.low
