"""Verbs that run a benchmark, or plan a run: plan, run, teach."""
