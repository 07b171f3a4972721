"""Releases: benchmarks frozen in a folder that can be checked, run and cited."""
