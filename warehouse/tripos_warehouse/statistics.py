"""Statistics that DuckDB lacks. scipy is imported when the first of them is called."""

from __future__ import annotations


def t_quantile(p: float | None, df: float | None) -> float | None:
    """The `p` quantile of Student's t with `df` degrees of freedom; `None` where `df` < 1 or one is missing.

    `scipy.special.stdtrit`, which inverts the incomplete beta function (DiDonato and Morris 1992).

    >>> round(t_quantile(0.975, 10), 3), t_quantile(0.975, 0)
    (2.228, None)
    """
    if p is None or df is None or not df >= 1:
        return None
    from scipy.special import stdtrit

    return float(stdtrit(df, p))
