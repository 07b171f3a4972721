"""Analysis of steps: what they use, when they take place, what determines them, and how often they call a model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
