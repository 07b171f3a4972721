"""Queries: a sandboxed DuckDB, its additional functions, statements that only read, and their answers."""
