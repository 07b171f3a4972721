"""The aggregates that a measure is made of: what each takes, what it gives, and where its formula is from.

This table describes them. The compiler checks measures against it; the warehouse computes them.
"""

from __future__ import annotations

import math

from tripos_compiler.language.figures.aggregate_signatures import (
    AggregateFunction,
    AggregateParameter,
    Bounds,
    between,
)
from tripos_compiler.language.figures.set_aggregates import SET_AGGREGATES


def _same(given: Bounds) -> Bounds:
    return given


def _spread(given: Bounds) -> Bounds:
    """With n - 1 below the line, two values at either end are furthest apart."""
    low, high = given
    return 0.0, None if low is None or high is None else (high - low) / math.sqrt(2)


def _total(given: Bounds) -> Bounds:
    """Of no values the sum is 0, and there may be any number of them."""
    low, high = given
    return 0.0 if low is not None and low >= 0 else None, 0.0 if high is not None and high <= 0 else None


_SCORES = AggregateParameter("values", "scores")
_VALUES = AggregateParameter("values", "values")
_GOLD = AggregateParameter("gold", "values")
_OTHER = AggregateParameter("gold", "scores", required=False)
_OTHER_VALUES = AggregateParameter("gold", "values", required=False)
_COMPARE = AggregateParameter("values", "compare")
_WEIGHT = AggregateParameter("weight", "word", False, ("alike", "margin"), "alike")
_TIES = AggregateParameter("ties", "word", False, ("davidson", "half"), "davidson")
_K = AggregateParameter("k", "count")
_TRIES = AggregateParameter("tries", "word", False, ("every", "first"), "every")
_AVERAGE = AggregateParameter("average", "word", False, ("micro", "macro", "binary", "samples"), "macro")
_POSITIVE = AggregateParameter("positive", "word", required=False)
_LEVEL = AggregateParameter("level", "word", False, ("nominal", "ordinal", "interval"), "interval")
_MODELS = AggregateParameter("models", "word", False, ("each", "together"), "each")
_CLASSES = (_VALUES, _GOLD, _AVERAGE, _POSITIVE)

_SHARE = between(0.0, 1.0)
_BOTH_WAYS = between(-1.0, 1.0)
_ALSO_PAIRED = ("skip", "zero", "fail", "paired")
"""An item without a value in one arm can be left out in all."""
_SKIP_ONLY = ("skip", "fail")
"""Nothing stands for a value of a class or a rank that is not there."""

_AVERAGES = (
    "`micro` counts all items alike, `macro` takes the mean over the classes that occur, `binary` looks at `positive` "
    "alone (true, where values are true or false), `samples` takes the mean over items that are sets"
)
_CLASSIFIED = "van Rijsbergen, Information Retrieval, 1979; averages as in Sokolova and Lapalme, 2009"

