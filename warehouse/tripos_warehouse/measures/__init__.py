"""Measures: figures of a plan, compiled to SQL, evaluated with intervals; their differences, items and judges."""
