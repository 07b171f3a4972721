"""Judges of a run: beside people, beside each other, and beside themselves when they are asked again."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
