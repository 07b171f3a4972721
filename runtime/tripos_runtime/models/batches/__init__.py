"""Batches of providers: many requests in one file, answered within a day, at half the price."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
