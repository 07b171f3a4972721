"""Meaning of a plan: evaluation, rendering, rows, contexts, aggregates, intervals, and the difference of two plans."""
