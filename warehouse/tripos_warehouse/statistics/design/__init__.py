"""Design of a benchmark: the public face of the modules on power, and on the items that a question needs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
