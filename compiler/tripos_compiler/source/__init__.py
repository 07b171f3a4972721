"""Sources: the text of specs, spans within it, and the syntax tree."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
