"""The items of a run: which tell no models apart, go against the rest, are copies, or have judges at odds."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
