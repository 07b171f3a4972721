"""Registry of aggregates: every fact about each of them that another module asks for.

The compiler checks measures against this table, the warehouse computes the aggregates by it, and the page shows the
labels. No other module compares the name of an aggregate with a text: it asks for a fact (`declared_aggregate`). To add
an aggregate, declare it here and implement it in the warehouse (`measures/aggregates.py`, or `query/aggregates.py` if
SQL has no formula for it).

`SET_AGGREGATES` are those that are not plain means over items: weighted means, BLEU, chrF and TER of a corpus,
correlations between classes, and calibration of probabilities.

The module also maps model names to model families, for self-preference of judges.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from tripos_compiler.plan import Aggregate, Type
from tripos_compiler.source.data_classes import dataclass

Bounds = tuple[float | None, float | None]
"""Least and greatest possible value; None if there is no bound."""

ParameterKind = Literal[
    "scores", "chances", "truths", "weights", "values", "texts", "typed", "compare", "count", "rate", "word"
]


@dataclass(frozen=True)
class AggregateParameter:
    """Parameter of an aggregate.

    | kind | values |
    | --- | --- |
    | `scores` | numbers, or bools, which count as 1 and 0 |
    | `chances` | numbers from 0 to 1 |
    | `truths` | bools |
    | `weights` | numbers from 0 |
    | `values` | values of any type with equality, or sets of them |
    | `texts` | texts; after the first parameter also lists of texts |
    | `compare` | verdicts of a `compare` |
    | `count` | a whole number from 1 |
    | `rate` | a number from 0 to 1 |
    | `typed` | a column of type `of`, for a user's function |
    | `word` | one of `words`, or if it is empty, any value of the data; `default` if it is not given |
    """

    name: str
    kind: ParameterKind
    required: bool = True
    words: tuple[str, ...] = ()
    default: str | None = None
    of: Type | None = None
    of_names: str | None = None
    """The word if nothing is given, for a choice whose names have no numbers."""

    @property
    def column(self) -> bool:
        """True if it has a value for every response, false if it is a setting."""
        return self.kind not in ("count", "rate", "word")

    @property
    def shown(self) -> str:
        """Return its notation in a signature.

        >>> AggregateParameter("average", "word", False, ("micro", "macro"), "macro").shown
        'average: micro|macro (optional)'
        """
        from tripos_compiler.library.types import type_notation

        typed = None if self.of is None else f"list<{type_notation(self.of)}>"
        kind = typed or "|".join(self.words) or self.kind
        return f"{self.name}: {kind}{'' if self.required else ' (optional)'}"


def between(low: float | None, high: float | None) -> Callable[[Bounds], Bounds]:
    """Return bounds that do not depend on the bounds of the arguments.

    >>> between(0.0, 1.0)((-3.0, 7.0))
    (0.0, 1.0)
    """
    return lambda _: (low, high)


@dataclass(frozen=True)
class AggregateFunction:
    """Aggregate: its signature, and the facts about its result by which the compiler, the warehouse and the page treat
    it."""

    name: str
    parameters: tuple[AggregateParameter, ...]
    summary: str
    source: str
    """Where its formula is published; empty if there is nothing to cite."""
    bounds: Callable[[Bounds], Bounds]
    """Maps the bounds of the arguments to those of the result."""
    influence: str = ""
    """The influence of an item on it, from which its error follows, as the page on measures says it."""
    label: str = ""
    """Its name on the page, and in `chinese`."""
    chinese: str = ""
    across: Literal["forbidden", "optional", "required"] = "forbidden"
    """Whether it compares raters, the models of a role (`measure … across ROLE`); if that is optional, a second column
    may be given instead."""
    truth_only: bool = False
    """Whether its scores must be bools."""
    missing: tuple[str, ...] = ("skip", "zero", "fail")
    """The supported treatments of responses without a value, the default first."""
    mean_of: Literal["rows", "items"] | None = None
    """It is the mean of a value of each row, or of a chance that each item has with its samples."""
    ratio: tuple[str, str] | None = None
    """The two aggregates whose quotient this mean is."""
    single_value: bool = False
    """Whether it is one of the values, or lies between two: it changes in steps, and depends on no other value."""
    counts: bool = False
    """Whether it counts values of any type, comparisons among them. A number of values has no error."""
    degree: int = 0
    """The power of the number of items with which it grows: 1 for a sum."""
    takes_elements: bool = False
    """Whether it takes several values of a reply, the scores of the elements of a list."""
    correctable: bool = False
    """Whether people can correct it: a random sample of the replies estimates it without bias."""
    unread: Literal["worst", "unequal"] | None = None
    """How an unreadable reply counts if it counts as wrong: with the worst value of its score, or as a value that is
    equal to none. None if it cannot be counted."""
    error: Literal["influence", "jackknife", "deviation"] = "influence"
    """Where its error comes from: the influences of items, the values without each item, or that of a standard
    deviation, whose interval is one of its logarithm."""
    needs_spread: bool = False
    """Whether it is no mean over items: if all items are alike, nothing bounds how far another could move it."""
    likely_low: float | None = None
    """The value that it is hardly ever below, if it has no lower bound: two raters who never agree approach −1 as the
    number of items grows."""
    pooled: bool = False
    """Whether it is one figure of all compared models together."""
    sets: Literal["equal", "members", "none"] = "equal"
    """How it takes values that are sets: it asks whether two sets are equal, it counts their members, which it does of
    lists too, or it takes none."""
    both_orders: bool = False
    """Whether it compares the verdicts on two replies in both orders."""
    better: Literal["higher", "lower"] | None = None
    """Which value is better whatever it takes: a higher share of right answers, a lower error. A mean of grades is
    better when higher because its grades are."""
    table: Literal["confusion", "reliability"] | None = None
    """The table that shows how it comes about."""

    @property
    def takes(self) -> ParameterKind:
        """Return the kind of its columns: `scores`, `values`, `texts` or `compare`."""
        return self.columns[0].kind

    @property
    def columns(self) -> tuple[AggregateParameter, ...]:
        """Parameters that have a value for every response."""
        return tuple(parameter for parameter in self.parameters if parameter.column)

    @property
    def rises(self) -> bool:
        """True if it is non-decreasing in its values, as a mean and a sum are.

        >>> from tripos_compiler.language.aggregates import AGGREGATES
        >>> [name for name in ("mean", "median", "sum", "max", "stdev", "count") if AGGREGATES[name].rises]
        ['mean', 'median', 'sum', 'max']
        """
        between_values = self.bounds((-3.0, 7.0)) == (-3.0, 7.0)
        return between_values or (self.bounds((2.0, 3.0)) == (0.0, None) and self.bounds((-3.0, -2.0)) == (None, 0.0))

    @property
    def is_mean_of_scores(self) -> bool:
        """True if it is the mean of the scores of rows, of numbers or of what is true or false.

        >>> from tripos_compiler.language.aggregates import AGGREGATES
        >>> [name for name, aggregate in AGGREGATES.items() if aggregate.is_mean_of_scores]
        ['mean', 'share']
        """
        return self.mean_of == "rows" and len(self.columns) == 1

    @property
    def takes_cells(self) -> bool:
        """True if it can be taken of the cells of a figure as well as of scores.

        >>> from tripos_compiler.language.aggregates import AGGREGATES
        >>> [name for name, aggregate in AGGREGATES.items() if aggregate.takes_cells]
        ['mean', 'median', 'stdev', 'count', 'sum', 'min', 'max']
        """
        single = len(self.columns) == 1 and self.across == "forbidden" and not self.truth_only
        return single and self.takes not in ("compare", "typed")

    @property
    def needs_across(self) -> bool:
        """True if a measure must say `across ROLE`."""
        return self.across == "required"

    @property
    def shown(self) -> str:
        """Signature for people.

        >>> from tripos_compiler.language.aggregates import AGGREGATES
        >>> AGGREGATES["pass_at"].shown
        'pass_at(k: count, values: scores, tries: every|first (optional), conversations: each|best (optional))'
        """
        return f"{self.name}({', '.join(parameter.shown for parameter in self.parameters)})"


_TEXT = AggregateParameter("text", "texts")
_REFERENCE = AggregateParameter("reference", "texts")
_TOKENIZE = AggregateParameter("tokenize", "word", False, ("auto", "13a", "zh", "intl", "char", "none"), "auto")
_CASE = AggregateParameter("case", "word", False, ("kept", "ignored"), "kept")
_WORDS = AggregateParameter("words", "word", False, ("none", "two"), "none")
_CHANCE = AggregateParameter("chance", "chances")
_TRUE = AggregateParameter("true", "truths")
_SKIP_ONLY = ("skip", "fail")

_DRAWN_INFLUENCE = "none: items are drawn again, as for a [function of yours](../language/aggregate.md)"
_LEFT_OUT_INFLUENCE = (
    "how far the value moves when the item is left out (the jackknife); of more than 400 items a 200th of "
    "them at a time, from 5,000 items on a 50th"
)
_AS_MEAN_INFLUENCE = "as above; with weights of metrics, by weight"
_SUM_INFLUENCE = "its sum less the mean sum of an item"
_RATIO_INFLUENCE = (
    "of N / D, both sums over replies: (N of the item − value · D of the item) / D; `macro` the mean of "
    "that over classes, `samples` as a mean. An item that says nothing of the class is none of the items "
    "behind it"
)
_CHANCE_INFLUENCE = (
    "the item's own chance less the mean of all, by the number of items; a chance of fewer than k values "
    "does not count, nor do those values in `n`, and the report says on how many items it stands"
)
_NONE_INFLUENCE = "none: there is no standard error"
_ORDERS_INFLUENCE = "as a mean over judges and pairs of replies that were judged in both orders"

# Aggregates of a whole set

SET_AGGREGATES: tuple[AggregateFunction, ...] = (
    AggregateFunction(
        "weighted_mean",
        (AggregateParameter("values", "scores"), AggregateParameter("weight", "weights")),
        "the mean of values, each counting as often as its weight says, such as the points of its question: the sum of "
        "value times weight by the sum of weights. A weight of 0 counts nothing, a value whose row has no weight is "
        "missing, and with a weight below 0 there is no value",
        "standard error of a ratio: Cochran, Sampling Techniques, 1977, chapter 6; degrees of freedom: Bell and "
        "McCaffrey, 2002",
        lambda given: given,
        influence="the sum over its scores of weight · (score − value), by the sum of all weights",
        label="weighted mean",
        chinese="加权平均值",
        takes_elements=True,
        unread="worst",
    ),
    AggregateFunction(
        "corpus_bleu",
        (_TEXT, _REFERENCE, _TOKENIZE, _CASE),
        "BLEU of all texts together against one or more references each, 0 to 100: the n-grams that are right are "
        "counted over the whole set, and only then divided; it is no mean of the `bleu` of items. Tokens are those of "
        "[`bleu`](functions.md#bleu), by the script of each text, unless `tokenize` names a tokenizer of sacreBLEU. "
        "Differences of writing do not count, as for `bleu`. A missing text counts as an empty one with "
        "`missing: zero`",
        "Papineni et al., BLEU, 2002; as sacreBLEU computes it, Post, 2018",
        between(0.0, 100.0),
        influence=_DRAWN_INFLUENCE,
        better="higher",
        label="BLEU of all texts",
        chinese="全部文本的 BLEU",
    ),
    AggregateFunction(
        "corpus_chrf",
        (_TEXT, _REFERENCE, _WORDS, _CASE),
        "chrF of all texts together, 0 to 100, counted over the whole set against the best reference of each text; "
        "with `words: two` it is chrF++, which counts words and pairs of words too; in a script that puts no space "
        "between words, each "
        "character is a word. Differences of writing do not count, as for `chrf`",
        "Popović, chrF, 2015, and chrF++, 2017; as sacreBLEU computes it",
        between(0.0, 100.0),
        influence=_DRAWN_INFLUENCE,
        better="higher",
        label="chrF of all texts",
        chinese="全部文本的 chrF",
    ),
    AggregateFunction(
        "corpus_ter",
        (_TEXT, _REFERENCE, AggregateParameter("case", "word", False, ("kept", "ignored"), "ignored")),
        "the edits that all texts need, shifts among them, by the words of the references, times 100: 0 is the best, "
        "and there is no greatest value. In a script that puts no space between words, each character is a word. "
        "Differences of writing do not count, as for `bleu`",
        "Snover et al., A Study of Translation Edit Rate, 2006; as sacreBLEU computes it",
        between(0.0, None),
        influence=_DRAWN_INFLUENCE,
        better="lower",
        label="edits of all texts (TER)",
        chinese="全部文本的 TER",
    ),
    AggregateFunction(
        "mcc",
        (AggregateParameter("values", "values"), AggregateParameter("gold", "values")),
        "Matthews' correlation of classes that were said with those that are, for any number of classes: 1 is all "
        "right, 0 is chance",
        "Matthews, 1975; of several classes Gorodkin, Comparing two K-category assignments, 2004, there R_K",
        between(-1.0, 1.0),
        missing=("skip", "fail"),
        influence=_LEFT_OUT_INFLUENCE,
        better="higher",
        label="correlation of classes (Matthews)",
        chinese="类别的相关系数（Matthews）",
        takes_elements=True,
        error="jackknife",
        needs_spread=True,
        table="confusion",
    ),
    AggregateFunction(
        "brier",
        (_CHANCE, _TRUE),
        "the mean squared distance of probabilities from what came true: 0 is the best, and 0.25 is what 0.5 for "
        "everything comes to",
        "Brier, Verification of Forecasts Expressed in Terms of Probability, 1950",
        between(0.0, 1.0),
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        better="lower",
        label="squared error of probabilities (Brier)",
        chinese="概率的平方误差（Brier）",
        takes_elements=True,
        table="reliability",
    ),
    AggregateFunction(
        "log_loss",
        (_CHANCE, _TRUE),
        "the mean of −ln of the probability of what came true: 0 is the best, and 0.693 is what 0.5 for everything "
        "comes to. Where a reply was certain of what is not so, there is no value",
        "Good, Rational Decisions, 1952",
        between(0.0, None),
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        better="lower",
        label="log loss of probabilities",
        chinese="概率的对数损失",
        takes_elements=True,
        table="reliability",
    ),
    AggregateFunction(
        "ece",
        (_CHANCE, _TRUE, AggregateParameter("bins", "count", False)),
        "the expected calibration error: over `bins` of equal width, 10 where nothing is said, how far the mean "
        "probability lies from the share that is true, by the share of values in the bin; 0 is the best. Chance alone "
        "makes it greater than 0, so it has an interval only where it is well above what chance shows",
        "Naeini et al., 2015; Guo et al., On Calibration of Modern Neural Networks, 2017",
        between(0.0, 1.0),
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        better="lower",
        label="calibration error of probabilities",
        chinese="概率的校准误差",
        takes_elements=True,
        error="jackknife",
        needs_spread=True,
        table="reliability",
    ),
    AggregateFunction(
        "auroc",
        (AggregateParameter("score", "scores"), _TRUE),
        "the share of pairs of a true and a false one in which the true one has the greater number, a tie counting "
        "half: the area under the receiver operating characteristic; 0.5 is chance",
        "Hanley and McNeil, The Meaning and Use of the Area under a ROC Curve, 1982",
        between(0.0, 1.0),
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        better="higher",
        label="area under the ROC curve",
        chinese="ROC 曲线下面积",
        takes_elements=True,
        error="jackknife",
        needs_spread=True,
    ),
    AggregateFunction(
        "length_controlled",
        (AggregateParameter("win", "chances"), AggregateParameter("longer", "scores")),
        "the share of wins that there would be if replies were as long as those that they are held against, from a "
        "logistic regression of wins on the hyperbolic tangent of the standardised difference of lengths. It has no "
        "term for the difficulty of an instruction and no penalty, which AlpacaEval's own has",
        "Dubois et al., Length-Controlled AlpacaEval, 2024",
        between(0.0, 1.0),
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        better="higher",
        label="win rate at equal lengths",
        chinese="长度相同时的胜率",
        error="jackknife",
        needs_spread=True,
    ),
)


def _same(bounds: Bounds) -> Bounds:
    return bounds


def _spread(bounds: Bounds) -> Bounds:
    """Return the bounds of a standard deviation. With n - 1 in the denominator, two values at opposite ends are the
    extreme case."""
    low, high = bounds
    return 0.0, None if low is None or high is None else (high - low) / math.sqrt(2)


def _total(bounds: Bounds) -> Bounds:
    """Return the bounds of a sum: 0 without values, and unbounded in the number of values."""
    low, high = bounds
    return 0.0 if low is not None and low >= 0 else None, 0.0 if high is not None and high <= 0 else None


_SCORES = AggregateParameter("values", "scores")
_VALUES = AggregateParameter("values", "values")
_GOLD = AggregateParameter("gold", "values")
_OTHER = AggregateParameter("gold", "scores", required=False)
_OTHER_VALUES = AggregateParameter("gold", "values", required=False)
_COMPARE = AggregateParameter("values", "compare")
_WEIGHT = AggregateParameter("weight", "word", False, ("alike", "margin"), "alike")
_PLACE = AggregateParameter("place", "word", False, ("either", "first", "second"), "either")
_TIES = AggregateParameter("ties", "word", False, ("davidson", "half"), "davidson")
_K = AggregateParameter("k", "count")
_TRIES = AggregateParameter("tries", "word", False, ("every", "first"), "every")
_CONVERSATIONS = AggregateParameter("conversations", "word", False, ("each", "best"), "each")
_AVERAGE = AggregateParameter("average", "word", False, ("micro", "macro", "binary", "samples"), "macro")
_POSITIVE = AggregateParameter("positive", "word", required=False)
_AVERAGED = AggregateParameter("classes", "word", False, ("all", "gold"), "all")
_LEVEL = AggregateParameter("level", "word", False, ("nominal", "ordinal", "interval"), "interval", of_names="nominal")
_MODELS = AggregateParameter("models", "word", False, ("each", "together"), "each")
_CLASSES = (_VALUES, _GOLD, _AVERAGE, _POSITIVE, _AVERAGED)

_SHARE = between(0.0, 1.0)
_BOTH_WAYS = between(-1.0, 1.0)
_ALSO_PAIRED = ("skip", "zero", "fail", "paired")
"""Treatments of missing values that include leaving out an item in all arms."""

_AVERAGES = (
    "`micro` counts all items alike; `macro` takes the mean over the classes that occur, in `values` or in `gold`, and "
    "a class that is never right counts 0, as in scikit-learn; with `classes: gold` it is the mean over those that "
    "occur in `gold`, so that a class that is only said is none of them; `binary` looks at `positive` alone (true, "
    "where values are true or false); `samples` takes the mean over items that are sets, where two empty sets count 1. "
    "An item may have several classes, as a set or a list, each of which counts once"
)
_CLASSIFIED = "van Rijsbergen, Information Retrieval, 1979; averages as in Sokolova and Lapalme, 2009"

_ALL: tuple[AggregateFunction, ...] = (
    AggregateFunction(
        "mean",
        (_SCORES,),
        "the arithmetic mean",
        "standard error: Liang and Zeger, 1986",
        _same,
        missing=_ALSO_PAIRED,
        influence=_AS_MEAN_INFLUENCE,
        label="mean",
        chinese="平均值",
        mean_of="rows",
        ratio=("sum", "count"),
        takes_elements=True,
        correctable=True,
        unread="worst",
    ),
    AggregateFunction(
        "median",
        (_SCORES,),
        "the middle value; of an even number the mean of the two",
        "",
        _same,
        missing=_ALSO_PAIRED,
        influence=_DRAWN_INFLUENCE,
        label="median",
        chinese="中位数",
        single_value=True,
        takes_elements=True,
        unread="worst",
    ),
    AggregateFunction(
        "stdev",
        (_SCORES,),
        "the standard deviation of a sample, with n − 1 below the line; of one value none",
        "",
        _spread,
        influence="of the variance, (x − mean)² less its mean, by 2 · stdev",
        label="standard deviation",
        chinese="标准差",
        takes_elements=True,
        error="deviation",
    ),
    AggregateFunction(
        "count",
        (_VALUES,),
        "the number of values",
        "",
        between(0.0, None),
        missing=_SKIP_ONLY,
        influence=_SUM_INFLUENCE,
        label="number",
        chinese="数量",
        degree=1,
        counts=True,
        takes_elements=True,
    ),
    AggregateFunction(
        "share",
        (_SCORES,),
        "the share that is true",
        "",
        _SHARE,
        truth_only=True,
        missing=_ALSO_PAIRED,
        influence=_AS_MEAN_INFLUENCE,
        label="share",
        chinese="比例",
        mean_of="rows",
        takes_elements=True,
        correctable=True,
        unread="worst",
    ),
    AggregateFunction(
        "sum",
        (_SCORES,),
        "the sum; of none it is 0",
        "",
        _total,
        influence=_SUM_INFLUENCE,
        label="sum",
        chinese="总和",
        degree=1,
        takes_elements=True,
        unread="worst",
    ),
    AggregateFunction(
        "min",
        (_SCORES,),
        "the least value",
        "",
        _same,
        influence=_NONE_INFLUENCE,
        label="least",
        chinese="最小值",
        single_value=True,
        takes_elements=True,
        unread="worst",
    ),
    AggregateFunction(
        "max",
        (_SCORES,),
        "the greatest value",
        "",
        _same,
        influence=_NONE_INFLUENCE,
        label="greatest",
        chinese="最大值",
        single_value=True,
        takes_elements=True,
        unread="worst",
    ),
    AggregateFunction(
        "accuracy",
        (_VALUES, _GOLD),
        "the share of values that are equal to the gold ones",
        "",
        _SHARE,
        influence=_AS_MEAN_INFLUENCE,
        better="higher",
        label="share of right answers",
        chinese="正确率",
        mean_of="rows",
        takes_elements=True,
        unread="unequal",
        table="confusion",
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
        influence="its influence on the share, divided by sensitivity + specificity − 1; a study of the rates has one "
        "too, the same on all figures with these rates, and is not counted as an item",
        label="share corrected for the errors of a judge",
        chinese="按评审误差校正的比例",
        takes_elements=True,
        unread="worst",
    ),
    AggregateFunction(
        "precision",
        _CLASSES,
        f"of what was said to be of a class, the share that is; {_AVERAGES}",
        _CLASSIFIED,
        _SHARE,
        influence=_RATIO_INFLUENCE,
        better="higher",
        label="precision",
        chinese="精确率",
        takes_elements=True,
        sets="members",
        unread="unequal",
        table="confusion",
    ),
    AggregateFunction(
        "recall",
        _CLASSES,
        f"of what is of a class, the share that was said to be; {_AVERAGES}",
        _CLASSIFIED,
        _SHARE,
        influence=_RATIO_INFLUENCE,
        better="higher",
        label="recall",
        chinese="召回率",
        takes_elements=True,
        sets="members",
        unread="unequal",
        table="confusion",
    ),
    AggregateFunction(
        "f1",
        _CLASSES,
        f"the harmonic mean of precision and recall of a class; {_AVERAGES}",
        _CLASSIFIED,
        _SHARE,
        influence=_RATIO_INFLUENCE,
        better="higher",
        label="F1",
        chinese="F1",
        takes_elements=True,
        sets="members",
        unread="unequal",
        table="confusion",
    ),
    AggregateFunction(
        "balanced_accuracy",
        (_VALUES, _GOLD),
        "the mean, over the classes that occur in `gold`, of the share of their items that is right: the recall of "
        "each class, whatever its size, as `recall` with `classes: gold`. A constant answer has 0.5 of two classes, "
        "and 1 / n of n",
        "Brodersen et al., The Balanced Accuracy and Its Posterior Distribution, 2010; of several classes as "
        "scikit-learn computes it",
        _SHARE,
        influence="the mean over classes of what it is for `recall`",
        better="higher",
        label="balanced accuracy",
        chinese="平衡准确率",
        takes_elements=True,
        sets="none",
        unread="unequal",
        table="confusion",
    ),
    AggregateFunction(
        "pass_at",
        (_K, _SCORES, _TRIES, _CONVERSATIONS),
        "the chance that one at least of k samples of an item is right: of `every` k of n with c right the share "
        "1 − C(n − c, k) / C(n, k), which is without bias; or whether one of the `first` k is, one draw. If the "
        "samples follow several conversations, it is the mean of `each` of them, or the chance after the `best` one, "
        "which is above what a conversation is worth even if all are alike",
        "Chen et al., Evaluating Large Language Models Trained on Code, 2021",
        _SHARE,
        truth_only=True,
        missing=_ALSO_PAIRED,
        influence=_CHANCE_INFLUENCE,
        label="chance that one of several tries is right",
        chinese="多次尝试中至少一次正确的概率",
        mean_of="items",
        correctable=True,
        unread="worst",
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
        influence=_CHANCE_INFLUENCE,
        label="chance that all of several tries are right",
        chinese="多次尝试全部正确的概率",
        mean_of="items",
        correctable=True,
        unread="worst",
    ),
    AggregateFunction(
        "kendall_w",
        (_SCORES, _MODELS),
        "how far raters put items in the same order, from not at all to fully, corrected for ties",
        "Kendall and Babington Smith, The Problem of m Rankings, 1939",
        _SHARE,
        across="required",
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        label="agreement (Kendall’s W)",
        chinese="一致性（Kendall W）",
        error="jackknife",
        needs_spread=True,
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
        influence=_LEFT_OUT_INFLUENCE,
        label="agreement (Krippendorff’s alpha)",
        chinese="一致性（Krippendorff α）",
        takes_elements=True,
        error="jackknife",
        needs_spread=True,
        likely_low=-1.0,
    ),
    AggregateFunction(
        "kendall_tau",
        (_SCORES, _OTHER, _MODELS),
        "how far two put items in the same order (tau-b); of more raters the mean over pairs",
        "Kendall, The Treatment of Ties in Ranking Problems, 1945",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        label="rank correlation (Kendall’s tau)",
        chinese="秩相关（Kendall τ）",
        error="jackknife",
        needs_spread=True,
    ),
    AggregateFunction(
        "spearman",
        (_SCORES, _OTHER, _MODELS),
        "the correlation of two rankings of items, ties at their mean rank; of more raters the mean over pairs",
        "Spearman, The Proof and Measurement of Association between Two Things, 1904",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        label="rank correlation (Spearman’s rho)",
        chinese="秩相关（Spearman ρ）",
        error="jackknife",
        needs_spread=True,
    ),
    AggregateFunction(
        "cohen_kappa",
        (_VALUES, _OTHER_VALUES, _MODELS),
        "how far two agree beyond chance on which class an item is of; of more raters the mean over pairs",
        "Cohen, A Coefficient of Agreement for Nominal Scales, 1960",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        label="agreement (Cohen’s kappa)",
        chinese="一致性（Cohen κ）",
        takes_elements=True,
        error="jackknife",
        needs_spread=True,
        table="confusion",
    ),
    AggregateFunction(
        "quadratic_kappa",
        (_SCORES, _OTHER, _MODELS),
        "how far two agree beyond chance, a difference counting by its square; of more raters the mean over pairs",
        "Cohen, Weighted Kappa, 1968",
        _BOTH_WAYS,
        across="optional",
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        label="agreement (quadratic kappa)",
        chinese="一致性（二次加权 κ）",
        takes_elements=True,
        error="jackknife",
        needs_spread=True,
        table="confusion",
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
        influence=_LEFT_OUT_INFLUENCE,
        label="agreement (Gwet’s AC1)",
        chinese="一致性（Gwet AC1）",
        takes_elements=True,
        error="jackknife",
        needs_spread=True,
        table="confusion",
    ),
    AggregateFunction(
        "gwet_ac2",
        (_SCORES, _OTHER, _MODELS),
        "the same of numbers, a difference counting by its square",
        "Gwet, Handbook of Inter-Rater Reliability, 2014",
        between(None, 1.0),
        across="optional",
        missing=_SKIP_ONLY,
        influence=_LEFT_OUT_INFLUENCE,
        label="agreement (Gwet’s AC2)",
        chinese="一致性（Gwet AC2）",
        takes_elements=True,
        error="jackknife",
        needs_spread=True,
        likely_low=-1.0,
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
        influence="of its figures less the mean of all, by the number of figures",
        label="mean agreement of rankings (tau)",
        chinese="排序的平均一致性（τ）",
        pooled=True,
    ),
    AggregateFunction(
        "win_rate",
        (_COMPARE, _WEIGHT, _PLACE),
        "the share of its comparisons that a model wins, a tie counting half. With `weight: margin` a comparison "
        "counts as often as the value of what the judge chose says, and a tie once. With `place: first` only those "
        "count in which the judge is shown its reply first, with `place: second` the others",
        "weights: Li et al., From Crowdsourced Data to High-Quality Benchmarks, 2024, there 3 for a strong preference",
        _SHARE,
        missing=_SKIP_ONLY,
        influence="as a mean: a comparison is 1, 0 or ½ to each of its two models",
        better="higher",
        label="share of comparisons won",
        chinese="比较的胜率",
        correctable=True,
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
        influence="its part of the gradient of the likelihood, by the inverse of the information (the sandwich; White, "
        "1982)",
        better="higher",
        label="strength (Bradley–Terry)",
        chinese="强度（Bradley–Terry）",
        correctable=True,
        needs_spread=True,
    ),
    AggregateFunction(
        "position_bias",
        (_COMPARE,),
        "the share of verdicts for the reply that is shown first less the share for the second, of replies that were "
        "judged in both orders; 0 is no bias",
        "Wang et al., Large Language Models are not Fair Evaluators, 2023",
        _BOTH_WAYS,
        missing=_SKIP_ONLY,
        influence=_ORDERS_INFLUENCE,
        label="lean towards the reply shown first",
        chinese="对先展示回复的偏向",
        both_orders=True,
    ),
    AggregateFunction(
        "flip_rate",
        (_COMPARE,),
        "the share of comparisons in which the other model wins when the replies change places; a tie in one order is "
        "no turn",
        "Zheng et al., Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, 2023, there as (in)consistency",
        _SHARE,
        missing=_SKIP_ONLY,
        influence=_ORDERS_INFLUENCE,
        label="share of verdicts that change with the order",
        chinese="随顺序改变的结论比例",
        both_orders=True,
    ),
    AggregateFunction(
        "self_preference",
        (_COMPARE,),
        "the win rate of a model where judges of its own family judge it, itself among them, less where others do, on "
        "the same replies; 0 is no preference",
        "Panickssery et al., LLM Evaluators Recognize and Favor Their Own Generations, 2024",
        _BOTH_WAYS,
        missing=_SKIP_ONLY,
        influence="as a mean over pairs of replies: what judges of the family gave less what others gave, each judge "
        "counting once",
        label="preference of a judge for its own",
        chinese="评审对自己的偏好",
        needs_spread=True,
    ),
)

AGGREGATES: dict[str, AggregateFunction] = {aggregate.name: aggregate for aggregate in (*_ALL, *SET_AGGREGATES)}
"""Aggregates by name."""
MEAN, WEIGHTED_MEAN = AGGREGATES["mean"], AGGREGATES["weighted_mean"]
SUMS = ("sum", MEAN.name)
"""The aggregates of scores whose quotient is a mean of quotients."""
OF_PRODUCTS = {"values": "products"}
"""The setting of a weighted mean whose values are multiplied by their weights already, as in sum(a * w) / sum(w). No
spec can give it."""
RATIOS = {aggregate.ratio: aggregate for aggregate in AGGREGATES.values() if aggregate.ratio is not None}
"""The aggregates that are a quotient of two others, by the names of these."""


def declared_aggregate(name: str) -> AggregateFunction:
    """Return the declaration of an aggregate; for a function of the user it is one without facts.

    >>> declared_aggregate("sum").degree, declared_aggregate("own_figure").bounds((0.0, 1.0))
    (1, (None, None))
    """
    return AGGREGATES.get(name) or AggregateFunction(name, (), "", "", between(None, None))


def is_of_all_models(figure: Aggregate) -> bool:
    """Return true if an aggregate is one figure over the replies of all compared models together instead of one for
    each model.

    >>> is_of_all_models(Aggregate(function="kendall_w", values=("rubric",), named={"models": "together"}))
    True
    """
    if isinstance(figure.of, Aggregate):
        return is_of_all_models(figure.of)
    return declared_aggregate(figure.function).pooled or figure.named.get("models") == "together"


# Model families

FAMILIES = {
    "gpt": r"gpt|chatgpt|davinci|o[1345](?:-|$)",
    "claude": r"claude",
    "gemini": r"gemini|gemma|palm",
    "llama": r"llama|vicuna|alpaca",
    "qwen": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "mistral": r"mistral|mixtral|codestral|devstral|ministral|magistral|pixtral|voxtral",
    "glm": r"glm",
    "grok": r"grok",
    "command": r"command-|c4ai|aya",
    "phi": r"phi-?\d",
    "kimi": r"kimi|moonshot",
    "doubao": r"doubao|seed-",
    "ernie": r"ernie",
    "hunyuan": r"hunyuan",
    "yi": r"yi-",
    "internlm": r"internlm",
    "nova": r"nova-",
    "granite": r"granite",
    "smollm": r"smollm",
    "minimax": r"minimax|abab",
    "baichuan": r"baichuan",
    "step": r"step-\d",
    "mimo": r"mimo-",
    "longcat": r"longcat",
    "ling": r"(?:ling|ring)-",
    "exaone": r"exaone",
    "solar": r"solar-",
    "falcon": r"falcon",
    "jamba": r"jamba",
    "olmo": r"olmo|tulu",
    "nemotron": r"nemotron",
    "reka": r"reka-",
    "apertus": r"apertus",
}
"""Model family to the pattern of its model names, matched at the start of a word."""
PEOPLE = "human/"
"""Prefix of the name of a judge that is a person."""


@lru_cache(maxsize=4096)
def families_in_name(model: str) -> frozenset[str]:
    """Return the model families in a model's name: two for a distilled model, none for an unknown name.

    >>> sorted(families_in_name("openrouter/deepseek/deepseek-r1-distill-qwen-32b"))
    ['deepseek', 'qwen']
    >>> sorted(families_in_name("mistralai/devstral-small")), sorted(families_in_name("MiniMaxAI/MiniMax-M2"))
    (['mistral'], ['minimax'])
    >>> families_in_name("azure/prod-7")
    frozenset()
    """
    name = model.casefold()
    return frozenset(family for family, pattern in FAMILIES.items() if re.search(rf"(?<![a-z0-9])(?:{pattern})", name))


def shares_family(judge: str, model: str) -> bool:
    """Return true if a judge is the model itself or of one of its families. A person belongs to none.

    >>> shares_family("openai/gpt-5", "azure/gpt-4o-mini"), shares_family("mock/careful", "mock/careful")
    (True, True)
    >>> claude = "anthropic/claude-sonnet-4-5"
    >>> shares_family(claude, "openai/gpt-5"), shares_family("human/claude", claude)
    (False, False)
    """
    return judge == model or (not judge.startswith(PEOPLE) and bool(families_in_name(judge) & families_in_name(model)))
