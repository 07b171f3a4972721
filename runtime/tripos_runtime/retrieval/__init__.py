"""Retrieval: the nearest of many rows or values, by BM25, by likeness of letters or by embeddings.

A step ranks what its source holds by an expression. Where a measure in it (`bm25`, `similarity`) has the element on one
side and the row at hand on the other, all elements are measured at once by an index; anything else is evaluated element
by element. The index of a source is made once and found again by what the source says.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
