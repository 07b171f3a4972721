"""Figures: the aggregates, the steps that they take values of, and the ranges of these values."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