_ALL: tuple[AggregateFunction, ...] = (
    AggregateFunction(
        "mean",
        (_SCORES,),
        "the arithmetic mean",
        "standard error: Liang and Zeger, 1986",
        _same,
        of_rows=True,
        missing=_ALSO_PAIRED,
    ),
    AggregateFunction(
        "median",
        (_SCORES,),
        "the middle value; of an even number the mean of the two",
        "",
        _same,
        missing=_ALSO_PAIRED,
    ),
    AggregateFunction(
        "stdev",
        (_SCORES,),
        "the standard deviation of a sample, with n − 1 below the line; of one value none",
        "",
        _spread,
    ),
    AggregateFunction("count", (_VALUES,), "the number of values", "", between(0.0, None), missing=_SKIP_ONLY),
    AggregateFunction(
        "share",
        (_SCORES,),
        "the share that is true",
        "",
        _SHARE,
        truth_only=True,
        of_rows=True,
        missing=_ALSO_PAIRED,
    ),
    AggregateFunction("sum", (_SCORES,), "the sum; of none it is 0", "", _total),
    AggregateFunction("min", (_SCORES,), "the least value", "", _same),
    AggregateFunction("max", (_SCORES,), "the greatest value", "", _same),
    AggregateFunction(
        "accuracy",
        (_VALUES, _GOLD),
        "the share of values that are equal to the gold ones",
        "",
        _SHARE,
        of_rows=True,
    ),
    AggregateFunction(
        "corrected_prevalence",
        (
            _SCORES,
            AggregateParameter("sensitivity", "rate"),
            AggregateParameter("specificity", "rate"),
            AggregateParameter("positives", "count", required=False),
            AggregateParameter("negatives", "count", required=False),
        ),
        "the share that is true, corrected for a judge that finds the share `sensitivity` of what is true and says "
        "`false` of the share `specificity` of what is false: (p + specificity − 1) / (sensitivity + specificity − 1), "
        "cut at 0 and 1. `positives` and `negatives` are how many true and false replies showed these rates, whose "
        "error is in the interval then; without them they are known exactly",
        "Rogan and Gladen, Estimating Prevalence from the Results of a Screening Test, 1978; interval: Lang and "
        "Reiczigel, 2014",
        _SHARE,
        truth_only=True,
        missing=_ALSO_PAIRED,
    ),
    AggregateFunction(
        "precision", _CLASSES, f"of what was said to be of a class, the share that is; {_AVERAGES}", _CLASSIFIED, _SHARE
    ),
    AggregateFunction(
        "recall", _CLASSES, f"of what is of a class, the share that was said to be; {_AVERAGES}", _CLASSIFIED, _SHARE
    ),
    AggregateFunction(
        "f1", _CLASSES, f"the harmonic mean of precision and recall of a class; {_AVERAGES}", _CLASSIFIED, _SHARE
    ),
    AggregateFunction(
        "pass_at",
        (_K, _SCORES, _TRIES),
        "the chance that one at least of k samples of an item is right: of `every` k of n with c right the share "
        "1 − C(n − c, k) / C(n, k), which is without bias; or whether one of the `first` k is, one draw",
        "Chen et al., Evaluating Large Language Models Trained on Code, 2021",
        _SHARE,
        truth_only=True,
        missing=_ALSO_PAIRED,
    ),
    AggregateFunction(
        "pass_all",
        (_K, _SCORES, _TRIES),
        "the chance that all of k samples of an item are right: of `every` k of n with c right the share "
        "C(c, k) / C(n, k), which is without bias; or whether all of the `first` k are, one draw",
        "Yao et al., τ-bench, 2024, there pass^k",
        _SHARE,
        truth_only=True,
        missing=_ALSO_PAIRED,
    ),
    AggregateFunction(
        "kendall_w",
        (_SCORES, _MODELS),
        "how far raters put items in the same order, from not at all to fully, corrected for ties",
        "Kendall and Babington Smith, The Problem of m Rankings, 1939",
        _SHARE,
        across="required",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "krippendorff_alpha",
        (_VALUES, _LEVEL, _MODELS),
        "how far raters agree beyond chance, for any number of them, with gaps; 0 is chance. Values that are no "
        "numbers are `nominal`",
        "Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011",
        between(None, 1.0),
        across="required",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "kendall_tau",
        (_SCORES, _OTHER, _MODELS),
        "how far two put items in the same order (tau-b); of more raters the mean over pairs",
        "Kendall, The Treatment of Ties in Ranking Problems, 1945",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "spearman",
        (_SCORES, _OTHER, _MODELS),
        "the correlation of two rankings of items, ties at their mean rank; of more raters the mean over pairs",
        "Spearman, The Proof and Measurement of Association between Two Things, 1904",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "cohen_kappa",
        (_VALUES, _OTHER_VALUES, _MODELS),
        "how far two agree beyond chance on which class an item is of; of more raters the mean over pairs",
        "Cohen, A Coefficient of Agreement for Nominal Scales, 1960",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "quadratic_kappa",
        (_SCORES, _OTHER, _MODELS),
        "how far two agree beyond chance, a difference counting by its square; of more raters the mean over pairs",
        "Cohen, Weighted Kappa, 1968",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "gwet_ac1",
        (_VALUES, _OTHER_VALUES, _MODELS),
        "how far raters agree beyond chance on which class an item is of, for any number of them, with gaps; where "
        "nearly all items are of one class it stays near the share of pairs that agree, and κ does not; levels and "
        "names of the rubric that nobody gave are classes too",
        "Gwet, Computing Inter-Rater Reliability and its Variance in the Presence of High Agreement, 2008",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "gwet_ac2",
        (_SCORES, _OTHER, _MODELS),
        "the same of numbers, a difference counting by its square",
        "Gwet, Handbook of Inter-Rater Reliability, 2014",
        between(None, 1.0),
        across="optional",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "mean_tau_agreement",
        (_SCORES,),
        "how far raters put the replies to an item in the same order, (τ_b + 1) / 2 of two raters over the replies of "
        "all compared models to it, as the mean over items; of more raters over pairs. An item all of whose replies a "
        "rater gave one score has none, and is left out. It is no W: chance alone gives 0.5",
        "the figure that the EduBench paper reports, arXiv:2505.16160",
        _SHARE,
        across="required",
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "win_rate",
        (_COMPARE, _WEIGHT),
        "the share of its comparisons that a model wins, a tie counting half. With `weight: margin` a comparison "
        "counts as often as the value of what the judge chose says, and a tie once",
        "weights: Li et al., From Crowdsourced Data to High-Quality Benchmarks, 2024, there 3 for a strong preference",
        _SHARE,
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "bradley_terry",
        (_COMPARE, _WEIGHT, _TIES),
        "the strength of a model in log-odds, 0 being the mean of all: one that is 1 stronger than another wins e "
        "times as often as it loses; two that are alike tie as often as the verdicts show. With `ties: half` a tie is "
        "half a win of both. With `weight: margin` a comparison counts as often as the value of what the judge chose "
        "says, and a tie once",
        "Bradley and Terry, Rank Analysis of Incomplete Block Designs, 1952; ties as Davidson, 1970; halves and "
        "weights as Arena-Hard, Li et al., 2024",
        between(None, None),
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "position_bias",
        (_COMPARE,),
        "the share of verdicts for the reply that is shown first less the share for the second, of replies that were "
        "judged in both orders; 0 is no bias",
        "Wang et al., Large Language Models are not Fair Evaluators, 2023",
        _BOTH_WAYS,
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "flip_rate",
        (_COMPARE,),
        "the share of comparisons in which the other model wins when the replies change places; a tie in one order is "
        "no turn",
        "Zheng et al., Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, 2023, there as (in)consistency",
        _SHARE,
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "self_preference",
        (_COMPARE,),
        "the win rate of a model where judges of its own family judge it, itself among them, less where others do, on "
        "the same replies; 0 is no preference",
        "Panickssery et al., LLM Evaluators Recognize and Favor Their Own Generations, 2024",
        _BOTH_WAYS,
        missing=_SKIP_ONLY,
    ),
)

AGGREGATES: dict[str, AggregateFunction] = {aggregate.name: aggregate for aggregate in (*_ALL, *SET_AGGREGATES)}
"""The aggregates by the name that a spec uses."""
