"""Data sets that models write: slots, attempts at them, and what becomes of each."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
