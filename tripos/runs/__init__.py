"""Runs of a store: their rows, their committed results, and recordings of them that can be replayed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
