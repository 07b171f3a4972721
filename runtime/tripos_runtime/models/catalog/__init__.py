"""Known facts about providers and models: addresses, prices, and what their errors mean."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
