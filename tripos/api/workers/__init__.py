"""Runs that several processes share: each takes cases, and one tells, counts and ends the run for all."""
