"""Functions of the user in a run: Python that is called in this process, and scorers that are programs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
