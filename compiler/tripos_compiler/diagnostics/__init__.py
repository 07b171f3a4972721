"""Diagnostics, their catalogue and their renderings."""
