"""The program of a unit: its steps, from the first question to the last score."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
