"""The runner of Python code that models write: code and tests apart, each in a sandbox of its own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
