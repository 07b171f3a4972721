"""The constructs of the language: their table, the signatures they are written by, and the statements read by these."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
