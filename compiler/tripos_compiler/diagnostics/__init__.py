"""Diagnostics, their codes, renderers, text formatting and translation."""
