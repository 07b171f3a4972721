"""Upkeep of a store: checks, compaction, and the removal of what nobody reads."""
