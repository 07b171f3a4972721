"""Scenarios: their context, rows, steps and treatments."""
