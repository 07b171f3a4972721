"""Maintenance of a store: check, compact, collect garbage, merge, mirror, and files beside the tables."""
