"""Name resolution: the files, releases and declarations of a spec, and what is known of them during compilation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
