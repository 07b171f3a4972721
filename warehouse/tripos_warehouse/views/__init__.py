"""The views: the rows of a run, of a benchmark and of all runs, in DuckDB."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
