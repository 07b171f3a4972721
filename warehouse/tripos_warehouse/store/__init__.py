"""The store: immutable Parquet parts, commit files that make them visible, and their upkeep."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
