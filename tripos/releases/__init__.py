"""Releases: benchmarks frozen in a folder that can be checked, run and cited."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
