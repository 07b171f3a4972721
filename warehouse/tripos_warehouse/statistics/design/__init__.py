"""Design of a benchmark: the face of the modules on power, components, what detects for least, and sequences."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
