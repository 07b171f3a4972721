"""Functions that read the answer out of a reply."""
