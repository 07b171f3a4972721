"""Verbs about releases: release, verify, diff, lock."""
