"""Copies of secrets: fields that hold the values of a secret field under another name."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
