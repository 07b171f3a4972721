"""Asking: what is sent to a model, how its reply is read, and what is kept of it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
