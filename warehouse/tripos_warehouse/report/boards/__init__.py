"""Leaderboards: the public face of their facts, their ranks and what to remark on them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
