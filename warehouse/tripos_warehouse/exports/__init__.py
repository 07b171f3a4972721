"""Exports: what a run came to, in the forms that other programs read."""
