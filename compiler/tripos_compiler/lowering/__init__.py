"""Lowering of statements to the parts of a plan."""
