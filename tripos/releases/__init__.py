"""Releases: benchmarks frozen in a folder that can be verified, run and cited."""
