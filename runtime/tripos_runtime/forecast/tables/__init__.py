"""A forecast as tables: the calls of every step, and the batches that they go in."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
