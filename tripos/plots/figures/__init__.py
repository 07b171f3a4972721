"""The kinds of pictures: of each, its figures out of a run, and the marks that show them."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
