"""The SQL of measures: aggregates, figures, and the errors that they carry."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
