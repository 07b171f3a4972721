"""Declarations: benchmark, roles, axes, dimensions, metrics and trees."""
