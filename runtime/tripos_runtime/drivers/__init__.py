"""Drivers of programs: a run over models, recorded replies, and a person who grades."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
