"""Figures: the aggregates, the steps that they take values of, and the ranges of these values."""
