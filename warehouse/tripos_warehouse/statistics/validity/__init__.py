"""Validity of judges: the public face of the modules that hold them against people."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
