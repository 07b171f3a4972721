"""Drivers: the run itself, and replies that were recorded elsewhere."""
