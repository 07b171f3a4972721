"""Aggregates of a whole set, which are no plain means over its items: means by weight, BLEU, chrF and TER of a corpus,
correlations of classes, and probabilities held against what came true."""

from __future__ import annotations

from tripos_compiler.language.figures.aggregate_signatures import AggregateFunction, AggregateParameter, between

_TEXT = AggregateParameter("text", "texts")
_REFERENCE = AggregateParameter("reference", "texts")
_TOKENIZE = AggregateParameter("tokenize", "word", False, ("auto", "13a", "zh", "intl", "char", "none"), "auto")
_CASE = AggregateParameter("case", "word", False, ("kept", "ignored"), "kept")
_WORDS = AggregateParameter("words", "word", False, ("none", "two"), "none")
_CHANCE = AggregateParameter("chance", "chances")
_TRUE = AggregateParameter("true", "truths")
_SKIP_ONLY = ("skip", "fail")

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
    ),
    AggregateFunction(
        "corpus_ter",
        (_TEXT, _REFERENCE, AggregateParameter("case", "word", False, ("kept", "ignored"), "ignored")),
        "the edits that all texts need, shifts among them, by the words of the references, times 100: 0 is the best, "
        "and there is no greatest value. In a script that puts no space between words, each character is a word. "
        "Differences of writing do not count, as for `bleu`",
        "Snover et al., A Study of Translation Edit Rate, 2006; as sacreBLEU computes it",
        between(0.0, None),
    ),
    AggregateFunction(
        "mcc",
        (AggregateParameter("values", "values"), AggregateParameter("gold", "values")),
        "Matthews' correlation of classes that were said with those that are, for any number of classes: 1 is all "
        "right, 0 is chance",
        "Matthews, 1975; of several classes Gorodkin, Comparing two K-category assignments, 2004, there R_K",
        between(-1.0, 1.0),
        missing=("skip", "fail"),
    ),
    AggregateFunction(
        "brier",
        (_CHANCE, _TRUE),
        "the mean squared distance of probabilities from what came true: 0 is the best, and 0.25 is what 0.5 for "
        "everything comes to",
        "Brier, Verification of Forecasts Expressed in Terms of Probability, 1950",
        between(0.0, 1.0),
        missing=_SKIP_ONLY,
    ),
    AggregateFunction(
        "log_loss",
        (_CHANCE, _TRUE),
        "the mean of −ln of the probability of what came true: 0 is the best, and 0.693 is what 0.5 for everything "
        "comes to. Where a reply was certain of what is not so, there is no value",
        "Good, Rational Decisions, 1952",
        between(0.0, None),
        missing=_SKIP_ONLY,
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
    ),
    AggregateFunction(
        "auroc",
        (AggregateParameter("score", "scores"), _TRUE),
        "the share of pairs of a true and a false one in which the true one has the greater number, a tie counting "
        "half: the area under the receiver operating characteristic; 0.5 is chance",
        "Hanley and McNeil, The Meaning and Use of the Area under a ROC Curve, 1982",
        between(0.0, 1.0),
        missing=_SKIP_ONLY,
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
    ),
)
