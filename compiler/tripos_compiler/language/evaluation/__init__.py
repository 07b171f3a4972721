"""The evaluation of expressions, and what it says where there is no value."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
