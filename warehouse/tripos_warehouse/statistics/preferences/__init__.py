"""Comparisons by two: the public face of the modules on strengths, win rates, orders, and judges' own models."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
