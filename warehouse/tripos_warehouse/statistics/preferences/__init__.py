"""Comparisons by two: the public face of the modules on strengths, win rates, orders, and judges' own models."""

from tripos_warehouse.statistics.preferences.bradley_terry import Strengths, bradley_terry
from tripos_warehouse.statistics.preferences.orders import both_orders, flip_rate, position_bias
from tripos_warehouse.statistics.preferences.severity import (
    Grade,
    judge_severity,
    self_preference,
    self_preference_in_grades,
)
from tripos_warehouse.statistics.preferences.verdicts import Verdict, win_rate

__all__ = [
    "Grade",
    "Strengths",
    "Verdict",
    "both_orders",
    "bradley_terry",
    "flip_rate",
    "judge_severity",
    "position_bias",
    "self_preference",
    "self_preference_in_grades",
    "win_rate",
]
