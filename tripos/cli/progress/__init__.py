"""The progress of a run, on a terminal and as events."""
