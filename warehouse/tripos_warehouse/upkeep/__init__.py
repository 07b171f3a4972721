"""Upkeep of a store: checks, compaction, and the removal of what nobody reads."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
