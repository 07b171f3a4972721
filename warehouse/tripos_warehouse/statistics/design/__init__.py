"""Design of a benchmark: the public face of the modules on power, on items that a question needs, on sequences."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
