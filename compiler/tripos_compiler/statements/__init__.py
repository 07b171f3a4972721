"""Statements to the parts of a plan: each kind of declaration is checked and lowered in one file."""
