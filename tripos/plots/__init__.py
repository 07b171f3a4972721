"""Pictures of results: a table of figures that the warehouse took, and an Altair chart of it, kind by kind."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach_stub(__name__, __file__)
