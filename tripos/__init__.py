"""Tripos: benchmarks for language models, written as specs, proved before they cost, kept as Parquet, asked in SQL.

The three legs are `tripos_compiler`, `tripos_runtime` and `tripos_warehouse`; this package is the front door.
"""

__version__ = "0.1.0"
