"""Scoring: scorers, grades, comparisons and allocation tables."""
