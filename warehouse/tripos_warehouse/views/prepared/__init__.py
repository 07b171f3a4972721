"""The preparation of views: which rows count, copies of views in memory, and sums that a store keeps of scores."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
