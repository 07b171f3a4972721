"""Views in DuckDB: the rows of a run, the schema of a benchmark, the tables over all runs, and what is derived from
them.
"""
