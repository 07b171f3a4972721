"""People who grade: what they are handed, how it comes back, and what it becomes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
