"""Planning a run: its items and calls, what they would take, and the design that costs least."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
