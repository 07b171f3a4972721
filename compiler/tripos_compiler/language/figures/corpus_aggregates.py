"""Aggregates of a whole set of texts, which are no means over its items: BLEU, chrF and TER of a corpus."""

from __future__ import annotations

from tripos_compiler.language.figures.aggregate_signatures import AggregateFunction, AggregateParameter, between

_TEXT = AggregateParameter("text", "texts")
_REFERENCE = AggregateParameter("reference", "texts")
_TOKENIZE = AggregateParameter("tokenize", "word", False, ("13a", "zh", "intl", "char", "none"), "13a")
_CASE = AggregateParameter("case", "word", False, ("kept", "ignored"), "kept")
_WORDS = AggregateParameter("words", "word", False, ("none", "two"), "none")

CORPUS_AGGREGATES: tuple[AggregateFunction, ...] = (
    AggregateFunction(
        "corpus_bleu",
        (_TEXT, _REFERENCE, _TOKENIZE, _CASE),
        "BLEU of all texts together against one or more references each, 0 to 100: the n-grams that are right are "
        "counted over the whole set, and only then divided; it is no mean of the `bleu` of items. A missing text "
        "counts as an empty one with `missing: zero`",
        "Papineni et al., BLEU, 2002; as sacreBLEU computes it, Post, 2018",
        between(0.0, 100.0),
    ),
    AggregateFunction(
        "corpus_chrf",
        (_TEXT, _REFERENCE, _WORDS, _CASE),
        "chrF of all texts together, 0 to 100, counted over the whole set against the best reference of each text; "
        "with `words: two` it is chrF++, which counts words and pairs of words too",
        "Popović, chrF, 2015, and chrF++, 2017; as sacreBLEU computes it",
        between(0.0, 100.0),
    ),
    AggregateFunction(
        "corpus_ter",
        (_TEXT, _REFERENCE, AggregateParameter("case", "word", False, ("kept", "ignored"), "ignored")),
        "the edits that all texts need, shifts among them, by the words of the references, times 100: 0 is the best, "
        "and there is no greatest value",
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
)
