"""Reads what models really return: tolerant of form, strict about content.

The invariant: a reader never raises and never makes a value up. What cannot be read is an error with a reason.
"""

from tripos_runtime.reading.json_text import find_json
from tripos_runtime.reading.judgement_text import MetricRead, MetricReads, read_metrics
from tripos_runtime.reading.schema import format_note, metrics_schema, schema_of
from tripos_runtime.reading.values import ReadReply, read

__all__ = [
    "MetricRead",
    "MetricReads",
    "ReadReply",
    "find_json",
    "format_note",
    "metrics_schema",
    "read",
    "read_metrics",
    "schema_of",
]
