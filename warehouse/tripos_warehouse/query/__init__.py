"""Queries: a sandboxed DuckDB, its additional functions, statements that only read, and their answers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
