"""Data sets: files and generated rows to cases, and which of them a run covers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
