"""Verbs that bring data into a store, and its upkeep: import, approve, annotate, store."""
