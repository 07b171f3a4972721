"""The views: the rows of a run, of a benchmark and of all runs, in DuckDB."""
