"""Logs of other evaluation tools: readers for each format, and their import as runs of a generated spec."""
