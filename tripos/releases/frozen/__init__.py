"""What a release freezes beside its spec: items, data sets that models write, and models of scorers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
