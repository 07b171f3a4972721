"""Types: of expressions, calls and templates, and which type fits where."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
