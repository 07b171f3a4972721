"""Reads what models really return: tolerant of form, strict about content.

The invariant: a reader never raises and never makes a value up. What cannot be read is an error with a reason.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
