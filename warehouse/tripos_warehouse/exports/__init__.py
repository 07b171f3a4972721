"""Exports of runs: tables, training data, recordings, and the formats of other tools."""
