"""Measures: figures of a plan, compiled to SQL, evaluated with intervals."""

from tripos_warehouse.measures.evaluation import (
    CONFIDENCE,
    MeasureRow,
    MeasureTable,
    evaluate,
    evaluate_or_tell,
)
from tripos_warehouse.measures.sql.figures import sql_of

__all__ = [
    "CONFIDENCE",
    "MeasureRow",
    "MeasureTable",
    "evaluate",
    "evaluate_or_tell",
    "sql_of",
]
