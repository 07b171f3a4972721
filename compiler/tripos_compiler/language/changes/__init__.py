"""The changes between two plans of a benchmark, and the version that they demand."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
