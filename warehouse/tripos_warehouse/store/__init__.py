"""The store: immutable Parquet parts, commit files that make them visible, and their upkeep."""
