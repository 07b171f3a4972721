"""Agreement of raters: the public face of the modules on ranks, chance-corrected agreement and reliability."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
