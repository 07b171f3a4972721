"""Checks of a scenario: contamination, protocol, trial replies, and parts that nothing uses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
