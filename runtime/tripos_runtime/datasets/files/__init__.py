"""Files of data sets: their formats, what they hold, and the images, recordings and files that their cells name."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
