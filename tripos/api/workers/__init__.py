"""Runs that several processes share: each takes cases, and one tells, counts and ends the run for all."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
