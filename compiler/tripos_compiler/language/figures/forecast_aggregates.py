"""Aggregates of probabilities, held against what came true: calibration, proper scores and discrimination."""

from __future__ import annotations

from tripos_compiler.language.figures.aggregate_signatures import AggregateFunction, AggregateParameter, between

_CHANCE = AggregateParameter("chance", "chances")
_TRUE = AggregateParameter("true", "truths")
_SKIP_ONLY = ("skip", "fail")

FORECAST_AGGREGATES: tuple[AggregateFunction, ...] = (
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
