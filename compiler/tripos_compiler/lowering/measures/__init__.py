"""Measures: figures over scores, their expectations, and dimensions."""
