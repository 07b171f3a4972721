"""A sandboxed DuckDB over a store: connections, functions, aggregates, statements that only read, and results."""
