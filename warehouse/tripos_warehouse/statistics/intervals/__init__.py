"""Intervals of shares, of means, and of any statistic, with rows that may come in clusters: the public face.

Rows of one cluster (the samples of an item, the items of a text) are not independent, so clusters are what is counted,
left out or drawn again. A plain row is a cluster of its own.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
