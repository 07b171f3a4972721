"""Imports of results that were produced elsewhere: scores by people or other judges, and replies of models."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
