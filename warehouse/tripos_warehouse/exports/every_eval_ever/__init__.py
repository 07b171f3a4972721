"""Every Eval Ever 0.3.0: a run in the form of the format's schemas."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
