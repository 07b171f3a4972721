"""How figures differ: from those of another result, of another model, and of a baseline."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
