"""Measures: figures over scores, their expectations, dimensions and subsets."""
