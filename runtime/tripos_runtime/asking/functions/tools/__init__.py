"""Functions that models call: executed on a copy of a state, in a process with limits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
