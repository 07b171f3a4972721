"""What is taken of a benchmark: training data from replies or from rows of data sets, and subsets of its items."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
