"""The runtime: a plan in, model calls and scores out."""
