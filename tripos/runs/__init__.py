"""Runs of a store: their rows, their committed results, and recordings of them that can be replayed."""
