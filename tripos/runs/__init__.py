"""Runs: from a spec on disk to a prepared run, its plan and forecast, and the records and provenance of its results."""
