"""Immutable Parquet parts, the commit files that make them visible, the journal, locks, schemas, and the row index."""
