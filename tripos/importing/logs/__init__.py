"""Logs of other evaluation tools: read as samples with their scores, and kept as runs of a spec made of them."""
