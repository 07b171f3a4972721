"""Contamination: texts that are nearly word for word the same, among rows and between data sets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
