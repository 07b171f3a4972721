"""What every part of the product has at hand: text for terminals that no terminal obeys, failures, and the version."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
