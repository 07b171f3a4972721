"""SQL that tells where a mean clears a floor: the whole of its 95 % interval lies above.

It is SQL alone, since the macros that use it work in any DuckDB. The interval is that of `statistics.bounded`, of a
share with one score an item that of Clopper and Pearson, and without ends Student's t. None of them is worked out: a
low end lies above a floor f where

- the chance of as many right or more is below 2.5 %, were f the share of all
- (p - f) / s′ and (logit p - logit f) · p (1 - p) / s′ are both above the quantile of Student's t
"""

from __future__ import annotations

QUANTILES = """
12.706204736, 4.302652730, 3.182446305, 2.776445105, 2.570581836, 2.446911851,
2.364624252, 2.306004135, 2.262157163, 2.228138852, 2.200985160, 2.178812830,
2.160368656, 2.144786688, 2.131449546, 2.119905299, 2.109815578, 2.100922040,
2.093024054, 2.085963447, 2.079613845, 2.073873068, 2.068657610, 2.063898562,
2.059538553, 2.055529439, 2.051830516, 2.048407142, 2.045229642, 2.042272456
""".strip().replace("\n", " ")
"""Those of Student's t at 97.5 %, of 1 to 30 degrees of freedom."""

T_QUANTILE = f"""case when items <= 31 then [{QUANTILES}][items - 1]
  else 1.959963985 + 2.372271230 / (items - 1) + 2.822498616 / pow(items - 1, 2) + 2.555849680 / pow(items - 1, 3)
    + 1.589534054 / pow(items - 1, 4) end"""
"""The quantile of `items` - 1 degrees of freedom: beyond 30 by Cornish and Fisher's expansion (Abramowitz and Stegun
1964, 26.7.5)."""

CLEARS = """case
  when mean is null or floor is null then null
  when items < 2 or standard_error is null then mean > floor
  when least is null then case when standard_error <= 1e-9 then mean > floor
    else mean - floor > t * standard_error end
  when bottom >= 1 then false
  when least = 0 and most = 1 and items = scores
      and abs(pow(standard_error, 2) * (items - 1) - mean * (1 - mean)) <= 1e-9
    then case when bottom <= 0 then mean > 0 else mean > bottom and list_sum([
      exp(lgamma(items + 1) - lgamma(many + 1) - lgamma(items - many + 1) + many * ln(bottom)
        + (items - many) * ln(1 - bottom))
      for many in range(round(mean * items)::bigint, items + 1)]) < 0.025 end
  when error <= 1e-9 then share * pow(0.025, 1.0 / items) > bottom
  else share - bottom > t * enlarged
    and case when bottom <= 0 then true
      else (ln(share / (1 - share)) - ln(bottom / (1 - bottom))) * share * (1 - share) > t * enlarged end
end"""
"""Whether a mean clears `floor`, over columns that `placed` adds."""


def placed(source: str) -> str:
    """Return the query of `source`, which has `mean`, `standard_error`, `items`, `scores`, the ends `least` and `most`
    of the scale and a `floor`, with `clears` beside its columns."""
    return f"""select *, {CLEARS} as clears from (
  select *, {T_QUANTILE} as t,
    sqrt(pow(error, 2) + share * (1 - share) * pow(1 - 2 * share, 2) / pow(items, 2)) as enlarged
  from (
    select *, (mean - least) / (most - least) as share, (floor - least) / (most - least) as bottom,
      standard_error / (most - least) as error
    from {source}))"""
